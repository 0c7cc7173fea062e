import { posix } from "node:path";

/** What a program loads that its words do not spell. */
interface Loading {
  /** Files that it reads in its folder; a `*` stands for any beginning of a name. */
  readonly own?: string;
  /** Whether it looks for them in the folders above too. */
  readonly above?: true;
  /** What it appends to a word that names code: `.py` for `python -m tool`. */
  readonly endings?: string;
  /** Whether the dots of such a word are folders: `python -m a.b`. */
  readonly dotted?: true;
}

const NODE = ".js .cjs .mjs .ts .mts .json /index.js /index.cjs /index.mjs /index.ts /package.json";
const PACKAGE = "package.json .npmrc .yarnrc.yml";
const PYTHON = "conftest.py pytest.ini tox.ini noxfile.py setup.cfg setup.py pyproject.toml";

/** By names of programs. Facts of their manuals; what is not here is compared by its words alone. */
const LOADING: readonly (readonly [names: RegExp, loading: Loading])[] = [
  [/^(g|b|bsd)?make$/, { own: "GNUmakefile makefile Makefile BSDmakefile" }],
  [/^(npm|pnpm|yarn|corepack)$/, { own: PACKAGE, above: true }],
  [/^(npx|bunx|pnpx)$/, { own: PACKAGE, above: true, endings: NODE }],
  [/^bun$/, { own: `${PACKAGE} bunfig.toml`, above: true, endings: NODE }],
  [/^deno$/, { own: "deno.json deno.jsonc package.json", above: true, endings: NODE }],
  [/^(node|nodejs|tsx|ts-node)$/, { endings: NODE }],
  [/^(python|pypy)[\d.]*$/, { endings: ".py /__main__.py /__init__.py", dotted: true }],
  [/^(pytest|tox|nox)$/, { own: PYTHON, above: true }],
  [/^(pip[\d.]*|uv|uvx|poetry|pdm|hatch)$/, { own: PYTHON, above: true, endings: ".py /__main__.py", dotted: true }],
  [/^(ruby|rails|rspec|bundle)$/, { own: "Gemfile .rspec Rakefile", above: true, endings: ".rb /bin/rails" }],
  [/^rake$/, { own: "Rakefile rakefile Rakefile.rb Gemfile", above: true }],
  [/^perl$/, { endings: ".pl .pm", dotted: true }],
  [/^(php|composer)$/, { own: "composer.json", endings: ".php /index.php" }],
  [/^(just)$/, { own: "justfile Justfile .justfile", above: true }],
  [/^(task|go-task)$/, { own: "Taskfile.yml Taskfile.yaml", above: true }],
  [/^(cargo)$/, { own: "Cargo.toml build.rs .cargo/config.toml", above: true }],
  [/^go$/, { own: "go.mod *.go", above: true, endings: "/main.go" }],
  [
    /^(docker|podman|nerdctl|docker-compose)$/,
    {
      own: "Dockerfile Containerfile compose.yaml compose.yml docker-compose.yaml docker-compose.yml .env",
      endings: "/Dockerfile /compose.yaml /docker-compose.yml",
    },
  ],
  [/^(gradle|gradlew)$/, { own: "*.gradle *.gradle.kts gradle.properties", above: true }],
  [/^(mvn|mvnw)$/, { own: "pom.xml .mvn/maven.config .mvn/jvm.config", above: true }],
  [/^(cmake|ctest)$/, { own: "CMakeLists.txt CMakePresets.json", endings: "/CMakeLists.txt" }],
  [/^ninja$/, { own: "build.ninja" }],
  [/^(bazel|bazelisk|buck2)$/, { own: "BUILD BUILD.bazel WORKSPACE MODULE.bazel .bazelrc", above: true }],
  [/^(terraform|tofu)$/, { own: "*.tf *.tfvars" }],
  [/^ansible(-playbook)?$/, { own: "ansible.cfg" }],
  [
    /^(vite|webpack|rollup|gulp|grunt|jest|vitest|eslint|prettier|tsc)$/,
    {
      own: `${PACKAGE} *.config.js *.config.cjs *.config.mjs *.config.ts gulpfile.js Gruntfile.js tsconfig.json`,
      above: true,
    },
  ],
];

/** What a program loads; `undefined` for a program that loads what its words name, and no more. */
export function loadingOf(name: string): Loading | undefined {
  return LOADING.find(([names]) => names.test(name))?.[1];
}

/** Whether a program runs what its words name. */
export function runsItsWords(name: string): boolean {
  return loadingOf(name)?.endings !== undefined;
}

/** The paths that a word of such a program may load besides the word itself. */
export function loadedBy(word: string, { endings = "", dotted }: Loading): readonly string[] {
  const names = dotted && /^[\w.]+$/.test(word) ? [word, word.replaceAll(".", "/")] : [word];
  return names.flatMap((name) => split(endings).map((ending) => name + ending));
}

/** The files that a program reads by itself in a folder. */
export function ownFiles(folder: string, { own = "", above }: Loading) {
  const folders = above ? withParents(folder) : [folder];
  const names = split(own);
  return {
    paths: folders.flatMap((at) => names.filter((name) => !name.includes("*")).map((name) => posix.join(at, name))),
    patterns: names.flatMap((name) => (name.startsWith("*") ? [{ folder, prefix: "", suffix: name.slice(1) }] : [])),
  };
}

/** How many folders above a folder are looked at. */
const MOST_PARENTS = 8;

/** A folder and the folders above it, nearest first; not the root. */
export function withParents(folder: string): readonly string[] {
  const folders: string[] = [];
  for (let at = folder; at !== posix.dirname(at) && folders.length < MOST_PARENTS; at = posix.dirname(at))
    folders.push(at);
  return folders;
}

const split = (names: string) => names.split(" ").filter((name) => name !== "");

/** The scripts in a file that programs run: recipes of make, scripts of npm, a shell script. */
export function scriptsIn(path: string, text: string): readonly string[] {
  const name = posix.basename(path);
  if (name === "package.json") return scriptsOfPackage(text);
  if (/^(GNU|BSD)?makefile$|\.mk$|^\.?justfile$/i.test(name))
    return [
      ...Array.from(text.matchAll(/^[ \t]+[@+-]*(.*)$/gm), ([, line = ""]) => line),
      ...Array.from(text.matchAll(/^[-s]?include[ \t]+(.*)$/gm), ([, files = ""]) => `. ${files}`),
    ];
  const isShell = /\.(ba|z|k)?sh$/.test(name) || /^#!.*\b(ba|da|z|k|mk)?sh\b/.test(text);
  // A file that says nothing about itself is run as a script by shells: `. setup`.
  return isShell || !name.includes(".") ? [text] : [];
}

function scriptsOfPackage(text: string): readonly string[] {
  try {
    const { scripts } = JSON.parse(text) as { readonly scripts?: unknown };
    const all = typeof scripts === "object" && scripts !== null ? Object.values(scripts) : [];
    return all.filter((script): script is string => typeof script === "string");
  } catch {
    return [];
  }
}
