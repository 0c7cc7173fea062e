import { distance } from "fastest-levenshtein";
import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import { ENGINES, type Engine, type Trouble, runEngine, troubleOf } from "./engine.ts";

/** So many names of running containers are shown. */
const MOST_NAMES = 5;

/** What an engine says of one container. */
export type Look =
  /** `state` as the engine says it: "running", "exited", … */
  | { readonly is: "there"; readonly engine: Engine; readonly id: string; readonly state: string }
  | { readonly is: "absent"; readonly engine: Engine }
  | { readonly is: "unknown"; readonly engine: Engine; readonly installed: boolean; readonly trouble: Trouble };

/** A container by the name that a person gave it here, and the engine that was named with it. */
export interface Named {
  readonly name: string;
  readonly engine: Engine | undefined;
}

/**
 * Takes "web", "podman:web" or an id apart. Engines allow letters, digits, "_", "." and "-" in names, never "-" first, so nothing can be taken for an option.
 *
 * @throws ToolFailure for what can be no name, and for two engines that are not the same.
 */
export function parseName(container: string, engine?: Engine): Named {
  const [, prefix, name = ""] = /^(?:(docker|podman):)?(.*)$/s.exec(container) ?? [];
  const named = ENGINES.find((each) => each === prefix);
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) {
    throw new ToolFailure(
      `${JSON.stringify(container)} is no container: expected a name or an id, of letters, digits, "_", "." and "-", which may have an engine in front ("podman:web")`,
    );
  }
  if (named !== undefined && engine !== undefined && named !== engine) {
    throw new ToolFailure(
      `${JSON.stringify(container)} names ${named} as its engine, and the options name ${engine}: expected one of the two`,
    );
  }
  return { name, engine: named ?? engine };
}

/** Asks one engine for a container. Never rejects. */
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

/**
 * Which engine has the container, and that it runs.
 *
 * @throws Unreachable with what to do.
 */
export async function findRunning({ name, engine }: Named): Promise<Engine> {
  const looks = await Promise.all((engine === undefined ? ENGINES : [engine]).map((each) => look(each, name)));
  const there = looks.filter((each) => each.is === "there");
  const running = there.filter(({ state }) => state === "running");
  const [one, other] = running;
  // docker may be podman under another name: then it is one container, seen twice.
  if (one !== undefined && other !== undefined && one.id !== other.id) {
    throw new Unreachable(`both docker and podman run a container ${name}`, {
      hint: `Say which: "docker:${name}" or "podman:${name}".`,
      mayPass: false,
    });
  }
  if (one !== undefined) return one.engine;
  const [stopped] = there;
  if (stopped !== undefined) throw notRunning(stopped.engine, name, stopped.state);
  throw await notFound(name, looks);
}

/** Says of a container that is there why nothing can be done in it, and what makes it go. */
export function notRunning(engine: Engine, name: string, state: string): Unreachable {
  const start = `Start it with \`${engine} start ${name}\`.`;
  const no = (how: string, hint: string, mayPass = false) =>
    new Unreachable(`container ${name} (${engine}) ${how}`, { hint, mayPass });
  switch (state) {
    case "paused":
      return no("is paused, so nothing runs in it", `Let it go on with \`${engine} unpause ${name}\`.`);
    case "restarting":
      return no("is restarting", `If it stays so, it ends at once each time: see \`${engine} logs ${name}\`.`, true);
    case "removing":
      return no("is being removed", "Make a new one, or name another.");
    case "stopping":
      return no("is being stopped", start);
    case "dead":
      return no(
        "is dead: it could only be removed in part",
        `Remove it with \`${engine} rm -f ${name}\` and make a new one.`,
      );
    case "created":
    case "configured":
    case "initialized":
      return no("was made, but never started", start);
    default:
      return no(`does not run (its state is ${JSON.stringify(state)})`, start);
  }
}

async function notFound(name: string, looks: readonly Look[]): Promise<Unreachable> {
  const unknown = looks.filter((each) => each.is === "unknown");
  const troubled = unknown.filter(({ installed }) => installed);
  const [trouble] = troubled;
  const asked = looks.filter((each) => each.is === "absent").map((each) => each.engine);
  if (asked.length === 0 && trouble !== undefined) {
    const problems = troubled.map((each) => each.trouble.problem).join("; ");
    const { hint, mayPass } = trouble.trouble;
    return new Unreachable(`container ${name} cannot be looked for: ${problems}`, { hint, mayPass });
  }
  if (asked.length === 0) {
    const which = unknown.map((each) => each.engine);
    const missing =
      which.length === 1 ? `${which[0]} is not installed here` : "neither docker nor podman is installed here";
    return new Unreachable(`${missing}, so there is no way into container ${name}`, {
      hint: `Install ${which.join(" or ")}, or put it on the PATH.`,
      mayPass: false,
    });
  }
  const doubts = troubled.map((each) => ` (${each.trouble.problem})`).join("");
  const lists = await Promise.all(asked.map(async (engine) => ({ engine, names: await closestRunning(engine, name) })));
  const running = lists
    .filter(({ names }) => names.length > 0)
    .map(({ engine, names }) => `${names.join(", ")} (${engine})`);
  return new Unreachable(`no container of ${asked.join(" or ")} is named ${name}${doubts}`, {
    hint:
      running.length === 0 ? "None is running. Start one, and give its name or id." : `Running: ${running.join("; ")}.`,
    mayPass: false,
  });
}

/** Names of running containers, the closest first. */
async function closestRunning(engine: Engine, name: string): Promise<readonly string[]> {
  const ran = await runEngine(engine, ["ps", "--format", "{{.Names}}"]);
  if (ran.is !== "ended" || ran.code !== 0) return [];
  const names = ran.stdout
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const away = (other: string) => distance(name.slice(0, 100).toLowerCase(), other.slice(0, 100).toLowerCase());
  return names.sort((one, other) => away(one) - away(other)).slice(0, MOST_NAMES);
}
