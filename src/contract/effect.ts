import type { Containment } from "./containment.ts";
import type { Lifetime } from "./lifetime.ts";

/** Variables added to a command's environment, beside the clean one its backend gives it. */
export type Env = { readonly [name: string]: string };

/**
 * What a call touches. The policy judges effects, never tool names, so a plugin's tool and a built-in one fall under the same
 * rules. Paths are as the model wrote them: relative to the backend's working directory, `~` for its home.
 */
export type Effect =
  /** A folder means everything under it. `real` is filled in by the approve stage: see there. */
  | { readonly kind: "read" | "write"; readonly path: string; readonly real?: string }
  /**
   * A shell script, as written; `cwd` defaults to the working directory, `real` is where that really is. `lifetime` defaults to "call".
   * `within` is what it asks the sandbox for; nothing by default.
   */
  | {
      readonly kind: "exec";
      readonly command: string;
      readonly cwd?: string;
      readonly env?: Env;
      readonly lifetime?: Lifetime;
      readonly within?: Containment;
      readonly real?: string;
    }
  /**
   * A live terminal, or a job by its id: what is typed into it, the text first, then the keys by their names (Enter among them). Neither `types`
   * nor `keys`: it only looks, or stops what the toolkit started itself. `pane` is a pane of the terminal, as it was named; left out, the one
   * where commands are typed. `real` is filled in like that of a path: the one pane that the name means.
   */
  | {
      readonly kind: "terminal";
      readonly job?: string;
      readonly pane?: string;
      readonly types?: string;
      readonly keys?: readonly string[];
      readonly real?: string;
    }
  /** Gets a URL. `headers` are those that the model chose. */
  | {
      readonly kind: "fetch";
      readonly url: string;
      readonly method: "GET" | "HEAD";
      readonly headers?: { readonly [name: string]: string };
    }
  /** Sends to a URL, with any other method. */
  | {
      readonly kind: "request";
      readonly url: string;
      readonly method: string;
      readonly headers?: { readonly [name: string]: string };
      readonly body?: string;
    }
  /** Asks a search engine, by its origin ("https://search.example.org"). GET requests to this origin are a part of it. */
  | { readonly kind: "search"; readonly engine: string; readonly query: string }
  /** A saved output of this toolkit, `output://ID`. */
  | { readonly kind: "output"; readonly id: string }
  | { readonly kind: "state"; readonly store: "memory" | "schedule"; readonly change: boolean }
  | { readonly kind: "delegate"; readonly agent: string }
  /** A plugin's or MCP server's tool that says nothing of what it touches. */
  | { readonly kind: "foreign"; readonly from: string };

export type EffectKind = Effect["kind"];

/**
 * True for an effect that changes something, or may: it is recorded durably before it runs, and read-only autonomy refuses it.
 * A fetch and a search only look.
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
    case "write":
    case "exec":
    case "request":
    case "delegate":
    case "foreign":
      return true;
  }
}
