// Ten times as many kills.
import "./crash.test.ts";
