import { Unreachable } from "../../contract/failure.ts";
import { clip } from "../../util/text.ts";
import { pause } from "../../util/abort.ts";
import type { Readiness } from "../remote/login-shell.ts";
import type { LineEnd } from "../remote/transport.ts";
import type { Engine } from "./engine.ts";
import { saidBy } from "./engine.ts";
import { type Look, look, notRunning } from "./find.ts";

type NotReady = Exclude<Readiness, { readonly is: "ready" }>;

/**
 * A container that restarts is down for a moment, and one that is being stopped or removed counts as running, and then as ended, for one; on a busy machine each takes longer.
 * So a state is believed when it is still the same after so long. Milliseconds.
 */
const SETTLED_MS = 700;

/** States that are followed by another; they are believed, too, when they have not passed after so long. Milliseconds. */
const PASSING: ReadonlySet<string> = new Set(["removing", "stopping", "restarting"]);
const LONGEST_PASSING_MS = 5_000;

/** One whose shell was killed is believed to run after so long. Milliseconds. */
const RUNS_ON_MS = 2_000;

/** The exit code of a shell that was killed. */
const KILLED = 137;

/** Why a shell in a container that was open has ended. Never rejects. */
export async function whyLost(engine: Engine, name: string, end: LineEnd): Promise<Unreachable> {
  // Killed there, as all are when their container stops; or from here, since the first shell had ended.
  const isDoubtful = end.code === KILLED || end.signal === "SIGKILL";
  return (await whyUnusable(engine, name, isDoubtful)) ?? refusalIn(name, end.said) ?? ended(name, end);
}

/** Why the first shell was never ready. Never rejects. */
export async function whyNotOpened(engine: Engine, name: string, failed: NotReady): Promise<Unreachable> {
  const said = failed.is === "ended" ? failed.end.said : failed.said;
  const known = (await whyUnusable(engine, name)) ?? refusalIn(name, said);
  if (known !== undefined) return known;
  const words = said === "" ? "" : ` It said: ${saidBy(said)}`;
  const no = (message: string, hint: string) => new Unreachable(message, { hint, mayPass: false });
  const profile = "In /etc/profile and the .profile of its user let what is for people run only in interactive shells.";
  if (failed.began && failed.is === "hung")
    return no(`the profile of a login in container ${name} does not come to its end.${words}`, profile);
  if (failed.is === "hung")
    return no(
      `${engine} exec begins nothing in container ${name}.${words}`,
      `See what \`${engine} exec ${name} true\` waits for.`,
    );
  if (failed.began)
    return no(`the profile of a login in container ${name} ended the shell (${howOf(failed.end)}).${words}`, profile);
  return no(
    `no shell could be started in container ${name}: ${engine} exec ended ${howOf(failed.end)}.${words}`,
    `See what \`${engine} exec ${name} /bin/sh -c true\` says.`,
  );
}

/** What is wrong with the container itself, or its engine. With `isDoubtful` it is not enough that the container runs now. */
async function whyUnusable(engine: Engine, name: string, isDoubtful = false): Promise<Unreachable | undefined> {
  let now = await look(engine, name);
  if (now.is === "there" && now.state === "running" && !isDoubtful) return undefined;
  now = await settled(engine, name, now);
  if (now.is === "there") return now.state === "running" ? undefined : notRunning(engine, name, now.state);
  if (now.is === "absent") {
    return new Unreachable(`container ${name} (${engine}) was removed`, {
      hint: "Make it again, or name another.",
      mayPass: false,
    });
  }
  const { problem, hint, mayPass } = now.trouble;
  return new Unreachable(`there is no way into container ${name}: ${problem}`, { hint, mayPass });
}

/** What an engine says of the container when that no longer changes. */
async function settled(engine: Engine, name: string, first: Look): Promise<Look> {
  const beganMs = performance.now();
  let before = first;
  for (;;) {
    await pause(SETTLED_MS);
    const now = await look(engine, name);
    const state = stateOf(now);
    const waitedMs = performance.now() - beganMs;
    const longEnough = PASSING.has(state) ? LONGEST_PASSING_MS : state === "running" ? RUNS_ON_MS : SETTLED_MS;
    if (waitedMs >= longEnough && (state === stateOf(before) || waitedMs > LONGEST_PASSING_MS)) return now;
    before = now;
  }
}

function stateOf(seen: Look): string {
  return seen.is === "there" ? seen.state : seen.is;
}

/** Why a container that runs lets no shell begin, in the words of docker, podman, runc and crun. */
function refusalIn(name: string, said: string): Unreachable | undefined {
  if (/(?:unable to find user|no matching entries in passwd|unknown user|user: .* not found)/i.test(said)) {
    return new Unreachable(`container ${name} does not know the user: ${saidBy(said)}`, {
      hint: "Name a user of the container, or leave the user out.",
      mayPass: false,
    });
  }
  if (/\/bin\/sh[`"']?:? .*(?:no such file|not found)|executable file [`"']?\/bin\/sh[`"']? not found/i.test(said)) {
    return new Unreachable(`there is no /bin/sh in container ${name}, by which everything is done there`, {
      hint: "Use an image that has a shell (a -debug image, alpine, debian), or work from outside of the container.",
      mayPass: false,
    });
  }
  return undefined;
}

function ended(name: string, end: LineEnd): Unreachable {
  const words = end.said === "" ? "" : `: ${clip(saidBy(end.said), 300)}`;
  return new Unreachable(`the shell in container ${name} has ended (${howOf(end)})${words}`, {
    hint: "The container runs: a new one is opened when something is to be done there.",
    mayPass: true,
  });
}

function howOf({ code, signal }: LineEnd): string {
  return signal === null ? `with status ${code}` : `by ${signal}`;
}
