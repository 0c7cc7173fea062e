import { type Base, absolutePath } from "../../core/util/paths.ts";
import { words } from "../../core/util/text.ts";

/** The kinds of sensitive files, by patterns of whole paths. The patterns ignore case, as some file systems do. */
const SENSITIVE: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["environment secrets", /(^|\/)\.env(rc|[._-](?!([^/]*\.)?(example|sample|template|dist)$)[^/]*)?$/i],
  ["stored credentials", /(^|\/)(\.npmrc|\.pypirc|\.netrc|_netrc|\.git-credentials|\.pgpass|\.my\.cnf)$/i],
  ["stored credentials", /(^|\/)(credentials(\.(json|ya?ml|toml|csv))?|secrets\.(json|ya?ml|toml))$/i],
  [
    "a private key",
    /(^|\/)id_(rsa|dsa|ecdsa|ed25519)(_sk)?(\.(?!pub$)[^/]*)?$|\.(pem|key|p12|pfx|jks|keystore|kdbx)$/i,
  ],
  ["cluster or registry credentials", /(^|\/)(kubeconfig|\.kube\/config|\.docker\/config\.json)$/i],
  ["a key folder", /(^|\/)\.(ssh|gnupg|aws|azure|gcloud)(\/|$)/i],
];

/**
 * Globs, to match without case, of the files that `sensitive` knows, for programs that search folders. They exclude a
 * little more: templates (`.env.example`) and public keys too.
 */
export const SENSITIVE_FILES: readonly string[] = [
  ...[".env", ".envrc", ".env.*", ".env_*", ".env-*"],
  ...[".npmrc", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf"],
  ...["credentials", "credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml", "credentials.csv"],
  ...["secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml"],
  ...["rsa", "dsa", "ecdsa", "ed25519", "ecdsa_sk", "ed25519_sk"].flatMap((kind) => [`id_${kind}`, `id_${kind}.*`]),
  ...["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "kubeconfig"],
];

export const SENSITIVE_FOLDERS = [".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker"] as const;

/** Returns why reading a file needs approval; `undefined` for ordinary files. */
export function sensitive(path: string): string | undefined {
  return SENSITIVE.find(([, pattern]) => pattern.test(path))?.[0];
}

/**
 * Whether the sandbox hides a file of the workspace from a command whose hosts nobody approved for it. Files of
 * packages are not hidden: they are certificates, which programs need to reach a host, and not secrets of the user.
 */
export function isSecretOfProject(path: string): boolean {
  return sensitive(path) !== undefined && !BROUGHT_BY_PACKAGES.test(path);
}

const BROUGHT_BY_PACKAGES = /\/(node_modules|site-packages|dist-packages|vendor\/bundle)\/|\/cacert\.pem$/i;

/** Where keys and settings are kept. */
export const KEY_FOLDERS: readonly string[] = ["~/.ssh", "~/.gnupg", "~/.aws", "~/.config"];

/**
 * Paths in a home where programs keep keys, passwords and sessions; also histories, which contain what people typed.
 */
export const SECRETS_OF_HOME: readonly string[] = words(`
  ~/.ssh ~/.gnupg ~/.aws ~/.azure ~/.oci ~/.kube ~/.docker ~/.netrc ~/.git-credentials ~/.npmrc ~/.yarnrc
  ~/.yarnrc.yml ~/.pypirc ~/.pip ~/.pgpass ~/.my.cnf ~/.mylogin.cnf ~/.s3cfg ~/.boto ~/.rclone.conf ~/.databrickscfg
  ~/.vault-token ~/.terraformrc ~/.terraform.d ~/.cargo/credentials ~/.cargo/credentials.toml ~/.gem/credentials
  ~/.bundle/config ~/.composer/auth.json ~/.m2/settings.xml ~/.m2/settings-security.xml ~/.gradle/gradle.properties
  ~/.nuget/NuGet ~/.password-store ~/.local/share/keyrings ~/.local/share/kwalletd ~/.local/share/pki ~/.pki
  ~/.mozilla ~/.thunderbird ~/.claude ~/.claude.json ~/.codex ~/.gemini ~/.cursor ~/.bash_history ~/.zsh_history
  ~/.python_history ~/.node_repl_history ~/.psql_history ~/.mysql_history ~/.sqlite_history ~/.rediscli_history
  ~/.lesshst
`);

/** System files that only root may read. */
export const SECRETS_OF_SYSTEM: readonly string[] = words(`
  /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers.d /etc/ssl/private /etc/ssh/ssh_host_rsa_key
  /etc/ssh/ssh_host_dsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key
`);

/** Returns the absolute paths of the lists above, for the home of `base`, with what they hold. */
export function keyPaths(base: Base): readonly { readonly at: string; readonly holds: string }[] {
  return [
    ...SECRETS_OF_HOME.map((path) => {
      const holds = /_history$|\/\.lesshst$/.test(path) ? "what people typed" : "keys, passwords or sessions";
      return { at: absolutePath(path, base), holds };
    }),
    ...SECRETS_OF_SYSTEM.map((at) => ({ at, holds: "secrets of the system" })),
  ];
}
