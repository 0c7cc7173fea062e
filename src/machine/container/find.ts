import { distance } from "fastest-levenshtein";
import { ToolFailure, Unreachable } from "../../core/contract/failure.ts";
import { unreachable } from "../shell/transport.ts";
import { ENGINES, type Engine, type Trouble, runEngine, troubleOf } from "./engine.ts";

/** How many names of running containers are shown. */
const MOST_NAMES = 5;

/** What an engine reports about one container. */
export type Look =
  /** `state` is the engine's word: "running", "exited", … */
  | { readonly is: "there"; readonly engine: Engine; readonly id: string; readonly state: string }
  | { readonly is: "absent"; readonly engine: Engine }
  | { readonly is: "unknown"; readonly engine: Engine; readonly installed: boolean; readonly trouble: Trouble };

/** A container as the person named it, with its engine if the person named one. */
export interface Named {
  readonly name: string;
  readonly engine: Engine | undefined;
}

/**
 * Parses "web", "podman:web" or an id. Names consist of letters, digits, "_", "." and "-", and never begin with "-", so
 * no name can be taken for an option. @throws ToolFailure for an invalid name.
 */
export function parseName(container: string): Named {
  const [, prefix, name = ""] = /^(?:(docker|podman):)?(.*)$/s.exec(container) ?? [];
  if (/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) return { name, engine: ENGINES.find((each) => each === prefix) };
  throw new ToolFailure(
    `${JSON.stringify(container)} is not a container name: expected a name or id of letters, digits, "_", "." ` +
      'and "-", optionally after an engine ("podman:web")',
  );
}

/** Looks up a container in one engine. Never rejects. */
export async function look(engine: Engine, name: string): Promise<Look> {
  const ran = await runEngine(engine, ["container", "inspect", "--format", "{{.Id}} {{.State.Status}}", name]);
  if (ran.is === "ended" && ran.code === 0) {
    const [id = "", state = ""] = ran.stdout.trim().split(" ");
    return { is: "there", engine, id, state };
  }
  if (ran.is === "ended" && /no such container|no container with name/i.test(ran.stderr))
    return { is: "absent", engine };
  return { is: "unknown", engine, installed: ran.is !== "missing", trouble: troubleOf(engine, ran) };
}

/** Finds the engine that runs the container. @throws Unreachable with what to do. */
export async function findRunning({ name, engine }: Named): Promise<Engine> {
  const looks = await Promise.all((engine === undefined ? ENGINES : [engine]).map((each) => look(each, name)));
  const there = looks.filter((each) => each.is === "there");
  const running = there.filter(({ state }) => state === "running");
  const [one, other] = running;
  // docker may be podman under another name: then both report the same container.
  if (one !== undefined && other !== undefined && one.id !== other.id) {
    throw unreachable(
      `both docker and podman run a container ${name}`,
      `Name one of them: "docker:${name}" or "podman:${name}".`,
    );
  }
  if (one !== undefined) return one.engine;
  const [stopped] = there;
  if (stopped !== undefined) throw notRunning(stopped.engine, name, stopped.state);
  throw await notFound(name, looks);
}

/** Explains why an existing container cannot be used, and how to make it run. */
export function notRunning(engine: Engine, name: string, state: string): Unreachable {
  const start = `Start it with \`${engine} start ${name}\`.`;
  const [how, hint] = /^(?:created|configured|initialized)$/.test(state)
    ? ["was created but never started", start]
    : state === "paused"
      ? ["is paused", `Run \`${engine} unpause ${name}\`.`]
      : state === "restarting"
        ? ["is restarting", `If this continues, it exits at every start: see \`${engine} logs ${name}\`.`]
        : [`is not running (state ${JSON.stringify(state)})`, start];
  return new Unreachable(`container ${name} (${engine}) ${how}`, { hint, mayPass: state === "restarting" });
}

async function notFound(name: string, looks: readonly Look[]): Promise<Unreachable> {
  const unknown = looks.filter((each) => each.is === "unknown");
  const installed = unknown.filter((each) => each.installed);
  const troubles = (installed.length > 0 ? installed : unknown).map(({ trouble }) => trouble);
  const problems = troubles.map(({ problem }) => problem).join("; ");
  const asked = looks.filter((each) => each.is === "absent").map((each) => each.engine);
  const [first] = troubles;
  if (asked.length === 0 && first !== undefined) {
    const { hint, mayPass } = first;
    return new Unreachable(`cannot look for container ${name}: ${problems}`, { hint, mayPass });
  }
  const lists = await Promise.all(asked.map(async (engine) => ({ engine, names: await closestRunning(engine, name) })));
  const running = lists.flatMap(({ engine, names }) => (names.length > 0 ? [`${names.join(", ")} (${engine})`] : []));
  const doubts = installed.length > 0 ? ` (${problems})` : "";
  return unreachable(
    `${asked.join(" and ")} ${asked.length > 1 ? "have" : "has"} no container ${name}${doubts}`,
    running.length === 0
      ? "No container is running. Start one, and give its name or id."
      : `Running: ${running.join("; ")}.`,
  );
}

/** Names of running containers, the closest first. */
async function closestRunning(engine: Engine, name: string): Promise<readonly string[]> {
  const ran = await runEngine(engine, ["ps", "--format", "{{.Names}}"]);
  const said = ran.is === "ended" && ran.code === 0 ? ran.stdout : "";
  const names = said.split(/\s+/).filter((each) => each !== "");
  const away = (other: string) => distance(name.slice(0, 100).toLowerCase(), other.slice(0, 100).toLowerCase());
  return names.toSorted((one, other) => away(one) - away(other)).slice(0, MOST_NAMES);
}
