import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../../core/contract/effect.ts";
import type { Base } from "../../../core/util/paths.ts";
import { systemProgram } from "../programs.ts";
import { useCaches } from "./cache-cap.ts";

/** A cache of a package manager or build tool. */
interface Cache {
  readonly folder: string;
  /** The variables that make the tool use it; `$` stands for the folder. */
  readonly env: Env;
  /** The user's own cache in the home. It is used offline until the private folder exists. Default: never. */
  readonly users?: string;
  /** Whether a project needs it. Default: every project does. */
  readonly isFor?: (has: (file: string) => boolean) => boolean;
}

const CACHES: readonly Cache[] = [
  { folder: "xdg", env: { XDG_CACHE_HOME: "$" } },
  { folder: "npm", env: { npm_config_cache: "$" } },
  {
    folder: "pnpm",
    env: { npm_config_store_dir: "$" },
    // npm warns about settings that it does not know.
    isFor: (has) => has("pnpm-lock.yaml") || (systemProgram("pnpm") !== undefined && !has("package-lock.json")),
  },
  { folder: "yarn", env: { YARN_CACHE_FOLDER: "$", YARN_GLOBAL_FOLDER: "$/berry" } },
  { folder: "bun", env: { BUN_INSTALL_CACHE_DIR: "$" } },
  { folder: "deno", env: { DENO_DIR: "$" } },
  { folder: "corepack", env: { COREPACK_HOME: "$" } },
  { folder: "pip", env: { PIP_CACHE_DIR: "$" } },
  { folder: "uv", env: { UV_CACHE_DIR: "$" } },
  { folder: "poetry", env: { POETRY_CACHE_DIR: "$" } },
  { folder: "ccache", env: { CCACHE_DIR: "$" } },
  { folder: "go-build", env: { GOCACHE: "$" } },
  { folder: "go-modules", env: { GOMODCACHE: "$" }, users: "go/pkg/mod" },
  { folder: "cargo", env: { CARGO_HOME: "$" }, users: ".cargo/registry" },
  { folder: "maven", env: { MAVEN_ARGS: "-Dmaven.repo.local=$" }, users: ".m2/repository" },
  { folder: "gradle", env: { GRADLE_USER_HOME: "$" } },
  { folder: "composer", env: { COMPOSER_CACHE_DIR: "$" } },
  { folder: "nuget", env: { NUGET_PACKAGES: "$" }, users: ".nuget/packages" },
  { folder: "bundler", env: { BUNDLE_USER_CACHE: "$" } },
];

/** Gradle reads the user's cache too: https://docs.gradle.org, "Sharing a read-only dependency cache". */
const GRADLE_SHARED = ".gradle/caches";

export type Caches = ReturnType<typeof privateCaches>;

/** A workspace's caches, kept between sessions. @throws The system's error when they cannot be created. */
export function privateCaches({ folder, workDir, home }: Base & { readonly folder: string }) {
  const id = createHash("sha256").update(workDir).digest("hex").slice(0, 16);
  const own = join(folder, "caches", id);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const use = useCaches(join(folder, "caches"), id);
  const isUsers = ({ users, folder: name }: Cache) =>
    users !== undefined && !existsSync(join(own, name)) && existsSync(join(home, users));
  const has = (file: string) => existsSync(join(workDir, file));
  return {
    /** Contains all caches; writable. */
    folder: own,
    use,
    /** The variables that lead package managers there. `networked`: it can download, so it needs writable caches. */
    environment(networked: boolean): Env {
      const used = CACHES.filter((cache) => (networked || !isUsers(cache)) && (cache.isFor?.(has) ?? true));
      for (const { folder: name } of used) makeFolder(join(own, name));
      const env = Object.assign({}, ...used.map((cache) => variablesOf(cache, join(own, cache.folder)))) as Env;
      const shared = join(home, GRADLE_SHARED);
      return existsSync(join(shared, "modules-2")) ? { ...env, GRADLE_RO_DEP_CACHE: shared } : env;
    },
  };
}

/** The variables for caches in one folder, except of tools whose own cache in the home can be used offline. */
export function cacheVariables(folder: string): Env {
  const plain = CACHES.filter(({ users, isFor }) => users === undefined && isFor === undefined);
  return Object.assign({}, ...plain.map((cache) => variablesOf(cache, join(folder, cache.folder)))) as Env;
}

/** Creates the folder. A command may have replaced it with something else. */
function makeFolder(path: string): void {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (info?.isDirectory()) return;
  if (info !== undefined) unlinkSync(path);
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

function variablesOf({ env }: Cache, folder: string): Env {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace("$", () => folder)]));
}

/** Without a network, retries are useless: npm alone would retry for over a minute (fetch-retries in its docs). */
export const NO_RETRIES: Env = {
  npm_config_fetch_retries: "0",
  YARN_HTTP_RETRY: "0",
  PIP_RETRIES: "0",
  UV_HTTP_RETRIES: "0",
  CARGO_NET_RETRY: "0",
};
