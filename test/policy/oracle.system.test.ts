// Ten times as many scripts.
import "./oracle.test.ts";
