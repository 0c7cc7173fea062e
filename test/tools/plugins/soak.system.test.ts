// Ten times as long.
import "./soak.test.ts";
