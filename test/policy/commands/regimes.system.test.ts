// All attacks, not two of each kind.
import "./regimes.test.ts";
