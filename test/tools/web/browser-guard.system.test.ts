// All targets, not the first two.
import "./browser-guard.test.ts";
