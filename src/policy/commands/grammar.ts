// The shell grammar: unbash, known to this file alone. A tolerant parser: what it reports as `errors` has to be looked
// at, of a script and of every script in it.
export { forEachChild, parse } from "unbash";
export type { Assignment, Command, HereDoc, Pipeline, Redirect, Redirection, SyntaxNode, Word, WordPart } from "unbash";
