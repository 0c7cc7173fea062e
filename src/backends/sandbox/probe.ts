import type { Backend } from "../../contract/backend.ts";
import { ALL_FEATURES, type Features } from "./bubblewrap.ts";

/** The words that run `true` in a sandbox with these features. */
type Words = (features: Features) => readonly string[];

export type Probed =
  | { readonly works: true; readonly features: Features }
  /** What bwrap wrote. */
  | { readonly works: false; readonly output: string };

/** What can be done without, by what an older bubblewrap or a system that does not allow it says. The first that fits is left out. */
const DISPENSABLE: readonly { readonly feature: keyof Features; readonly said: RegExp }[] = [
  { feature: "noUsers", said: /disable-userns|max_user_namespaces|nested user namespace/i },
  { feature: "permissions", said: /--perms/ },
  { feature: "cgroup", said: /cgroup/i },
  { feature: "filter", said: /seccomp/i },
  { feature: "processes", said: /mount(ing)? proc|\/newroot\/proc/i },
];

/** What is missing where a feature is; the others are nothing that anyone would miss. */
const SENTENCES: { readonly [feature in keyof Features]?: string } = {
  processes:
    "Commands see which processes of the machine run, though they cannot touch them: a /proc of their own cannot be mounted here, as in a container or another sandbox.",
  permissions: "Hidden folders look empty instead of closed: bubblewrap is older than 0.5.",
  filter: "System calls are not filtered: there is no filter for this processor, or the kernel takes none.",
};

/** What bwrap says where something had gone that was to be mounted (a socket, a file that was being replaced), and how often that may be. */
const HAS_GONE = /Can't (create file|mkdir|find source path)|No such file or directory/;
const MOST_GONE = 3;

/** Longest that trying may take, in milliseconds; it takes some ten. */
const PATIENCE_MS = 10_000;

/** Tries a sandbox, leaving out what does not work here and can be done without. Never rejects. */
export async function probe(
  inner: Pick<Backend, "spawn">,
  words: Words,
  first: Features = ALL_FEATURES,
): Promise<Probed> {
  let features = first;
  for (let gone = 0; ;) {
    const output = await attempt(inner, words(features));
    if (output === undefined) return { works: true, features };
    if (HAS_GONE.test(output) && ++gone <= MOST_GONE) continue;
    const less = withLess(features, output);
    if (less === undefined) return { works: false, output };
    features = less;
  }
}

/** What is missing with these features, in sentences. */
export function missingOf(features: Features): readonly string[] {
  return Object.entries(SENTENCES).flatMap(([feature, sentence]) =>
    features[feature as keyof Features] ? [] : [sentence],
  );
}

/** The features without the one that the output blames; `undefined` when it blames none of them. Pure. */
export function withLess(features: Features, output: string): Features | undefined {
  const blamed = DISPENSABLE.find(({ feature, said }) => features[feature] && said.test(output));
  return blamed && { ...features, [blamed.feature]: false };
}

/** What it wrote when it failed; `undefined` when it did not. */
async function attempt(inner: Pick<Backend, "spawn">, words: readonly string[]): Promise<string | undefined> {
  const [program = "", ...args] = words;
  try {
    const tried = await inner.spawn({ argv: [program, ...args], timeoutMs: PATIENCE_MS });
    const exit = await tried.exit;
    const output = Buffer.from(await tried.output.tail(4_096)).toString();
    await tried.output.dispose();
    if (exit.how === "exited" && exit.code === 0) return undefined;
    return output.trim() === "" ? `it ended with ${JSON.stringify(exit)}` : output;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
