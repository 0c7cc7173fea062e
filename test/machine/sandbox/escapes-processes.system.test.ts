// All escapes, not one for each mechanism.
import "./escapes-processes.test.ts";
