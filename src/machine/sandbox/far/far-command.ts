import type { Backend, Command, Exit, OutputLog, Process } from "../../../core/contract/backend.ts";
import type { Refusal, SandboxAccess } from "../../../core/contract/containment.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import type { Before } from "../../git/hold-back.ts";
import { randomName } from "../../../core/util/identifier.ts";
import { quoteWord, quoteWords } from "../../../core/util/quote.ts";
import type { RemoteHost } from "../../shell/backend.ts";
import { StaleView } from "../../shell/command-script.ts";
import { hiddenIn, isHidden } from "../mounts/mounts.ts";
import { NO_RETRIES, cacheVariables } from "../session/caches.ts";
import { DESCRIPTORS, type Features } from "../wrap/bubblewrap.ts";
import { unchanged } from "./far-disk.ts";
import type { View, Views } from "./far-views.ts";

/** The descriptor of the arguments that are the same for several commands; `DESCRIPTORS.args` has those of one. */
const VIEW = 6;

/** How often a command is prepared again because files changed meanwhile. */
const MOST_ATTEMPTS = 10;

/** After how many commands in a row that bwrap could not start the sandbox counts as one that does not work. */
const MOST_UNSET = 3;

/**
 * Opens the files of a command and executes bwrap: the view, the command's arguments, the filter, the status report.
 */
const OPENING =
  `exec ${VIEW}<"$1" ${DESCRIPTORS.args}<"$2" ${DESCRIPTORS.filter}<"$3" ${DESCRIPTORS.status}>"$4"; ulimit -c 0; ` +
  // bwrap would end with TERM at once, and everything in it: a command may clean up first.
  `[ -z "$5" ] || trap "" "$5"; p=$6; shift 6; exec "$p" --args ${VIEW} --args ${DESCRIPTORS.args} -- "$@"`;

export interface Running {
  readonly inner: Backend;
  readonly host: RemoteHost;
  /** bwrap. */
  readonly program: string;
  /** env(1), if it can undo that a signal is ignored. */
  readonly env: string | undefined;
  readonly folder: string;
  readonly views: Views;
  readonly features: Features;
  /** The repositories before commands that ended without a look at what they left: the connection was lost. */
  readonly left: Before[];
  /** How many commands in a row could not start since bwrap failed. After some, `failed` is called. */
  unset: number;
  /** The sandbox does not work there. `output`: what bwrap printed. */
  failed(output: string): void;
}

/** Starts a command in its own sandbox. @throws ToolFailure when it cannot be started. */
export async function spawnContained(command: Command, access: SandboxAccess, running: Running): Promise<Process> {
  const { inner, host, program, env: reset, folder, views, features, left } = running;
  const { argv, lifetime = "call", env = {}, cwd: wanted = inner.workDir, isRealCwd = false } = command;
  if ((access.network ?? []).length > 0)
    throw new ToolFailure(`cannot start ${argv[0]}: the sandbox on ${host.place} has no network`, { hint: OUTSIDE });
  if (lifetime === "detached")
    throw new ToolFailure(`cannot start ${argv[0]}: no detached command runs in the sandbox on ${host.place}`, {
      hint: OUTSIDE,
    });
  for (const word of [...argv, ...Object.entries(env).flat()])
    if (word.includes("\0"))
      throw new ToolFailure(`cannot start ${argv[0]}: one of its arguments or variables has a NUL byte`);
  const cwd = wanted === inner.workDir || isRealCwd ? wanted : await inner.files.realPath(wanted);
  for (const before of left.splice(0)) await views.holdBack(before);
  for (let attempt = 1; ; attempt++) {
    const view = await views.view(access, features);
    if (isHidden(view.mounts, cwd))
      throw new ToolFailure(`cannot start ${argv[0]}: the sandbox hides the folder ${cwd}`);
    const name = `${folder}/${randomName(12)}`;
    const variables = { ...cacheVariables("/var/tmp/cache"), ...NO_RETRIES, TMPDIR: "/tmp", ...env };
    const own = ["--chdir", cwd, ...Object.entries(variables).flatMap(([key, value]) => settingOf(key, value))];
    // A program whose name has "=" would be taken for a variable.
    const runner = reset === undefined || argv[0].includes("=") ? undefined : [reset, "--default-signal=TERM", "--"];
    const same = unchanged(folder, view.look, host.facts.stat);
    const status = quoteWord(`${name}.status`);
    let report: string | undefined;
    try {
      const child = await host.start(
        {
          ...command,
          argv: [
            ...(["/bin/sh", "-c", OPENING, "sh"] as const),
            ...[view.file, `${name}.args`, `${folder}/filter`, `${name}.status`, runner === undefined ? "" : "TERM"],
            ...[program, ...(runner ?? []), ...argv],
          ],
          env: {},
        },
        {
          program: argv[0],
          before: `${same} && ${view.writing()}( umask 077; printf '%s\\0' ${quoteWords(own)} >${quoteWord(`${name}.args`)} )`,
          after: `
case $(cat ${status} 2>/dev/null; rm -f ${quoteWords([`${name}.args`, `${name}.status`])}) in
*'"exit-code"'*) ${same} && hr_tell contained same || hr_tell contained changed ;;
*) hr_tell contained unset ;;
esac
`,
          told: (words) => (report = words),
        },
      );
      view.sent();
      return watched(child, { view, cwd, running, report: () => report });
    } catch (error) {
      if (!(error instanceof StaleView)) throw error;
      views.forget(view.look);
      if (attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

const OUTSIDE = "Run it outside the sandbox: sandbox: false. A person is asked.";

/** bwrap's words for a variable; none for a name that no variable can have. */
function settingOf(name: string, value: string): readonly string[] {
  return name === "" || name.includes("=") ? [] : ["--setenv", name, value];
}

interface Watched {
  readonly view: View;
  readonly cwd: string;
  readonly running: Running;
  /** What the command's script has reported. */
  readonly report: () => string | undefined;
}

/** Returns the process as it would be without a sandbox, with the refusals added. */
function watched(child: Process, { view, cwd, running, report }: Watched): Process {
  const { views, inner, left } = running;
  const ended = (async (): Promise<{ exit: Exit; refusals: readonly Refusal[] }> => {
    const outer = await child.exit;
    const output = [await endOf(child.output), await endOf(child.errors)].filter((text) => text !== "").join("\n");
    let appeared: readonly Refusal[] = [];
    if (report() !== "same") {
      views.forget(view.look);
      appeared = await views.holdBack(view.before).catch(() => {
        left.push(view.before);
        return [];
      });
    }
    const isUnset = report() === "unset" && outer.how === "exited" && /^bwrap: /m.test(output);
    running.unset = isUnset ? running.unset + 1 : 0;
    if (running.unset === MOST_UNSET) running.failed(output);
    const why = output.trimEnd().split("\n").at(-1) ?? "";
    const exit: Exit = isUnset
      ? { how: "lost", reason: `the sandbox could not be set up, so nothing ran: ${why}` }
      : outer;
    const { refusalsIn } = await import("../wrap/refusals.ts");
    const found = refusalsIn({ exit, output, hidden: hiddenIn(view.mounts), cwd, home: inner.home });
    return { exit, refusals: [...appeared, ...found] };
  })();
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    exit: ended.then(
      ({ exit }) => exit,
      () => child.exit,
    ),
    refusals: ended.then(
      ({ refusals }) => refusals,
      () => [],
    ),
    write: (text) => child.write(text),
    endInput: () => child.endInput(),
    async kill() {
      await child.kill();
      await ended.catch(() => undefined);
    },
  };
}

/** Bytes at the end of the output that are searched for signs of refusals: 64 KiB. */
const LOOKED_THROUGH = 65_536;

async function endOf(log: OutputLog | undefined): Promise<string> {
  const bytes = await log?.tail(LOOKED_THROUGH).catch(() => undefined);
  return bytes === undefined ? "" : Buffer.from(bytes).toString();
}
