import { randomBytes } from "node:crypto";
import { ToolFailure, Unreachable } from "../../core/contract/failure.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type ReadinessLimits, loginScript, startLine, untilReady } from "../shell/login-shell.ts";
import { type Line, type Transport, unreachable } from "../shell/transport.ts";
import { whyLost, whyNotOpened } from "./shell-failures.ts";
import { findRunning, look, parseName } from "./find.ts";

export interface ContainerTransportOptions {
  /** Name or id, optionally after an engine: "podman:web". Default engine: the engine that runs the container. */
  readonly container: string;
}

/**
 * Creates the transport into a running container through its engine's `exec`. Each line is a separate `exec`.
 *
 * @throws ToolFailure for an invalid name.
 * @throws Unreachable if the container does not run.
 */
export async function containerTransport(
  { container }: ContainerTransportOptions,
  limits: ReadinessLimits = {},
): Promise<Transport> {
  const named = parseName(container);
  const engine = await findRunning(named);
  const { name } = named;
  const alive = new Set<Line>();
  let isClosed = false;
  let first: Line | undefined;

  const start = async (secret: string): Promise<Line> => {
    if (isClosed) throw new ToolFailure(`the connection to container ${name} is closed`);
    const script = loginScript({ secret, profile: "sh", keepPath: true });
    const argv = [engine, "exec", "-i", "--detach-keys=", name, "/bin/sh", "-c", script] as const;
    const line = await startLine({ argv }).catch(cannotStart);
    alive.add(line);
    void line.ended.then(() => alive.delete(line));
    if (isClosed) line.kill();
    return line;
  };
  const cannotStart = (error: unknown): never => {
    throw unreachable(`${engine} cannot be started here: ${messageOf(error)}`, undefined, error);
  };

  return {
    name: `${engine}:${name}`,
    place: `container ${name}`,
    access: { program: [engine, "exec", "-it", name], options: ["--container", `${engine}:${name}`] },
    async open(which) {
      const held = first;
      if (which === "further" && held === undefined) {
        throw new Unreachable(`the connection to container ${name} was lost`, { mayPass: true });
      }
      const secret = randomBytes(16).toString("hex");
      const line = await start(secret);
      if (which === "further" && first !== held) line.kill(); // the first line has ended in the meantime
      if (which === "further") return line;
      const readiness = await untilReady(line, secret, limits);
      if (readiness.is !== "ready") throw await whyNotOpened(engine, name, readiness);
      first = line;
      void line.ended.then(() => {
        first = undefined;
        for (const each of alive) each.kill();
      });
      return line;
    },
    explain: (end) => whyLost(engine, name, end),
    async isFrozen() {
      const now = await look(engine, name);
      return now.is === "there" && now.state === "paused";
    },
    async close() {
      isClosed = true;
      const lines = [...alive];
      for (const line of lines) line.kill();
      await Promise.all(lines.map((line) => line.ended));
    },
  };
}
