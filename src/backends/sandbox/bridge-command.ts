import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";

/** A command that runs behind the proxy. */
export interface BridgedCommand {
  readonly argv: Command["argv"];
  /** Added to the command's own. */
  readonly env: Env;
  /** Real paths that have to be visible inside. */
  readonly paths: readonly string[];
}

/**
 * How a command runs in a sandbox that has a network of its own: a small process there (`bridge/main.ts`) listens on the loopback, carries
 * what comes to the proxy's socket, and runs the command with the variables that send programs to it. It ends as the command ends.
 *
 * @param socketInside where the sandbox sees the proxy's socket; at most 107 bytes
 */
export function bridged(argv: Command["argv"], socketInside: string): BridgedCommand {
  const bridge = fileURLToPath(new URL(__BRIDGE__, import.meta.url));
  return {
    argv: [process.execPath, bridge, socketInside, ...argv],
    env: process.versions["electron"] === undefined ? {} : { ELECTRON_RUN_AS_NODE: "1" },
    // The manifest says that the bridge is a module.
    paths: [process.execPath, bridge, join(dirname(dirname(bridge)), "package.json")],
  };
}
