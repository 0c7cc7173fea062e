// Ten times as many calls.
import "./killed.test.ts";
