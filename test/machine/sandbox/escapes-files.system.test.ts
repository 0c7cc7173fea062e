// All escapes, not one for each mechanism.
import "./escapes-files.test.ts";
