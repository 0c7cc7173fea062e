import { readFileSync } from "node:fs";
import { tried } from "../../core/util/errors.ts";

const JS = ["package.json"];
const GRADLE = ["build.gradle", "build.gradle.kts"];

/**
 * Folders that a tool makes again, by name, and the files of which one lies beside such a folder. A `dist` or a `build`
 * of another kind is not among them: people commit and edit those.
 */
const BESIDE: { readonly [name: string]: readonly string[] } = {
  node_modules: JS,
  ".next": JS,
  ".nuxt": JS,
  ".svelte-kit": JS,
  ".turbo": JS,
  ".parcel-cache": JS,
  ".angular": JS,
  ".pnpm-store": JS,
  bower_components: ["bower.json"],
  target: ["Cargo.toml", "pom.xml", "build.sbt"],
  ".gradle": GRADLE,
  build: GRADLE,
  vendor: ["composer.lock"],
  Pods: ["Podfile"],
  ".dart_tool": ["pubspec.yaml"],
  _build: ["mix.exs"],
  deps: ["mix.lock"],
  "elm-stuff": ["elm.json"],
  ".stack-work": ["stack.yaml"],
  "dist-newstyle": ["cabal.project"],
  ".zig-cache": ["build.zig"],
  ".tox": ["tox.ini"],
  ".nox": ["noxfile.py"],
};

/** The first bytes of a CACHEDIR.TAG (https://bford.info/cachedir/). Cargo, pytest, mypy and ruff write it. */
const SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55";

/** Whether a folder with this name can be made again, because of a file beside it. */
export function isMadeFrom(name: string, isBeside: (file: string) => boolean): boolean {
  if (name === "__pycache__") return true;
  return Object.hasOwn(BESIDE, name) && BESIDE[name]?.some(isBeside) === true;
}

/** Whether a file in a folder shows that the folder can be made again: of a Python environment, or of a cache. */
export function isMarked(folder: Buffer, isInside: (file: string) => boolean): boolean {
  if (isInside("pyvenv.cfg")) return true;
  if (!isInside("CACHEDIR.TAG")) return false;
  const tag = Buffer.concat([folder, Buffer.from("/CACHEDIR.TAG")]);
  return tried(() => readFileSync(tag, "latin1"))?.startsWith(SIGNATURE) === true;
}
