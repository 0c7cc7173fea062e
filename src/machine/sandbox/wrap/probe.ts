import type { Backend } from "../../../core/contract/backend.ts";
import { ALL_FEATURES, type Features } from "./bubblewrap.ts";

/** Returns the words that run `true` in a sandbox with these features. */
type Words = (features: Features) => readonly string[];

export type Probed =
  | { readonly works: true; readonly features: Features }
  /** The output of bwrap. */
  | { readonly works: false; readonly output: string };

/** Features that can be omitted, with the error of an older bubblewrap or a stricter system. The first match counts. */
const DISPENSABLE: readonly { readonly feature: keyof Features; readonly sign: RegExp }[] = [
  { feature: "noUsers", sign: /disable-userns|max_user_namespaces|nested user namespace/i },
  { feature: "permissions", sign: /--perms/ },
  { feature: "cgroup", sign: /cgroup/i },
  { feature: "filter", sign: /seccomp/i },
  { feature: "processes", sign: /mount(ing)? proc|\/newroot\/proc/i },
];

/** What is missing without a feature. Other features are not mentioned: nobody would miss them. */
const SENTENCES: { readonly [feature in keyof Features]?: string } = {
  processes:
    "Commands can see the machine's processes, though they cannot touch them: a separate /proc cannot be " +
    "mounted here, as in a container or another sandbox.",
  permissions: "Hidden folders look empty instead of closed: bubblewrap is older than 0.5.",
  filter: "System calls are not filtered: there is no filter for this processor, or the kernel does not accept it.",
};

/** Errors of bwrap when something to be mounted has disappeared (a socket), and how many are tolerated. */
const HAS_GONE = /Can't (create file|mkdir|find source path)|No such file or directory/;
const MOST_GONE = 3;

/** Time limit of one attempt, in milliseconds. An attempt normally takes about ten. */
const PATIENCE_MS = 10_000;

/** Tests a sandbox, and omits features that do not work here and are not essential. Never rejects. */
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

/** What is missing with these features, as sentences. */
export function missingOf(features: Features): readonly string[] {
  return Object.entries(SENTENCES).flatMap(([feature, sentence]) =>
    features[feature as keyof Features] ? [] : [sentence],
  );
}

/** The features without the one that the output blames; `undefined` when it blames none of them. Pure. */
export function withLess(features: Features, output: string): Features | undefined {
  const blamed = DISPENSABLE.find(({ feature, sign }) => features[feature] && sign.test(output));
  return blamed && { ...features, [blamed.feature]: false };
}

/** Resolves to the output of a failed attempt, or to `undefined` after success. */
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
