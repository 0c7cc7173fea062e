/**
 * Files that lead a program to other programs. It reads them for no other reason than that somebody works in their folder, or opens it.
 */
interface Protected {
  readonly pattern: RegExp;
  /** What the file is, for the question a person is asked. */
  readonly what: string;
  /** The manual page or document that says so. */
  readonly source: string;
}

/** A repository's own files: a configuration, hooks, and what leads git to them. */
export const REPOSITORY = "the repository's own files";

const START_UP = "a program's start-up file";
const SHELL = "a shell start-up file";
const EDITOR = "editor settings, which run programs";
const AGENT = "an agent's settings, which run programs";
const PACKAGES = "a package manager's settings, which run programs";
const BUILD = "a build tool's settings, which run programs";
const TOOLCHAIN = "the choice of a toolchain, which can name programs";
const OWN = "the user's own configuration";

/**
 * Written, these make some program run something later, or change what this policy says. Everyday work seldom writes them. Not listed
 * are build files, package.json, CI and the like: a contained command can change what people later run.
 */
const PROTECTED: readonly Protected[] = [
  // All of it: beside config and hooks, commondir, worktrees and modules lead git to configurations, which run programs.
  { pattern: folder("\\.git"), what: REPOSITORY, source: "gitrepository-layout(5), git-config(1)" },
  { pattern: file("\\.gitmodules"), what: "git's submodules", source: "gitmodules(5)" },
  { pattern: file("\\.gitconfig"), what: OWN, source: "git-config(1), FILES" },
  { pattern: folder("\\.husky"), what: "git hooks", source: "https://typicode.github.io/husky/how-to.html" },
  {
    pattern: file("\\.hg\\/hgrc(-not-shared)?|\\.hgrc"),
    what: "Mercurial's configuration, which runs programs",
    source: "hgrc(5), FILES",
  },

  { pattern: folder("\\.vscode"), what: EDITOR, source: "https://code.visualstudio.com/docs/debugtest/tasks" },
  {
    pattern: file("[^/]*\\.code-workspace"),
    what: EDITOR,
    source: "https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces",
  },
  {
    pattern: folder("\\.idea"),
    what: EDITOR,
    source: "https://www.jetbrains.com/help/idea/settings-tools-startup-tasks.html",
  },
  {
    pattern: new RegExp(`${folder("\\.devcontainer").source}|${file("\\.devcontainer\\.json").source}`, "i"),
    what: EDITOR,
    source: "https://containers.dev/implementors/json_reference/ (initializeCommand)",
  },
  { pattern: folder("\\.zed"), what: EDITOR, source: "https://zed.dev/docs/worktree-trust" },
  { pattern: folder("\\.fleet"), what: EDITOR, source: "https://www.jetbrains.com/help/fleet/run-configs.html" },
  { pattern: folder("\\.helix"), what: EDITOR, source: "https://docs.helix-editor.com/languages.html" },
  {
    pattern: file("\\.(n?vimrc|exrc|nvim\\.lua)"),
    what: START_UP,
    source: "vim(1), :help 'exrc'; https://neovim.io/doc/user/options.html#'exrc'",
  },
  {
    pattern: file("\\.(emacs(\\.el)?|dir-locals[^/]*\\.el)"),
    what: START_UP,
    source: "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
  },

  { pattern: file("\\.gdbinit"), what: START_UP, source: "gdb(1), FILES" },
  { pattern: file("\\.lldbinit"), what: START_UP, source: "lldb(1), CONFIGURATION FILES" },
  { pattern: file("\\.pdbrc"), what: START_UP, source: "https://docs.python.org/3/library/pdb.html" },
  { pattern: file("\\.perldb"), what: START_UP, source: "perldebug(1), Debugger Customization" },
  {
    pattern: file("\\.byebugrc"),
    what: START_UP,
    source: "https://github.com/deivid-rodriguez/byebug/blob/main/GUIDE.md",
  },
  { pattern: file("[._$]irbrc"), what: START_UP, source: "https://ruby.github.io/irb/Configurations_md.html" },
  { pattern: file("\\.pryrc"), what: START_UP, source: "pry --help (-f: no ~/.pryrc and ./.pryrc)" },
  { pattern: file("\\.psysh\\.php"), what: START_UP, source: "https://github.com/bobthecow/psysh/wiki/Configuration" },
  { pattern: file("\\.(Rprofile|Renviron)"), what: START_UP, source: "https://rdrr.io/r/base/Startup.html" },
  { pattern: file("\\.octaverc"), what: START_UP, source: "https://docs.octave.org/interpreter/Startup-Files.html" },
  {
    pattern: file("\\.ghci"),
    what: START_UP,
    source: "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-and-haskeline-files",
  },
  { pattern: file("\\.iex\\.exs"), what: START_UP, source: "iex(1), FILES" },
  { pattern: file("\\.ocamlinit"), what: START_UP, source: "https://ocaml.org/manual/toplevel.html" },
  { pattern: file("\\.(psqlrc|sqliterc)"), what: START_UP, source: "psql(1), FILES; sqlite3(1), INIT FILE" },
  { pattern: file("\\.wgetrc"), what: START_UP, source: "wget(1), --use-askpass" },
  { pattern: file("\\.tmux\\.conf"), what: START_UP, source: "tmux(1)" },

  { pattern: folder("\\.claude"), what: AGENT, source: "https://code.claude.com/docs/en/hooks" },
  { pattern: folder("\\.codex"), what: AGENT, source: "https://developers.openai.com/codex/mcp" },
  { pattern: folder("\\.cursor"), what: AGENT, source: "https://cursor.com/docs/agent/hooks" },
  {
    pattern: folder("\\.gemini"),
    what: AGENT,
    source: "https://geminicli.com/docs/tools/mcp-server",
  },
  {
    pattern: new RegExp(`${folder("\\.opencode").source}|${file("opencode\\.jsonc?").source}`, "i"),
    what: AGENT,
    source: "https://opencode.ai/docs/plugins/",
  },
  {
    pattern: file("\\.aider\\.conf\\.yml"),
    what: AGENT,
    source: "https://aider.chat/docs/config.html; https://aider.chat/docs/usage/lint-test.html",
  },
  {
    pattern: file("\\.?mcp\\.json"),
    what: "a list of tool servers to start",
    source: "https://code.claude.com/docs/en/mcp",
  },

  {
    pattern: file("\\.npmrc"),
    what: PACKAGES,
    source: "https://docs.npmjs.com/cli/v11/configuring-npm/npmrc (script-shell, git)",
  },
  {
    pattern: file("\\.yarnrc(\\.[^/]*)?"),
    what: PACKAGES,
    source: "https://yarnpkg.com/configuration/yarnrc (yarnPath, plugins)",
  },
  {
    pattern: folder("\\.yarn\\/(releases|plugins)"),
    what: "the package manager itself",
    source: "https://yarnpkg.com/configuration/yarnrc (yarnPath, plugins)",
  },
  { pattern: file("\\.pnpmfile\\.[cm]?js"), what: PACKAGES, source: "https://pnpm.io/pnpmfile" },
  {
    pattern: file("\\.cargo\\/config(\\.toml)?"),
    what: PACKAGES,
    source: "https://doc.rust-lang.org/cargo/reference/config.html (build.rustc-wrapper)",
  },
  {
    pattern: file("rust-toolchain(\\.toml)?"),
    what: TOOLCHAIN,
    source: "https://rust-lang.github.io/rustup/overrides.html (path)",
  },
  {
    pattern: file("\\.tool-versions"),
    what: TOOLCHAIN,
    source: "https://asdf-vm.com/manage/configuration.html (path:)",
  },
  {
    pattern: file("\\.?mise(\\.[\\w-]+)*\\.toml|\\.?mise\\/config(\\.[\\w-]+)*\\.toml"),
    what: TOOLCHAIN,
    source: "https://mise.jdx.dev/hooks.html",
  },
  {
    pattern: file("\\.mvn\\/(jvm\\.config|maven\\.config|extensions\\.xml)"),
    what: BUILD,
    source: "https://maven.apache.org/configure.html",
  },
  {
    pattern: file("\\.(jvmopts|sbtopts)"),
    what: BUILD,
    source: "sbt --help",
  },
  {
    pattern: file("tools\\/bazel"),
    what: BUILD,
    source: "https://github.com/bazelbuild/bazelisk#readme (tools/bazel)",
  },

  { pattern: file("\\.envrc"), what: SHELL, source: "direnv(1)" },
  { pattern: file("\\.(ba|z|k|c|tc)?sh(rc|env)"), what: SHELL, source: "bash(1), zsh(1), ksh(1), tcsh(1), FILES" },
  {
    pattern: file("\\.(bash_)?(profile|login|logout|aliases)|\\.z(profile|login|logout)"),
    what: SHELL,
    source: "bash(1), zsh(1), tcsh(1), FILES",
  },
  {
    pattern: file("\\.bash_env|\\.inputrc|\\.xprofile|\\.xinitrc|\\.xsession(rc)?|\\.pam_environment"),
    what: "a session's start-up file",
    source: "bash(1), BASH_ENV; readline(3); startx(1); Xsession(5); pam_env(8)",
  },
  {
    pattern: folder("\\.config\\/(fish|git|environment\\.d|autostart|systemd|direnv|mise|handrail)"),
    what: OWN,
    source: "fish(1), git-config(1), environment.d(5), systemd.unit(5), direnv(1), XDG autostart specification",
  },
  {
    pattern: folder("\\.(ssh|gnupg|aws)"),
    what: OWN,
    source: "ssh_config(5) (ProxyCommand); gpg-agent(1) (pinentry-program); AWS CLI (credential_process)",
  },
  { pattern: file("handrail\\.ya?ml"), what: "Handrail's own configuration", source: "docs/configuration.md" },
];

// Tested before the list: whole trees are looked through, and nearly all paths are none of these.
const ANY = new RegExp(PROTECTED.map(({ pattern }) => pattern.source).join("|"), "i");

/** What makes the file one to ask about before it is written, whatever the autonomy and even when it does not exist yet. */
export function protectedFile(path: string): string | undefined {
  if (!ANY.test(path)) return undefined;
  return PROTECTED.find(({ pattern }) => pattern.test(path))?.what;
}

/** The whole of a path whose end is one of these names. Without regard to case: some file systems do the same. */
function file(names: string): RegExp {
  return new RegExp(`(?:^|\\/)(?:${names})$`, "i");
}

/** The folder, and whatever is in it. */
function folder(names: string): RegExp {
  return new RegExp(`(?:^|\\/)(?:${names})(?:\\/|$)`, "i");
}
