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
 * Names of the files that `sensitive` knows, as globs without regard to case, for programs that look at whole folders.
 * They keep out a little more: templates (`.env.example`) and public keys too.
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

/** What makes the file one to ask about before it is read; `undefined` for ordinary files. */
export function sensitive(path: string): string | undefined {
  return SENSITIVE.find(({ pattern }) => pattern.test(path))?.what;
}

/**
 * Whether the sandbox hides a file of the workspace from a command whose hosts nobody approved for it. Not what
 * packages bring: that is certificates, which programs need to reach a host, and no secret of the user.
 */
export function isSecretOfProject(path: string): boolean {
  return sensitive(path) !== undefined && !BROUGHT_BY_PACKAGES.test(path);
}

const BROUGHT_BY_PACKAGES = /\/(node_modules|site-packages|dist-packages|vendor\/bundle)\/|\/cacert\.pem$/i;
