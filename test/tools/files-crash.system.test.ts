// Ten times as many kills at least.
import "./files-crash.test.ts";
