import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../../../contract/backend.ts";
import type { Env } from "../../../contract/effect.ts";

/** A command that runs behind the proxy. */
export interface BridgedCommand {
  readonly argv: Command["argv"];
  /** Variables that are added to the command's own. */
  readonly env: Env;
  /** Real paths that must be visible inside. */
  readonly paths: readonly string[];
}

/**
 * Returns how to run a command in a sandbox that has its own network. A small process in the sandbox (`bridge/main.ts`)
 * listens on the loopback, forwards connections to the proxy's socket, and runs the command with the variables that
 * make programs use it. It ends when the command ends.
 *
 * @param socketInside Path of the proxy's socket inside the sandbox, at most 107 bytes.
 */
export function bridged(argv: Command["argv"], socketInside: string): BridgedCommand {
  const bridge = fileURLToPath(new URL(__BRIDGE__, import.meta.url));
  return {
    argv: [process.execPath, bridge, socketInside, ...argv],
    env: process.versions["electron"] === undefined ? {} : { ELECTRON_RUN_AS_NODE: "1" },
    // package.json declares the bridge to be a module.
    paths: [process.execPath, bridge, join(dirname(dirname(bridge)), "package.json")],
  };
}
