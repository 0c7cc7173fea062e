import type { ToolResult } from "../../src/contract/result.ts";
import { asText } from "../../src/engine/result.ts";
import { withoutBoundaries } from "../../src/util/boundary.ts";

/** The result as people read it: without the boundaries around text that others wrote. */
export const plainText = (result: ToolResult): string => withoutBoundaries(asText(result));
