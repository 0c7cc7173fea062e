// Ten times as many scripts.
import "./harm.test.ts";
