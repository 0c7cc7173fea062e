import { describe, expect, test } from "vitest";
import { patchedPaths } from "../../../src/connect/guard/patch.ts";

const patch = (...lines: readonly string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const CHANGE = ["@@", "-x", "+y"];

describe("a patch", () => {
  test("names every path that it adds, changes, deletes or moves to", () => {
    const text = patch(
      ...["*** Add File: new file.txt", "+*** Update File: no header", "+"],
      ...["*** Update File: a.txt", "*** Move to: /w/b.txt", "@@ function one()", " x", "-*** x", "+y", ""],
      ...["@@", " ***", " ***bold***", "-\r", "+z\r", "*** End of File"],
      ...["*** Update File: a.txt", ...CHANGE, "*** Delete File: c.txt"],
    );
    expect(patchedPaths(`${text}\n\n`)).toEqual(["new file.txt", "a.txt", "/w/b.txt", "a.txt", "c.txt"]);
  });

  const REFUSED: { readonly [what: string]: string } = {
    "a blank before a header": patch("*** Update File: a", ...CHANGE, " *** Update File: ../x", ...CHANGE),
    "a blank before the first header": patch(" *** Add File: ../x", "+x"),
    "a tab before a header": patch("*** Add File: a", "+x", "\t*** Delete File: ../x"),
    "a Unicode blank before a header": patch("*** Update File: a", ...CHANGE, "\u00a0*** Delete File: ../x"),
    "a blank that only Rust removes": patch("*** Update File: a", ...CHANGE, "\u0085*** Delete File: ../x"),
    "a context line that is a header elsewhere": patch("*** Update File: a", "@@", "  *** Move to: ../x", "+y"),
    "no blank after the colon": patch("*** Add File:../x", "+x"),
    "two blanks after the colon": patch("*** Add File:  ../x", "+x"),
    "a blank after the path": patch("*** Add File: ../x ", "+x"),
    "a tab in a marker": patch("***\tAdd File: ../x", "+x"),
    "lower case": patch("*** add file: ../x", "+x"),
    "line ends of Windows": patch("*** Add File: ../x", "+x").replaceAll("\n", "\r\n"),
    "a carriage return within a line": patch("*** Update File: a", "@@", "+a\r*** Delete File: ../x"),
    "a heredoc": `<<'EOF'\n${patch("*** Add File: ../x", "+x")}\nEOF`,
    "a heredoc of cat": `cat <<EOF\n${patch("*** Add File: ../x", "+x")}\nEOF`,
    "another environment": patch("*** Environment ID: other", "*** Add File: a", "+x"),
    "a move twice": patch("*** Update File: a", "*** Move to: b", "*** Move to: ../x", ...CHANGE),
    "a move after a change": patch("*** Update File: a", ...CHANGE, "*** Move to: ../x"),
    "a move of a new file": patch("*** Add File: a", "*** Move to: ../x", "+x"),
    "a line of no kind in a new file": patch("*** Add File: a", "x", "+x"),
    "a line after a deletion": patch("*** Delete File: a", "+x"),
    "a second beginning": patch("*** Add File: a", "+x", "*** Begin Patch", "*** Add File: ../x", "+x"),
    "a second end": `${patch("*** Add File: a", "+x")}\n*** Add File: ../x\n+x\n*** End Patch`,
    "text after the end": `${patch("*** Add File: a", "+x")}\n*** Add File: ../x\n+x`,
    "text before the beginning": `x\n${patch("*** Add File: ../x", "+x")}`,
    "a blank after the beginning": patch("*** Add File: ../x", "+x").replace("Begin Patch", "Begin Patch "),
    "no beginning": "*** Add File: ../x\n+x\n*** End Patch",
    "no end": "*** Begin Patch\n*** Add File: ../x\n+x",
    "no file": patch(),
    "no path": patch("*** Add File: ", "+x"),
    "a path of the home": patch("*** Add File: ~/.bashrc", "+x"),
    "a control character in a path": patch("*** Add File: a\u0000b", "+x"),
    "an end of file without a change": patch("*** Update File: a", "*** End of File"),
  };
  test.for(Object.entries(REFUSED))("is refused with the line: %s", ([, text]) => {
    expect(() => patchedPaths(text)).toThrow(/^line \d+ of the patch is ".*": expected /s);
  });
});
