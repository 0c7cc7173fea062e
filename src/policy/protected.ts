/** A repository's own files: a configuration, hooks, and what leads git to them. */
export const REPOSITORY = "the repository's own files";

/**
 * Files that lead a program to other programs, by what they are. A line each: the name as a regular expression (with a
 * slash at its end: a folder), then the document that says so. Not listed are build files, package.json, CI and the
 * like: a contained command can change what people later run.
 */
const PROTECTED: { readonly [what: string]: string } = {
  // All of it: beside config and hooks, commondir, worktrees and modules lead git to configurations, which run
  // programs.
  [REPOSITORY]: String.raw`
    \.git/  gitrepository-layout(5), git-config(1)`,
  "git's submodules": String.raw`
    \.gitmodules  gitmodules(5)`,
  "git hooks": String.raw`
    \.husky/  https://typicode.github.io/husky/how-to.html`,
  "Mercurial's configuration, which runs programs": String.raw`
    \.hg/hgrc(-not-shared)?|\.hgrc  hgrc(5), FILES`,
  "editor settings, which run programs": String.raw`
    \.vscode/  https://code.visualstudio.com/docs/debugtest/tasks
    [^/]*\.code-workspace  https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces
    \.idea/  https://www.jetbrains.com/help/idea/settings-tools-startup-tasks.html
    \.devcontainer/  https://containers.dev/implementors/json_reference/ (initializeCommand)
    \.devcontainer\.json  https://containers.dev/implementors/json_reference/ (initializeCommand)
    \.zed/  https://zed.dev/docs/worktree-trust
    \.fleet/  https://www.jetbrains.com/help/fleet/run-configs.html
    \.helix/  https://docs.helix-editor.com/languages.html`,
  "a program's start-up file": String.raw`
    \.(n?vimrc|exrc|nvim\.lua)  vim(1), :help 'exrc'; https://neovim.io/doc/user/options.html#'exrc'
    \.(emacs(\.el)?|dir-locals[^/]*\.el)  GNU Emacs Manual, Init File, Directory Variables
    \.gdbinit  gdb(1), FILES
    \.lldbinit  lldb(1), CONFIGURATION FILES
    \.pdbrc  https://docs.python.org/3/library/pdb.html
    \.perldb  perldebug(1), Debugger Customization
    \.byebugrc  https://github.com/deivid-rodriguez/byebug/blob/main/GUIDE.md
    [._$]irbrc  https://ruby.github.io/irb/Configurations_md.html
    \.pryrc  pry --help (-f: no ~/.pryrc and ./.pryrc)
    \.psysh\.php  https://github.com/bobthecow/psysh/wiki/Configuration
    \.(Rprofile|Renviron)  https://rdrr.io/r/base/Startup.html
    \.octaverc  https://docs.octave.org/interpreter/Startup-Files.html
    \.ghci  https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html#the-ghci-and-haskeline-files
    \.iex\.exs  iex(1), FILES
    \.ocamlinit  https://ocaml.org/manual/toplevel.html
    \.(psqlrc|sqliterc)  psql(1), FILES; sqlite3(1), INIT FILE
    \.wgetrc  wget(1), --use-askpass
    \.tmux\.conf  tmux(1)`,
  "an agent's settings, which run programs": String.raw`
    \.claude/  https://code.claude.com/docs/en/hooks
    \.codex/  https://developers.openai.com/codex/mcp
    \.cursor/  https://cursor.com/docs/agent/hooks
    \.gemini/  https://geminicli.com/docs/tools/mcp-server
    \.opencode/  https://opencode.ai/docs/plugins/
    opencode\.jsonc?  https://opencode.ai/docs/plugins/
    \.aider\.conf\.yml  https://aider.chat/docs/config.html; https://aider.chat/docs/usage/lint-test.html`,
  "a list of tool servers to start": String.raw`
    \.?mcp\.json  https://code.claude.com/docs/en/mcp`,
  "a package manager's settings, which run programs": String.raw`
    \.npmrc  https://docs.npmjs.com/cli/v11/configuring-npm/npmrc (script-shell, git)
    \.yarnrc(\.[^/]*)?  https://yarnpkg.com/configuration/yarnrc (yarnPath, plugins)
    \.pnpmfile\.[cm]?js  https://pnpm.io/pnpmfile
    \.cargo/config(\.toml)?  https://doc.rust-lang.org/cargo/reference/config.html (build.rustc-wrapper)`,
  "the package manager itself": String.raw`
    \.yarn/(releases|plugins)/  https://yarnpkg.com/configuration/yarnrc (yarnPath, plugins)`,
  "the choice of a toolchain, which can name programs": String.raw`
    rust-toolchain(\.toml)?  https://rust-lang.github.io/rustup/overrides.html (path)
    \.tool-versions  https://asdf-vm.com/manage/configuration.html (path:)
    \.?mise(\.[\w-]+)*\.toml|\.?mise/config(\.[\w-]+)*\.toml  https://mise.jdx.dev/hooks.html`,
  "a build tool's settings, which run programs": String.raw`
    \.mvn/(jvm\.config|maven\.config|extensions\.xml)  https://maven.apache.org/configure.html
    \.(jvmopts|sbtopts)  sbt --help
    tools/bazel  https://github.com/bazelbuild/bazelisk#readme (tools/bazel)`,
  "a shell start-up file": String.raw`
    \.envrc  direnv(1)
    \.(ba|z|k|c|tc)?sh(rc|env)  bash(1), zsh(1), ksh(1), tcsh(1), FILES
    \.(bash_)?(profile|login|logout|aliases)|\.z(profile|login|logout)  bash(1), zsh(1), tcsh(1), FILES`,
  "a session's start-up file": String.raw`
    \.bash_env|\.inputrc|\.xprofile|\.xinitrc  bash(1), BASH_ENV; readline(3); startx(1)
    \.xsession(rc)?|\.pam_environment  Xsession(5); pam_env(8)`,
  "the user's own configuration": String.raw`
    \.gitconfig  git-config(1), FILES
    \.config/(fish|git|environment\.d|autostart)/  fish(1), git-config(1), environment.d(5), XDG autostart specification
    \.config/(systemd|direnv|mise|handrail)/  systemd.unit(5), direnv(1)
    \.(ssh|gnupg|aws)/  ssh_config(5) (ProxyCommand); gpg-agent(1) (pinentry-program); AWS CLI (credential_process)`,
  "Handrail's own configuration": String.raw`
    handrail\.ya?ml  docs/configuration.md`,
};

/** One pattern for each kind. Without regard to case: some file systems do the same. */
const PATTERNS = Object.entries(PROTECTED).map(([what, lines]) => {
  const names = Array.from(lines.trim().split("\n"), (line) => line.trim().split("  ")[0] ?? "");
  const ends = names.map((name) => (name.endsWith("/") ? `(?:${name.slice(0, -1)})(?:/.*)?` : name));
  return { what, pattern: new RegExp(`(?:^|/)(?:${ends.join("|")})$`, "is") };
});

// Tested before the list: whole trees are looked through, and nearly all paths are none of these.
const ANY = new RegExp(PATTERNS.map(({ pattern }) => pattern.source).join("|"), "is");

/** What makes the file one to ask about before it is written, in every autonomy, even if it does not exist yet. */
export function protectedFile(path: string): string | undefined {
  return ANY.test(path) ? PATTERNS.find(({ pattern }) => pattern.test(path))?.what : undefined;
}
