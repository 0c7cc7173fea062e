// Ten times as many rounds.
import "./swapped-mounts.test.ts";
