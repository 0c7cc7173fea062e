import type { Containment } from "./containment.ts";
import type { Lifetime } from "./lifetime.ts";
import type { JsonSchema } from "./schema.ts";

/** Variables added to the clean environment that a backend gives to commands. */
export type Env = { readonly [name: string]: string };

/**
 * What a call touches. The policy judges effects, never tool names, so the same rules hold for built-in tools and those
 * of plugins. Paths are as the model wrote them: relative to the backend's working directory, `~` for its home.
 */
export type Effect =
  /**
   * A folder includes everything in it. `does` tells people what a write does to the file: changes parts of it, or
   * makes its whole content. The approve stage fills in `real`, the real path, `isNew` if no file is at the path of a
   * write, and for people who are asked about a write `change`, what would change (`Tool.change`).
   */
  | {
      readonly kind: "read" | "write";
      readonly path: string;
      readonly does?: "edit" | "replace";
      readonly real?: string;
      readonly isNew?: boolean;
      readonly change?: string;
    }
  /**
   * A shell script, as written. `cwd` defaults to the working directory; `real` is its real path. `lifetime` defaults
   * to "call". `within` is the extra access that it asks the sandbox for; default none.
   * `inPane`: it runs in the folder where the shell of the live terminal is; the approve stage fills in `cwd`.
   */
  | {
      readonly kind: "exec";
      readonly command: string;
      readonly cwd?: string;
      readonly env?: Env;
      readonly lifetime?: Lifetime;
      readonly within?: Containment;
      readonly inPane?: true;
      readonly real?: string;
    }
  /**
   * A live terminal, or a job by its id. `types` is the text that is typed, `keys` the names of the keys after it
   * (including Enter). Without both, the call only looks, or stops what the toolkit itself started. `pane` is the name
   * of a pane; default: the pane where commands run. The approve stage fills in `real`, the pane that the name means.
   */
  | {
      readonly kind: "terminal";
      readonly job?: string;
      readonly pane?: string;
      readonly types?: string;
      readonly keys?: readonly string[];
      readonly real?: string;
    }
  /** Gets a URL. `headers` are those that the model has set. */
  | {
      readonly kind: "fetch";
      readonly url: string;
      readonly method: "GET" | "HEAD";
      readonly headers?: { readonly [name: string]: string };
    }
  /** Sends a request with any other method. */
  | {
      readonly kind: "request";
      readonly url: string;
      readonly method: string;
      readonly headers?: { readonly [name: string]: string };
      readonly body?: string;
    }
  /**
   * Queries a search engine, named by its origin ("https://search.example.org"). Includes GET requests to this origin.
   */
  | { readonly kind: "search"; readonly engine: string; readonly query: string }
  /** Reads a saved output of this toolkit, by its address `output://ID`. */
  | { readonly kind: "output"; readonly id: string }
  /**
   * Reads or changes what outlives the session. `about` is the change in words, for people, and `soon` what follows
   * from it at this moment. `asks`: a person is asked about it at every autonomy, and no rule approves it. `core`: the
   * effect stores a core memory, which is part of every later conversation. The approve stage adds `afterForeignText`
   * to such an effect if the thread has read text that others wrote.
   */
  | {
      readonly kind: "state";
      readonly store: "memory" | "schedule";
      readonly change: boolean;
      readonly about?: string;
      readonly soon?: string;
      readonly asks?: true;
      readonly core?: true;
      readonly afterForeignText?: true;
    }
  /** Delegates to a sub-agent; `task` is the task, for people. */
  | { readonly kind: "delegate"; readonly agent: string; readonly task?: string }
  /**
   * Uses the thread's browser. "look": reads what is open. "use": clicks, types and selects. These are known only when
   * they are about to happen: "password" types into a password field, "submit" sends a form, "upload" gives a file to
   * the page, "download" keeps a file, "script" runs a script in the page, "person" waits until a person has done
   * something in the page. `detail` is the script, file, form or request, for people.
   */
  | { readonly kind: "page"; readonly act: PageAct; readonly url?: string; readonly detail?: string }
  /**
   * Calls a tool of another program, whose effects are unknown. `from` is its source ("plugin:weather", "mcp:github"),
   * `tool` the tool's name in that source, `input` the arguments as JSON text, for people. `destructive`: the tool
   * declares that it may destroy something, which raises the risk; a declaration of the opposite has no effect. `asks`:
   * the program asks a person during a call, in these words of its own; `input` is what an approval answers, and `form`
   * the JSON Schema of what the person may answer in its place (`Approval.input`). No autonomy, rule or grant approves
   * it.
   */
  | {
      readonly kind: "foreign";
      readonly from: string;
      readonly tool?: string;
      readonly input?: string;
      readonly destructive?: boolean;
      readonly asks?: string;
      readonly form?: JsonSchema;
    };

export type PageAct = "look" | "use" | "password" | "submit" | "upload" | "download" | "script" | "person";

export type EffectKind = Effect["kind"];

const KINDS: { readonly [Kind in EffectKind]: true } = {
  ...{ read: true, write: true, exec: true, terminal: true, fetch: true, request: true, search: true },
  ...{ output: true, state: true, delegate: true, page: true, foreign: true },
};

/** Returns what is wrong with the first unknown kind of effect; `undefined` if all are known. */
export function unknownKind(kinds: readonly string[]): string | undefined {
  const unknown = kinds.find((kind) => !Object.hasOwn(KINDS, kind));
  return unknown === undefined
    ? undefined
    : `there is no effect of the kind ${JSON.stringify(unknown)}: expected ${Object.keys(KINDS).join(", ")}`;
}

/**
 * Whether an effect changes something, or may change something. An act is recorded durably before it runs, and
 * read-only autonomy refuses it. Fetches and searches only read.
 */
export function isAct(effect: Effect): boolean {
  switch (effect.kind) {
    case "read":
    case "output":
    case "fetch":
    case "search":
      return false;
    case "terminal":
      return effect.types !== undefined || effect.keys !== undefined;
    case "state":
      return effect.change;
    case "page":
      return effect.act !== "look";
    case "write":
    case "exec":
    case "request":
    case "delegate":
    case "foreign":
      return true;
  }
}
