import { Type } from "typebox";
import type { Containment } from "../../contract/containment.ts";

const ARGUMENTS = {
  network: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description: 'Hosts it needs, as ["registry.npmjs.org"]; ["*"] is any public one. There is no network otherwise',
    }),
  ),
  write: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description: "Folders or files it needs to write beside the workspace and temporary ones",
    }),
  ),
  read: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: 32,
      description: 'Hidden files it needs to read, as [".env"] beside network',
    }),
  ),
  sandbox: Type.Optional(
    Type.Boolean({ description: "false: run it outside the sandbox, for what cannot work in it. A person is asked" }),
  ),
};

/** Arguments by which a command asks the sandbox for more. Where there is none, they are not offered. */
export function sandboxArguments(offered: boolean): typeof ARGUMENTS {
  return offered ? ARGUMENTS : ({} as typeof ARGUMENTS);
}

/** What the arguments ask for; `undefined`: nothing. */
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
