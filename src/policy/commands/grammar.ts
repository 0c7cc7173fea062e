// The shell grammar: the library unbash, which only this file imports. The parser is tolerant: look at what it reports
// as `errors`, for a script and for every script inside it.
export { forEachChild, parse } from "unbash";
export type { Assignment, Command, HereDoc, Pipeline, Redirect, Redirection, SyntaxNode, Word, WordPart } from "unbash";
