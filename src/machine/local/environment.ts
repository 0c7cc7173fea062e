import type { Env } from "../../core/contract/effect.ts";

// What a command needs to work, and nothing that could contain a secret or change how programs load. Other variables
// of this process are not passed on.
const PASSED = ["PATH", "HOME", "TERM", "LANG", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"];

/** Where toolchains are, and which one a person has chosen: builds need them. Each is a path, a name or a version. */
export const TOOLCHAINS: ReadonlySet<string> = new Set(
  `JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME
  VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION POETRY_HOME GOROOT GOPATH GOBIN CARGO_HOME
  RUSTUP_HOME RUSTUP_TOOLCHAIN NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_INSTALL RBENV_ROOT
  RBENV_VERSION GEM_HOME GEM_PATH RUBY_VERSION SDKMAN_DIR ASDF_DIR ASDF_DATA_DIR DOTNET_ROOT CUDA_HOME CUDA_PATH
  PKG_CONFIG_PATH CC CXX AR LD CMAKE_GENERATOR CMAKE_PREFIX_PATH`.split(/\s+/),
);

const FALLBACK_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"] as const;

/** What a program prints that opens an editor. It ends with an error: an empty edit would count as an answer. */
const NO_EDITOR_TEXT =
  "No editor can be used here, because nobody is at a terminal. Give the text as an argument " +
  "(git commit -m TEXT, git commit --amend --no-edit, git tag -m TEXT, git merge --no-edit); to keep what git " +
  "suggests, put GIT_EDITOR=true in front (git rebase --continue); to edit a list, name a program that does it " +
  "(GIT_SEQUENCE_EDITOR='sed -i ...' git rebase -i).";

/**
 * The editor of commands, a shell script; `$0` is the setting of git that could name one. It starts an editor that the
 * command itself chose in another way, because git obeys GIT_EDITOR before `-c core.editor` and EDITOR. Otherwise it
 * prints `NO_EDITOR_TEXT` and fails.
 */
const NO_EDITOR = `chosen=
for key in "$0" core.editor; do
  case $GIT_CONFIG_PARAMETERS in *"$key"*) chosen=\${chosen:-$(git config "$key")} ;; esac
done
for editor in "$chosen" "$GIT_EDITOR" "$VISUAL" "$EDITOR"; do
  case $editor in "" | *HANDRAIL_NO_EDITOR*) ;; *) eval "$editor"' "$@"'; exit ;; esac
done
printf '%s\\n' "${NO_EDITOR_TEXT}" >&2
exit 1`;

const EDITOR = 'sh -c "$HANDRAIL_NO_EDITOR" core.editor';

/**
 * A command runs without a person: a pager would wait for keys, an editor for text, and git for a password. A call may
 * override these.
 */
export const UNATTENDED: Env = {
  ...{ PAGER: "cat", GIT_PAGER: "cat", MANPAGER: "cat", GIT_TERMINAL_PROMPT: "0" },
  ...{
    HANDRAIL_NO_EDITOR: NO_EDITOR,
    EDITOR,
    VISUAL: EDITOR,
    GIT_EDITOR: EDITOR,
    GIT_SEQUENCE_EDITOR: EDITOR.replace("core", "sequence"),
  },
};

function isPassed(name: string, pass: readonly string[]): boolean {
  return PASSED.includes(name) || TOOLCHAINS.has(name) || name.startsWith("LC_") || pass.includes(name);
}

/** `Backend.lacks` for commands that get variables of `from`. */
export function lacksVariable(from: NodeJS.ProcessEnv, pass: readonly string[], name: string) {
  if (from[name] === undefined) return TOOLCHAINS.has(name) ? "missing" : undefined;
  return isPassed(name, pass) ? undefined : "withheld";
}

/** The environment of a command: the allowed variables of `from`, those named in `pass`, and `added`. */
export function commandEnvironment(from: NodeJS.ProcessEnv, pass: readonly string[], added: Env): Env {
  const kept: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && isPassed(name, pass)) kept[name] = value;
  }
  return { ...UNATTENDED, ...kept, PATH: programFolders(kept).join(":"), ...added };
}

/** The folders of a command's PATH, without relative ones, which depend on the working directory. */
export function programFolders({ PATH = "" }: NodeJS.ProcessEnv): readonly string[] {
  const folders = PATH.split(":").filter((folder) => folder.startsWith("/"));
  return folders.length === 0 ? FALLBACK_FOLDERS : folders;
}
