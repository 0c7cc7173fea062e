// Ten times as many searches.
import "./swapped-searches.test.ts";
