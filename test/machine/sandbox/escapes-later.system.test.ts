// All escapes, not one for each mechanism.
import "./escapes-later.test.ts";
