/** A variable that a command lacks, and why (`Backend.lacks`). */
export interface UnsetVariable {
  readonly name: string;
  readonly why: "withheld" | "missing";
}

/** How many variables are named. */
const MAX_NAMED = 3;

const NAME = "([A-Z][A-Z0-9_]+)";

/** What programs write about a variable that is not set. Sources: bash, dash, Gradle, Maven, Python, Rust, Node.js. */
const MESSAGES = [
  // "CC: unbound variable", "JAVA_HOME is not set", "The JAVA_HOME environment variable is not defined correctly"
  `${NAME}["'\`}]*(?: (?:environment|env) ?(?:variable|var))?:? (?:is |was |has |are |isn't )?(?:unbound|unset|` +
    "undefined|not (?:been )?(?:set|defined|found|present|provided|specified|configured|exported)|missing|required|" +
    "empty|set\\b.{0,20} required|must be (?:set|defined|provided)|(?:parameter )?(?:null or )?not set)",
  // "Missing required environment variable: NAME", "please set the variable NAME", "export NAME"
  `(?:missing|required|set|define|export|need|no|find|read)\\b[^.\\n]{0,40}?\\b(?:variables?|vars?|env)\\b:? ["'\`$]*${NAME}`,
  `(?:please|must|should|to) (?:set|define|export|specify) (?:the )?["'\`$]*${NAME}`,
  `KeyError: '${NAME}'`,
].map((pattern) => new RegExp(pattern, "gim"));

/** Returns the names of variables of which the output says that they are not set, in capital letters. */
export function unsetVariables(output: string): readonly string[] {
  const names = MESSAGES.flatMap((pattern) => [...output.matchAll(pattern)].map(([, name = ""]) => name));
  return [...new Set(names.filter((name) => name === name.toUpperCase()))];
}

/** Says how the command gets variables that it lacks. */
export function describeUnset(variables: readonly UnsetVariable[]): string {
  const named = (why: UnsetVariable["why"]) =>
    variables.flatMap((each) => (each.why === why ? [each.name] : [])).slice(0, MAX_NAMED);
  const [withheld, missing] = [named("withheld"), named("missing")];
  const sentences = [
    withheld.length > 0 &&
      `The user's environment has ${withheld.join(", ")}, but commands do not get it. The user passes it with ` +
        `policy.env.pass: [${withheld.join(", ")}] in the configuration.`,
    missing.length > 0 &&
      `The user's environment does not have ${missing.join(", ")} either. Set it in the command ` +
        `(export ${missing[0]}=…), or ask the user for its value.`,
  ];
  return sentences.filter((each) => each !== false).join(" ");
}
