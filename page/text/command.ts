/** A line of a command, as its arguments and the spaces between them. It may wrap between these. */
export type CommandLine = readonly string[];

/**
 * Splits a command into lines of arguments like a shell: not at a space in quotes or after a backslash. The joined
 * pieces are the command. If a shell would split it differently, only the wrapping differs.
 */
export function commandLines(command: string): readonly CommandLine[] {
  let quote = "";
  return command.split("\n").map((line) => {
    const pieces: string[] = [];
    let piece = "";
    let inSpaces = false;
    for (let at = 0; at < line.length; at += 1) {
      const character = line.charAt(at);
      const isSpace = quote === "" && (character === " " || character === "\t");
      if (isSpace !== inSpaces && piece !== "") {
        pieces.push(piece);
        piece = "";
      }
      inSpaces = isSpace;
      piece += character;
      if (character === "\\" && quote !== "'") {
        piece += line.charAt(at + 1);
        at += 1;
      } else if (quote === "" && (character === "'" || character === '"')) quote = character;
      else if (character === quote) quote = "";
    }
    if (piece !== "") pieces.push(piece);
    return pieces;
  });
}
