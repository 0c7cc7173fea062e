import type { ToolResult } from "../../src/core/contract/result.ts";
import { asText } from "../../src/core/call/result.ts";
import { withoutBoundaries } from "../../src/core/util/boundary.ts";

/** The result as people read it: without the boundaries around text that others wrote. */
export const plainText = (result: ToolResult): string => withoutBoundaries(asText(result));
