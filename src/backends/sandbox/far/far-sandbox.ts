import type { Backend, Command, Exit, OutputLog, Process } from "../../../contract/backend.ts";
import type { Refusal, SandboxAccess, SandboxState } from "../../../contract/containment.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { type Before, holdings } from "../../../git/hold-back.ts";
import { bytesOf, readablePath } from "../../../util/byte-paths.ts";
import { messageOf } from "../../../util/errors.ts";
import { randomName } from "../../../util/identifier.ts";
import { absolutePath } from "../../../util/paths.ts";
import { quoteWord, quoteWords } from "../../../util/quote.ts";
import { type RemoteHost, remoteHostOf } from "../../shell/backend.ts";
import { StaleView } from "../../shell/command-script.ts";
import PATHS from "../../shell/path.sh";
import { SECRETS_OF_HOME, SECRETS_OF_SYSTEM } from "../../../provenance/keys.ts";
import { type FactsOptions, type First, factFinder, firstOn } from "../mounts/facts.ts";
import { type Mount, hiddenIn, isHidden, mountsOf } from "../mounts/mounts.ts";
import type { SandboxDisk } from "../mounts/sandbox-disk.ts";
import { NO_RETRIES, cacheVariables } from "../session/caches.ts";
import { ALL_FEATURES, DESCRIPTORS, type Features, bubblewrapWords } from "../wrap/bubblewrap.ts";
import { missingOf, probe } from "../wrap/probe.ts";
import { seccompFilter } from "../wrap/seccomp/filter.ts";
import { type Machine, NOT_INSTALLED, explained, impossible } from "../wrap/unavailable.ts";
import { type FarDisk, type Look, farDisk, unchanged } from "./far-disk.ts";
import LOOK from "./look.sh";
import PREPARE from "./prepare.sh";

export interface FarSandboxOptions {
  /** True: no command runs without a working sandbox. */
  readonly required: boolean;
  /** Folders that may be written besides the working directory, and paths that are hidden; absolute or with ~. */
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly isProtected: (path: string) => boolean;
}

/** Handrail's own folder on the remote system, which file tools cannot reach and commands do not see. */
const OWN = ".local/state/handrail";

/** The descriptor of the arguments that are the same for several commands; `DESCRIPTORS.args` has those of one. */
const VIEW = 6;

/** How often a command is prepared again because files changed meanwhile. */
const MOST_ATTEMPTS = 5;

/** How often what a command left is looked for, since what is put aside may uncover more. */
const MOST_HOLDS = 3;

/** How many views are kept on the remote system. */
const MOST_VIEWS = 20;

/** The names of `process.arch` by uname(1). */
const ARCHITECTURES: { readonly [machine: string]: string | undefined } = { x86_64: "x64", aarch64: "arm64" };

/**
 * Opens the files of a command and executes bwrap: the view, the command's arguments, the filter, the status report.
 */
const OPENING =
  `exec ${VIEW}<"$1" ${DESCRIPTORS.args}<"$2" ${DESCRIPTORS.filter}<"$3" ${DESCRIPTORS.status}>"$4"; ulimit -c 0; ` +
  // bwrap would end with TERM at once, and everything in it: a command may clean up first.
  `[ -z "$5" ] || trap "" "$5"; p=$6; shift 6; exec "$p" --args ${VIEW} --args ${DESCRIPTORS.args} -- "$@"`;

/**
 * Runs the commands of a backend behind a shell in bubblewrap on its host, with the rules of the local sandbox. Nothing
 * has a network there. It is tried when the first command is judged. What a command is shown is looked up once and
 * kept; the script of each command looks again, and starts nothing if anything that matters has changed.
 *
 * @returns the backend itself if no shell is behind it
 */
export function farSandbox(inner: Backend, options: FarSandboxOptions): Backend {
  const host = remoteHostOf(inner);
  if (host === undefined) return inner;
  const { required, hidden } = options;
  let ready: Promise<Ready> | undefined;
  const prepared = () =>
    (ready ??= prepare(inner, host, options).catch((error: unknown) => {
      ready = undefined; // the connection may be lost
      return broken(host, `It could not be tried: ${messageOf(error)}.`, "Try again.");
    }));
  const hiddenPaths = [...SECRETS_OF_HOME, ...SECRETS_OF_SYSTEM, "~/.config", ...hidden];
  return {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.isFar === true && { isFar: true }),
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.access !== undefined && { access: inner.access }),
    ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
    files: inner.files,
    async spawn(command) {
      const { within = {} } = command;
      if (within === "none") return inner.spawn(command);
      const state = await prepared();
      if (state.works) return state.spawn(command, within);
      if (!required) return inner.spawn(command);
      const why = `the sandbox is required but does not work there. ${state.reason}`;
      throw new ToolFailure(`cannot start ${command.argv[0]}: ${why}`, { hint: state.fix });
    },
    search: inner.search,
    find: inner.find,
    sandbox: {
      required,
      lacks: { place: host.place, what: ["network", "detached"] },
      hidden: hiddenPaths.map((path) => absolutePath(path, inner)).filter((path) => path !== inner.workDir),
      temporary: [],
      isTemporary: () => false,
      async state() {
        const state = await prepared();
        return state.works ? { works: true, missing: state.missing } : state;
      },
    },
    ...(inner.detached !== undefined && { detached: inner.detached }),
    notices: () => inner.notices?.() ?? [],
    async close() {
      const state = await ready;
      if (state?.works === true) await state.close();
      await inner.close();
    },
  };
}

type Broken = Extract<SandboxState, { works: false }>;

type Ready =
  | {
      readonly works: true;
      readonly missing: readonly string[];
      spawn(command: Command, access: SandboxAccess): Promise<Process>;
      /** Removes the session's files. Never rejects. */
      close(): Promise<void>;
    }
  | Broken;

/** Finds out what works on the host, and creates what all commands share. Rejects when it cannot be reached. */
async function prepare(inner: Backend, host: RemoteHost, options: FarSandboxOptions): Promise<Ready> {
  const { facts } = host;
  const own = `${facts.home === "/" ? "" : facts.home}/${OWN}`;
  const id = randomName(12);
  const { out } = await host.ask(`set -- ${quoteWords([`${own}/sandbox`, `${own}/sandbox/${id}`])}\n${PREPARE}`);
  const fields = out.toString("utf8").split("\0");
  const has = (name: string) => fields.some((each, index) => index % 2 === 0 && each === name);
  const field = (name: string) =>
    has(name) ? fields[fields.findIndex((each, index) => index % 2 === 0 && each === name) + 1] : undefined;
  const machine: Machine = {
    platform: facts.system === "Linux" ? "linux" : facts.system,
    isContainer: has("container"),
    setting: (name) => (has(name) ? (field(name) ?? "") : ""),
  };
  const problem = impossible(machine, inner.workDir);
  if (problem !== undefined) return broken(host, problem.reason, problem.fix);
  const missing = ["bwrap", "find", "cmp"].filter((program) => !has(program));
  if (missing.includes("bwrap")) return broken(host, NOT_INSTALLED.reason, NOT_INSTALLED.fix);
  if (missing.length > 0)
    return broken(host, `It has no ${missing.join(" and no ")}.`, "Install findutils and diffutils.");
  const folder = has("made") ? field("made") : undefined;
  if (folder === undefined)
    return broken(host, `The folder ${own}/sandbox could not be created.`, "Make the home writable.");
  const separator = `handrail ${randomName(24)}`;
  const filter = seccompFilter(ARCHITECTURES[facts.machine] ?? facts.machine) ?? new Uint8Array();
  const code = Buffer.from(`${PATHS}\n${LOOK}\nhr_end_of_answer=${quoteWord(separator)}\n`);
  await host.askAside(
    // Taken at once: some programs read further than they take.
    `umask 077; cd ${quoteWord(folder)} && hr_file_take ${code.length + filter.length} >both && ` +
      `head -c ${code.length} both >look && tail -c +${code.length + 1} both >filter; rm -f both; cd /`,
    { input: Buffer.concat([code, filter]) },
  );
  const { isProtected } = options;
  const disk = farDisk({ host, own, workDir: inner.workDir, folder, separator, isProtected });
  const views = viewsOf({ inner, host, disk, own, folder, options });
  const program = field("bwrap") ?? "bwrap";
  const close = async () => void (await host.ask(`rm -rf ${quoteWord(folder)}`).catch(() => undefined));
  const trial = await views.mounts({});
  const probed = await probe(
    { spawn: (command) => host.start(command) },
    (features) => trialWords(program, folder, bubblewrapWords(features, trial(features), contained(inner.workDir))),
    { ...ALL_FEATURES, filter: filter.length > 0 },
  );
  if (!probed.works) {
    await close();
    const { reason, fix } = explained(probed.output, machine);
    return broken(host, reason, fix);
  }
  const running: Running = {
    ...{ inner, host, program, env: field("env"), folder, views, features: probed.features },
    left: [],
  };
  return {
    works: true,
    missing: [
      ...missingOf(probed.features),
      "Commands have no network: those that need it run outside the sandbox, after approval.",
      "Processes and memory are not limited.",
    ],
    spawn: (command, access) => spawnContained(command, access, running),
    close,
  };
}

function broken({ place }: Pick<RemoteHost, "place">, reason: string, fix: string): Broken {
  return { works: false, reason: `On ${place}: ${reason}`, fix };
}

const contained = (cwd: string) => ({ cwd, env: {}, isDetached: false, hasOwnNetwork: true });

function trialWords(program: string, folder: string, words: readonly string[]): readonly string[] {
  const open = `exec ${DESCRIPTORS.filter}<"$1" ${DESCRIPTORS.status}>/dev/null; shift; exec "$@"`;
  return ["/bin/sh", "-c", open, "sh", `${folder}/filter`, program, ...words, "--", "/bin/sh", "-c", ":"];
}

/** What a command is shown: looked up once, used until a look finds that something has changed. */
interface View {
  readonly look: Look;
  readonly mounts: readonly Mount[];
  readonly before: Before;
  /** The remote file with bwrap's arguments. */
  readonly file: string;
}

interface Views {
  mounts(access: SandboxAccess): Promise<(features: Features) => readonly Mount[]>;
  view(access: SandboxAccess, features: Features): Promise<View>;
  /** Forgets what was looked up, if it is still this. */
  forget(look: Look): void;
  /** Puts aside what a command left in repositories. Resolves to the paths. */
  holdBack(before: Before): Promise<readonly string[]>;
}

interface ViewsOptions {
  readonly inner: Backend;
  readonly host: RemoteHost;
  readonly disk: FarDisk;
  readonly own: string;
  readonly folder: string;
  readonly options: FarSandboxOptions;
}

function viewsOf({ inner, host, disk, own, folder, options }: ViewsOptions): Views {
  const { workDir, home } = inner;
  let first: First | undefined;
  let look: Look | undefined;
  const views = new Map<string, Promise<View>>();
  let count = 0;

  const given = (on: SandboxDisk): FactsOptions => ({
    ...{ workDir, home, writable: options.writable, isProtected: options.isProtected, disk: on },
    hidden: [own, ...options.hidden],
    caches: `${folder}/var-tmp`,
    temporary: [
      { at: "/tmp", from: `${folder}/tmp` },
      { at: "/var/tmp", from: `${folder}/var-tmp` },
    ].filter(({ at }) => on.isFolder(at) && on.realOf(at) === at),
  });
  /** The facts are pure but for what they note of the beginning, which counts only when all answers are there. */
  const factsOn = (on: SandboxDisk, access: SandboxAccess) => {
    const was = first ?? firstOn(on, given(on));
    const noted: First = { ...was, old: new Map(was.old) };
    const found = factFinder({ ...given(on), first: noted })(access, { reopened: [], given: [] });
    const before = found.before();
    const gitFolders = found.gitFolders();
    return { facts: found.facts, before, noted, left: Array.from(holdings(on, before, gitFolders)) };
  };
  const lookUp = async (access: SandboxAccess) => {
    const asked = await disk.ask((on) => factsOn(on, access), look);
    ({ look } = asked);
    first = asked.value.noted;
    return asked;
  };

  const make = async (access: SandboxAccess, features: Features): Promise<View> => {
    const { value, look: seen } = await lookUp(access);
    const mounts = mountsOf({ ...value.facts, ownProcesses: features.processes });
    const all = bubblewrapWords(features, mounts, contained(workDir));
    const words = all.toSpliced(all.indexOf("--chdir"), 2); // each command names its own folder
    const input = Buffer.concat(words.map((word) => Buffer.concat([Buffer.from(bytesOf(word)), Buffer.from("\0")])));
    const file = `${folder}/view-${++count}`;
    const old = quoteWord(`${folder}/view-${count - MOST_VIEWS}`);
    await host.askAside(`umask 077\nrm -f ${old}\nhr_file_take ${input.length} >${quoteWord(file)}`, { input });
    return { look: seen, mounts, before: value.before, file };
  };

  return {
    async mounts(access) {
      const { value } = await lookUp(access);
      return (features) => mountsOf({ ...value.facts, sockets: [], ownProcesses: features.processes });
    },
    async view(access, features) {
      const { write = [], read = [], readOnly = false, git = false } = access;
      const key = JSON.stringify([write, read, readOnly, git]);
      const known = views.get(key);
      if (known !== undefined && (await known).look === look) return known;
      const made = make(access, features);
      views.set(key, made);
      made.catch(() => views.delete(key));
      return made;
    },
    forget(old) {
      for (const [key, view] of views)
        void view.then((made) => made.look === old && views.get(key) === view && views.delete(key)).catch(() => {});
      if (look === old) look = undefined;
    },
    async holdBack(before) {
      const changed: string[] = [];
      for (let round = 0; round < MOST_HOLDS; round++) {
        const { value, look: seen } = await disk.ask((on) => {
          const was = first ?? firstOn(on, given(on));
          const found = factFinder({ ...given(on), first: { ...was, old: new Map(was.old) } })({}, NO_EXTRAS);
          return Array.from(holdings(on, before, found.gitFolders()));
        });
        const fresh = value.filter(({ path }) => !changed.includes(path));
        if (fresh.length === 0) {
          look = seen; // of now: the next command need not look again
          break;
        }
        for (const { path, content } of fresh) {
          changed.push(path);
          if (content !== undefined) {
            const done = await inner.files.write(path, content, { real: true }).catch(() => undefined);
            if (done !== undefined) continue;
          }
          const input = Buffer.from(bytesOf(path));
          await host.askAside(`hr_aside=$(hr_file_take ${input.length}; printf x)\n${ASIDE}`, { input });
        }
      }
      return changed;
    },
  };
}

const NO_EXTRAS = { reopened: [], given: [] };

/** Renames the file or folder hr_aside, or removes a link, in its real folder. */
const ASIDE = `(
hr_aside=\${hr_aside%x} hr_up=\${hr_aside%/*} hr_name=\${hr_aside##*/}
cd -P "\${hr_up:-/}" 2>/dev/null && [ "$PWD" = "\${hr_up:-/}" ] || exit 0
chmod u+wx . 2>/dev/null
if [ -L "./$hr_name" ] || { [ ! -f "./$hr_name" ] && [ ! -d "./$hr_name" ]; }; then rm -f "./$hr_name"; exit 0; fi
hr_to=$hr_name.held-back hr_count=1
while [ -e "./$hr_to" ] || [ -L "./$hr_to" ]; do hr_count=$((hr_count + 1)) hr_to=$hr_name.held-back-$hr_count; done
mv "./$hr_name" "./$hr_to"
)`;

interface Running {
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
}

/** Starts a command in its own sandbox. @throws ToolFailure when it cannot be started. */
async function spawnContained(command: Command, access: SandboxAccess, running: Running): Promise<Process> {
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
          before: `${same} && ( umask 077; printf '%s\\0' ${quoteWords(own)} >${quoteWord(`${name}.args`)} )`,
          after: `
case $(cat ${status} 2>/dev/null; rm -f ${quoteWords([`${name}.args`, `${name}.status`])}) in
*'"exit-code"'*) ${same} && hr_tell contained same || hr_tell contained changed ;;
*) hr_tell contained unset ;;
esac
`,
          told: (words) => (report = words),
        },
      );
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
    let appeared: readonly string[] = [];
    if (report() !== "same") {
      views.forget(view.look);
      appeared = await views.holdBack(view.before).catch(() => {
        left.push(view.before);
        return [];
      });
    }
    const isUnset = report() === "unset" && outer.how === "exited" && /^bwrap: /m.test(output);
    const why = output.trimEnd().split("\n").at(-1) ?? "";
    const exit: Exit = isUnset
      ? { how: "lost", reason: `the sandbox could not be set up, so nothing ran: ${why}` }
      : outer;
    const { refusalsIn } = await import("../wrap/refusals.ts");
    const found = refusalsIn({ exit, output, hidden: hiddenIn(view.mounts), cwd, home: inner.home });
    const held = Array.from(new Set(appeared), (path): Refusal => ({ kind: "held-back", path: readablePath(path) }));
    return { exit, refusals: [...held, ...found] };
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
