// All escapes, not one for each mechanism.
import "./escapes-network.test.ts";
