// All clients that must ask the proxy, not the first ones.
import "./bridge.test.ts";
