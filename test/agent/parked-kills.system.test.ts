// Ten times as many kills.
import "./parked-kills.test.ts";
