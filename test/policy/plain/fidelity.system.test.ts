// Ten times as many scripts.
import "./fidelity.test.ts";
