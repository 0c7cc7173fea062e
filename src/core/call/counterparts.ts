const RUN = ["bash"];
const EDIT = ["edit", "write"];
const SEARCH = ["grep", "bash"];
const FIND = ["find", "bash"];
const LIST = ["ls", "bash"];
const JOBS = ["jobs", "bash"];

/**
 * Names of other agents' tools, folded (lower case, without `-` and `_`), and our tools that do the same, best first.
 * Names that are also aliases serve toolsets without that tool. Sources: the tool definitions of Claude Code, Codex,
 * Gemini CLI, Cline, OpenHands, Cursor and Copilot, and Anthropic's text editor tool, as published in 2025.
 */
const COUNTERPARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ...each("applypatch patch editfile multiedit edit replace strreplace searchreplace replaceinfile notebookedit", EDIT),
  ...each("inserteditintofile insert editnotebook", EDIT),
  ...each("strreplaceeditor strreplacebasededittool texteditor", ["edit", "read", "write"]),
  ...each("readmanyfiles readfiles", ["read"]),
  ...each("grep ripgrep rg search searchfiles searchfilecontent grepsearch codebasesearch", SEARCH),
  ...each("glob find findfiles filesearch findpath", FIND),
  ...each("ls list listdir listdirectory listfiles", LIST),
  ...each("bashoutput taskoutput killshell killbash taskstop writestdin getterminaloutput", JOBS),
  ...each("deletefile movefile copyfile createdirectory python runcode executeipythoncell runtests", RUN),
]);

/** Names of our tools that do the same as another agent's tool with this folded name, best first. */
export function counterpartsOf(name: string): readonly string[] {
  return COUNTERPARTS.get(name) ?? [];
}

function each(names: string, ours: readonly string[]): readonly (readonly [string, readonly string[]])[] {
  return names.split(" ").map((name) => [name, ours]);
}
