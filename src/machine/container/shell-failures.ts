import { Unreachable } from "../../core/contract/failure.ts";
import { clip } from "../../core/util/text.ts";
import { pause } from "../../core/util/abort.ts";
import type { NotReady } from "../shell/login-shell.ts";
import { type LineEnd, howOf, unreachable } from "../shell/transport.ts";
import type { Engine } from "./engine.ts";
import { saidBy } from "./engine.ts";
import { type Look, look, notRunning } from "./find.ts";

/** The pause between two looks at a container whose state may change. Milliseconds. */
const LOOK_MS = 700;

/**
 * How often in a row a state is seen before it counts: "running", since a container whose shell was killed may be
 * stopping; the states that are normally followed by another state; any other state.
 */
const RUNNING_LOOKS = 4;
const PASSING_LOOKS = 8;
const OTHER_LOOKS = 2;
const PASSING: ReadonlySet<string> = new Set(["removing", "stopping", "restarting"]);

/** The exit code of a shell that was killed. */
const KILLED = 137;

/** Explains why an open shell in a container has ended. Never rejects. */
export async function whyLost(engine: Engine, name: string, end: LineEnd): Promise<Unreachable> {
  // Killed in the container, as happens when it stops, or from here after the first shell ended.
  const isDoubtful = end.code === KILLED || end.signal === "SIGKILL";
  const known = (await whyUnusable(engine, name, isDoubtful)) ?? refusalIn(name, end.message);
  const words = end.message === "" ? "" : `: ${clip(saidBy(end.message), 300)}`;
  const hint = "The container is running: the next call opens a new shell.";
  return (
    known ??
    new Unreachable(`the shell in container ${name} has ended (${howOf(end)})${words}`, { hint, mayPass: true })
  );
}

/** Explains why the first shell was never ready. Never rejects. */
export async function whyNotOpened(engine: Engine, name: string, failed: NotReady): Promise<Unreachable> {
  const message = failed.is === "ended" ? failed.end.message : failed.message;
  const known = (await whyUnusable(engine, name)) ?? refusalIn(name, message);
  if (known !== undefined) return known;
  const words = message === "" ? "" : ` It reported: ${saidBy(message)}`;
  const how = failed.is === "hung" ? "does not finish" : `ended the shell (${howOf(failed.end)})`;
  if (failed.began)
    return unreachable(
      `the login profile in container ${name} ${how}.${words}`,
      "In /etc/profile and the user's .profile, run interactive set-up only in interactive shells.",
    );
  const what = failed.is === "hung" ? "does not start anything" : `ended ${howOf(failed.end)}`;
  return unreachable(
    `no shell could be started in container ${name}: ${engine} exec ${what}.${words}`,
    `Run \`${engine} exec ${name} /bin/sh -c true\` to see the error.`,
  );
}

/** Explains what is wrong with the container or its engine. With `isDoubtful`, the container must also keep running. */
async function whyUnusable(engine: Engine, name: string, isDoubtful = false): Promise<Unreachable | undefined> {
  let now = await look(engine, name);
  if (now.is === "there" && now.state === "running" && !isDoubtful) return undefined;
  now = await settled(engine, name, now);
  if (now.is === "there") return now.state === "running" ? undefined : notRunning(engine, name, now.state);
  if (now.is === "absent") {
    return unreachable(`container ${name} (${engine}) was removed`, "Create it again, or name another.");
  }
  const { problem, hint, mayPass } = now.trouble;
  return new Unreachable(`container ${name} cannot be used: ${problem}`, { hint, mayPass });
}

/** Resolves to the state of the container when the state no longer changes. */
async function settled(engine: Engine, name: string, first: Look): Promise<Look> {
  let seen = { state: stateOf(first), times: 1 };
  for (let looks = 1; ; looks++) {
    await pause(LOOK_MS);
    const now = await look(engine, name);
    const state = stateOf(now);
    seen = { state, times: state === seen.state ? seen.times + 1 : 1 };
    const enough = PASSING.has(state) ? PASSING_LOOKS : state === "running" ? RUNNING_LOOKS : OTHER_LOOKS;
    if (seen.times >= enough || looks >= PASSING_LOOKS) return now;
  }
}

function stateOf(seen: Look): string {
  return seen.is === "there" ? seen.state : seen.is;
}

/** Explains why no shell starts in a running container, from messages of docker, podman, runc and crun. */
function refusalIn(name: string, message: string): Unreachable | undefined {
  if (/\/bin\/sh[`"']?:? .*(?:no such file|not found)|executable file [`"']?\/bin\/sh[`"']? not found/i.test(message))
    return unreachable(
      `container ${name} has no /bin/sh, which is needed to work in it`,
      "Use an image that has a shell (a -debug image, alpine, debian), or work outside the container.",
    );
  return undefined;
}
