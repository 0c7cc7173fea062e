/** A kind of file with what it is, for the question a person is asked. */
interface Kind {
  readonly pattern: RegExp;
  readonly what: string;
}

// Matched against a whole path. Names are compared without regard to case: some file systems do the same.
const SENSITIVE: readonly Kind[] = [
  {
    pattern: /(^|\/)\.env(rc|[._-](?!([^/]*\.)?(example|sample|template|dist)$)[^/]*)?$/i,
    what: "environment secrets",
  },
  {
    pattern: /(^|\/)(\.npmrc|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.my\.cnf)$/i,
    what: "stored credentials",
  },
  {
    pattern: /(^|\/)(credentials|credentials\.(json|ya?ml|toml|csv)|secrets\.(json|ya?ml|toml))$/i,
    what: "stored credentials",
  },
  { pattern: /(^|\/)id_(rsa|dsa|ecdsa|ed25519)(_sk)?(\.(?!pub$)[^/]*)?$/i, what: "a private key" },
  { pattern: /\.(pem|key|p12|pfx|jks|keystore|kdbx)$/i, what: "a private key" },
  { pattern: /(^|\/)(kubeconfig|\.kube\/config|\.docker\/config\.json)$/i, what: "cluster or registry credentials" },
  { pattern: /(^|\/)\.(ssh|gnupg|aws|azure|gcloud)(\/|$)/i, what: "a key folder" },
];

/**
 * Names of the files that `sensitive` knows, as globs without regard to case, for programs that look at whole folders. They keep out a little
 * more: templates (`.env.example`) and public keys too.
 */
export const SENSITIVE_FILES: readonly string[] = [
  ...[".env", ".envrc", ".env.*", ".env_*", ".env-*"],
  ...[".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf"],
  ...["credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml", "credentials.csv"],
  ...["secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml"],
  ...["rsa", "dsa", "ecdsa", "ed25519", "ecdsa_sk", "ed25519_sk"].flatMap((kind) => [`id_${kind}`, `id_${kind}.*`]),
  ...["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "kubeconfig"],
];

/** Names of the folders in which `sensitive` knows files. */
export const SENSITIVE_FOLDERS = [".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker"] as const;

// Written, these make some program run something later, or change what this policy says.
const PROTECTED: readonly Kind[] = [
  // All of it: beside config and hooks, commondir, worktrees and modules lead git to configurations, which run programs.
  { pattern: /(^|\/)\.git(\/|$)/i, what: "the repository's own files" },
  { pattern: /(^|\/)\.gitmodules$/i, what: "git's submodules" },
  { pattern: /(^|\/)\.husky(\/|$)/i, what: "git hooks" },
  { pattern: /(^|\/)\.(vscode|idea|devcontainer|zed|fleet)(\/|$)/i, what: "editor settings, which run programs" },
  {
    pattern: /(^|\/)\.(n?vimrc|exrc|nvim\.lua|emacs|dir-locals\.el|gdbinit|lldbinit|pdbrc|tmux\.conf)$/i,
    what: "a program's start-up file",
  },
  { pattern: /(^|\/)\.(claude|codex|cursor|gemini)(\/|$)/i, what: "an agent's settings, which run programs" },
  {
    pattern: /(^|\/)\.(npmrc|yarnrc(\.yml)?|pnpmfile\.c?js|cargo\/config(\.toml)?)$/i,
    what: "a package manager's settings, which run programs",
  },
  { pattern: /(^|\/)\.?mcp\.json$/i, what: "a list of tool servers to start" },
  { pattern: /(^|\/)\.envrc$/i, what: "a shell start-up file" },
  {
    pattern:
      /(^|\/)\.(ba|z|k|c|tc)?sh(rc|env)$|(^|\/)\.(bash_)?(profile|login|logout|aliases)$|(^|\/)\.z(profile|login|logout)$/i,
    what: "a shell start-up file",
  },
  {
    pattern: /(^|\/)(\.bash_env|\.inputrc|\.xprofile|\.xinitrc|\.xsession(rc)?|\.pam_environment)$/i,
    what: "a session's start-up file",
  },
  {
    pattern: /(^|\/)\.config\/(fish|git|environment\.d|autostart|systemd|direnv|handrail)(\/|$)/i,
    what: "the user's own configuration",
  },
  { pattern: /(^|\/)\.(gitconfig|ssh|gnupg|aws)(\/|$)/i, what: "the user's own configuration" },
  { pattern: /(^|\/)handrail\.ya?ml$/i, what: "Handrail's own configuration" },
];

/** What makes the file one to ask about before it is read; `undefined` for ordinary files. */
export function sensitive(path: string): string | undefined {
  return SENSITIVE.find(({ pattern }) => pattern.test(path))?.what;
}

/** What makes the file one to ask about before it is written, whatever the autonomy and even when it does not exist yet. */
export function protectedFile(path: string): string | undefined {
  return PROTECTED.find(({ pattern }) => pattern.test(path))?.what;
}
