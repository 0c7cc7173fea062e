import { ownCode } from "../programs/own-code.ts";
import { isInside } from "../../core/util/paths.ts";

/** A repository's own files: a configuration, hooks, and what leads git to them. */
export const REPOSITORY = "the repository's own files";

/**
 * Files that lead a program to other programs, by what they are. A line each: names as a regular expression (with a
 * slash at its end: folders), then where the programs' documentation says so. Not listed are build files, package.json,
 * CI and the like: a contained command can change what people later run.
 */
const PROTECTED: { readonly [what: string]: string } = {
  // The whole folder: besides config and hooks, commondir, worktrees and modules lead git to configurations, which run
  // programs.
  [REPOSITORY]: String.raw`
    \.git/  gitrepository-layout(5), git-config(1)`,
  "git's submodules": String.raw`
    \.gitmodules  gitmodules(5)`,
  "git hooks": String.raw`
    \.husky/  https://typicode.github.io/husky/how-to.html
    \.huskyrc(\.[^/]*)?  https://typicode.github.io/husky (v4)
    \.?lefthook(-local)?\.(ya?ml|toml|json)  https://lefthook.dev/configuration`,
  "Mercurial's configuration, which runs programs": String.raw`
    \.hg/hgrc(-not-shared)?|\.hgrc  hgrc(5), FILES`,
  "editor settings, which run programs": String.raw`
    \.(vscode|idea|zed|fleet|helix)/  tasks, run configurations and language servers of each
    [^/]*\.code-workspace  https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces
    \.devcontainer(/.*|\.json)?  https://containers.dev/implementors/json_reference/ (initializeCommand)`,
  "a program's start-up file": String.raw`
    \.(n?vimrc|exrc|nvim\.lua|emacs(\.el)?|dir-locals[^/]*\.el)  :help 'exrc'; GNU Emacs Manual, Directory Variables
    \.(gdbinit|lldbinit|pdbrc|perldb|byebugrc|pryrc|psysh\.php)|[._$]irbrc  manuals of the debuggers, FILES
    \.(Rprofile|Renviron|octaverc|ghci|iex\.exs|ocamlinit|psqlrc|sqliterc)  manuals of the interpreters, FILES
    \.wgetrc|\.tmux\.conf|\.ripgreprc  wget(1), --use-askpass; tmux(1); rg(1), --pre`,
  "an agent's settings, which run programs": String.raw`
    \.(agents|claude|codex|cursor|gemini|opencode|qwen|amp|kiro|windsurf|roo)/  hooks, plugins, skills, tool servers
    opencode\.jsonc?  https://opencode.ai/docs/plugins
    \.aider\.conf\.yml  https://aider.chat/docs/usage/lint-test.html`,
  "a list of tool servers to start": String.raw`
    \.?mcp\.json  https://code.claude.com/docs/en/mcp`,
  "a package manager's settings, which run programs": String.raw`
    \.npmrc|\.yarnrc(\.[^/]*)?|\.pnpmfile\.[cm]?js  npmrc (script-shell, git), yarnrc (yarnPath, plugins), pnpmfile
    \.cargo/config(\.toml)?  https://doc.rust-lang.org/cargo/reference/config.html (build.rustc-wrapper)`,
  "the package manager itself": String.raw`
    \.yarn/(releases|plugins)/  https://yarnpkg.com/configuration/yarnrc (yarnPath, plugins)`,
  "the choice of a toolchain, which can name programs": String.raw`
    rust-toolchain(\.toml)?|\.tool-versions  rustup, overrides (path); asdf, configuration (path:)
    \.?mise(\.[\w-]+)*\.toml|\.?mise/config(\.[\w-]+)*\.toml  https://mise.jdx.dev/hooks.html`,
  "a build tool's settings, which run programs": String.raw`
    \.mvn/(jvm\.config|maven\.config|extensions\.xml)|\.(jvmopts|sbtopts)  mvn and sbt, configuration of the JVM
    tools/bazel  https://github.com/bazelbuild/bazelisk#readme (tools/bazel)`,
  "a shell start-up file": String.raw`
    \.envrc|\.(ba|z|k|c|tc)?sh(rc|env)  direnv(1); bash(1), zsh(1), ksh(1), tcsh(1), FILES
    \.(bash_)?(profile|login|logout|aliases)|\.z(profile|login|logout)  bash(1), zsh(1), tcsh(1), FILES`,
  "a session's start-up file": String.raw`
    \.bash_env|\.inputrc|\.xprofile|\.xinitrc|\.xsession(rc)?|\.pam_environment  bash(1), readline(3), Xsession(5)`,
  "the user's own configuration": String.raw`
    \.gitconfig|\.config/(fish|git|environment\.d|autostart|systemd|direnv|mise|handrail)(/.*)?  their manuals, FILES
    \.(ssh|gnupg|aws)/  ssh_config(5) (ProxyCommand); gpg-agent(1) (pinentry-program); AWS CLI (credential_process)`,
  "Handrail's own configuration": String.raw`
    handrail\.ya?ml  docs/configuration.md`,
};

/**
 * Globs, to match without case, of the names by which `startUpFile` recognizes a file or the folder above it, for
 * programs that search folders. They find a little more.
 */
export const START_UP_NAMES: readonly string[] = [
  ...[".*", "hgrc", "hgrc-not-shared", "lefthook*", "*.code-workspace", "[._$]irbrc", "opencode.json*", "mcp.json"],
  ...["config", "config.*", "releases", "plugins", "rust-toolchain*", "mise", "mise.*", "bazel", "handrail.y*ml"],
  ...["jvm.config", "maven.config", "extensions.xml", "fish", "git", "environment.d", "autostart", "systemd", "direnv"],
  "handrail",
];

/** Kinds that only start something when a person runs their program, which runs the project's own code as well. */
const RUN_BY_PEOPLE: ReadonlySet<string> = new Set([
  REPOSITORY,
  "git's submodules",
  "a package manager's settings, which run programs",
  "the package manager itself",
  "the choice of a toolchain, which can name programs",
  "a build tool's settings, which run programs",
  "Handrail's own configuration", // starts nothing that is not trusted
]);

/** Files among the others that start nothing: recommendations, snippets, debug targets, rules in words. */
const STARTS_NOTHING =
  /(?:^|\/)(?:\.vscode\/(?:extensions|launch)\.json|\.vscode\/[^/]*\.code-snippets|\.idea\/(?:[^/]*\.iml|\.gitignore|\.name|(?:misc|modules|vcs|encodings)\.xml|(?:inspectionProfiles|codeStyles)\/[^/]*\.xml)|\.[a-z]+\/rules\/[^/]*\.mdc?)$/is;

/** One pattern for each kind. They ignore case, as some file systems do. */
const PATTERNS = Object.entries(PROTECTED).map(([what, lines]) => {
  const names = Array.from(lines.trim().split("\n"), (line) => line.trim().split("  ")[0] ?? "");
  const ends = names.map((name) => (name.endsWith("/") ? `(?:${name.slice(0, -1)})(?:/.*)?` : name));
  return { what, pattern: new RegExp(`(?:^|/)(?:${ends.join("|")})$`, "is") };
});

// Tested first: whole trees are searched, and almost no path matches.
const ANY = new RegExp(PATTERNS.map(({ pattern }) => pattern.source).join("|"), "is");

/**
 * Returns what start-up file a path is: what shells, git, editors, package managers and agents run or obey, or the code
 * of the running Handrail. The file need not exist. `undefined`: it is no such file.
 */
export function startUpFile(path: string): string | undefined {
  if (ANY.test(path)) return PATTERNS.find(({ pattern }) => pattern.test(path))?.what;
  return ownCode().some((folder) => isInside(path, folder)) ? "the code of the running Handrail" : undefined;
}

/**
 * Whether a program that is merely used in the folder runs what a file names: a shell, an editor, an agent, git. False
 * for files that work only when a person runs a package manager or a build, and for files that start nothing.
 */
export function startsUnasked(path: string): boolean {
  const what = startUpFile(path);
  return what !== undefined && !RUN_BY_PEOPLE.has(what) && !STARTS_NOTHING.test(path);
}
