import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "../../../core/contract/backend.ts";
import type { Env } from "../../../core/contract/effect.ts";

/** How to start the bridge (`bridge/main.ts`). */
export interface BridgeCommand {
  readonly argv: Command["argv"];
  /** Variables that are added to the command's own. */
  readonly env: Env;
  /** Real paths that must be visible inside. */
  readonly paths: readonly string[];
}

/**
 * Returns how to run a command in a sandbox that has its own network. The bridge runs inside the sandbox. It listens on
 * the loopback, forwards connections to the proxy's socket, and runs the command with the variables that make programs
 * use it. It ends when the command ends.
 *
 * @param socketInside Path of the proxy's socket inside the sandbox, at most 107 bytes.
 */
export function bridged(argv: Command["argv"], socketInside: string): BridgeCommand {
  return bridge("out", [socketInside, ...argv]);
}

/**
 * Returns how to start a bridge that forwards connections from a socket, which it creates, to a port of the network it
 * runs in. It prints "ready" when it listens, and ends with its stdin.
 */
export function inward(socket: string, host: string, port: number): BridgeCommand {
  return bridge("in", [socket, host, String(port)]);
}

function bridge(direction: "in" | "out", words: readonly string[]): BridgeCommand {
  const program = fileURLToPath(new URL(__BRIDGE__, import.meta.url));
  return {
    argv: [process.execPath, program, direction, ...words],
    env: process.versions["electron"] === undefined ? {} : { ELECTRON_RUN_AS_NODE: "1" },
    // package.json declares the bridge to be a module.
    paths: [process.execPath, program, join(dirname(dirname(program)), "package.json")],
  };
}
