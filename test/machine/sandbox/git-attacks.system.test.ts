// All attacks, not one of each kind.
import "./git-attacks.test.ts";
