import { Type } from "typebox";
import type { Containment, Sandboxed } from "../../core/contract/containment.ts";

const ARGUMENTS = {
  network: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description:
        'Hosts the command needs, such as ["registry.npmjs.org"]; ["*"] for any public host. Default: no network',
    }),
  ),
  write: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description: "Folders or files the command needs to write, besides the workspace and temporary files",
    }),
  ),
  read: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description: 'Hidden files the command needs to read, such as [".env"], which is hidden when network is given',
    }),
  ),
  sandbox: Type.Optional(
    Type.Boolean({
      description: "false: run the command outside the sandbox, if it cannot work inside. A person is asked",
    }),
  ),
};

/** The arguments with which a command asks the sandbox for more access. Empty when there is no sandbox. */
export function sandboxArguments(sandboxed: Sandboxed): typeof ARGUMENTS {
  if (sandboxed === false) return {} as typeof ARGUMENTS;
  if (sandboxed === true) return ARGUMENTS;
  const { network: _, ...others } = ARGUMENTS;
  return others as typeof ARGUMENTS;
}

/** The containment that the arguments ask for. `undefined` when they ask for nothing. */
export function withinOf({
  network = [],
  write = [],
  read = [],
  sandbox = true,
}: {
  readonly network?: readonly string[];
  readonly write?: readonly string[];
  readonly read?: readonly string[];
  readonly sandbox?: boolean;
}): Containment | undefined {
  if (!sandbox) return "none";
  if (network.length + write.length + read.length === 0) return undefined;
  return { network, write, read };
}
