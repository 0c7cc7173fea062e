import { ToolFailure } from "../../../contract/failure.ts";
import { withDeadline } from "../../../util/deadline.ts";
import type { SearchFor } from "./arguments.ts";
import { type Expression, ExpressionError, literalExpression } from "./expression.ts";
import type { Check } from "./file-lines.ts";
import { readExpression } from "./read-expression.ts";
import { toCheck } from "./to-check.ts";
import { toGrep } from "./to-grep.ts";

/** A line of some thousand characters takes well under a millisecond, unless the expression is made for taking long. */
const CHECKING_MS = 1_000;

/** What is looked for: by grep there, and again by us where grep cannot tell enough. */
export interface Matcher {
  /** For `grep -E` in the locale C. */
  readonly source: string;
  readonly check: Check | undefined;
}

/**
 * Makes one of a pattern of ripgrep's.
 *
 * @throws ToolFailure when it is no regular expression, or one that grep cannot be asked for. `place` is where there is no ripgrep.
 */
export async function matcherOf({ pattern, literal, ignoreCase, crlf }: SearchFor, place: string): Promise<Matcher> {
  let expression: Expression;
  try {
    expression = literal ? literalExpression(pattern, ignoreCase) : readExpression(pattern, ignoreCase);
    const { source, isExact } = toGrep(expression, { crlf });
    if (Buffer.byteLength(source) > MOST_SOURCE) throw new ExpressionError("it becomes too long for grep");
    return { source, check: isExact ? undefined : await checkBy(toCheck(expression, { crlf })) };
  } catch (error) {
    if (!(error instanceof ExpressionError || error instanceof SyntaxError || error instanceof RangeError)) throw error;
    const why = error instanceof ExpressionError ? error.message : "it is too complex";
    throw new ToolFailure(
      `the pattern cannot be searched for: ${why} (there is no ripgrep on ${place}; grep is used there)`,
      {
        hint: "Use a simpler pattern, give literal: true for plain text, or install ripgrep there (apt install ripgrep, apk add ripgrep).",
      },
    );
  }
}

/** Linux takes no argument of 128 KiB (MAX_ARG_STRLEN in execve(2)). */
const MOST_SOURCE = 100_000;

async function checkBy(expression: RegExp): Promise<Check> {
  const inTime = await withDeadline(CHECKING_MS);
  return (bytes, line) => {
    const text = textOf(bytes);
    const found = inTime(() => expression.test(line === 1 ? text.replace(/^\ufeff/, "") : text));
    if (found === undefined) throw new ToolFailure("the pattern takes too long to match without ripgrep");
    return found;
  };
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes that are no UTF-8 become surrogates. */
function textOf(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return bytes.toString("utf8").replaceAll("\ufffd", "\udc80");
  }
}
