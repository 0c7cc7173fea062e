import { join } from "node:path";
import { DISK, realOf } from "../git/disk.ts";
import { linkedWorktree } from "../git/folders.ts";
import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { FindQuery, SearchQuery } from "../../core/contract/search.ts";
import { messageOf } from "../../core/util/errors.ts";
import { absolutePath, isInside } from "../../core/util/paths.ts";
import { ripgrepPath } from "../local/ripgrep.ts";
import { createSearching } from "../search/searching.ts";
import { type Homes, accountHome, hiddenPaths } from "./mounts/hidden.ts";
import { systemProgram } from "./programs.ts";
import { searchViewWords } from "./wrap/search-view.ts";
import { OUTPUTS_INSIDE, type SandboxOptions } from "./options.ts";
import type { Ready } from "./prepare.ts";
import { sessionFiles } from "./session/session-files.ts";
import { temporaryFolders } from "./session/temporary.ts";

/** How long a sorted search may take before a faster one replaces it, in milliseconds. bubblewrap takes about 15. */
const SEARCH_PATIENCE_MS = 50;

/**
 * Runs the commands of this machine's backend in bubblewrap: the system is read-only, secrets are hidden, there is no
 * network, and each command has its own processes. File tools and helpers of Handrail are not contained, but see the
 * same temporary folders. The first command, `state()` or access to a temporary file loads the sandbox and tests it.
 */
export async function sandbox(inner: Backend, options: SandboxOptions): Promise<Backend> {
  const { required = false, folder, writable = [], hidden = [] } = options;
  const account = options.accountHome ?? accountHome();
  const base: Homes = {
    workDir: inner.workDir,
    home: realOf(inner.home),
    ...(account !== undefined && { accountHome: realOf(account) }),
  };
  const hiding = [...hidden, folder];
  let ready: Promise<Ready> | undefined;
  let works = false;
  let hiddenNow: readonly string[] | undefined;
  let closed = false;
  const prepared = () => {
    ready ??= import("./prepare.ts")
      .then(({ prepare }) => prepare(inner, { ...options, hidden: hiding, writable }, base))
      .catch((error: unknown) => notLoaded(error));
    void ready.then((state) => (works = state.works));
    return ready;
  };

  const temporary = temporaryFolders();
  const { files, isTemporary, seenAt } = sessionFiles(inner.files, base, {
    at: temporary,
    shown: [
      base.workDir,
      ...writable.map((path) => realOf(absolutePath(path, base))),
      ...[base.home].filter((path) => !temporary.includes(path)),
    ],
    async own() {
      const state = await (closed ? ready : prepared());
      if (state?.works !== true) return [];
      if (closed) throw new ToolFailure("the backend is closed and its temporary files were removed");
      return state.temporary;
    },
  });

  /** Writable roots: only in these can a command swap what is searched. */
  const roots = [base.workDir, ...writable.map((path) => realOf(absolutePath(path, base)))];
  const worktree = linkedWorktree(DISK, base.workDir); // before any command has run
  const excludes =
    worktree === undefined ? [] : [join(worktree.own, "commondir"), join(worktree.common, "info/exclude")];
  const hiddenPathsNow = () => (hiddenNow ??= hiddenPaths(hiding, base, "all").hidden.map(({ path }) => path));
  /**
   * Starts programs that search: in the session's own temporary folders inside the sandbox, where they have the usual
   * paths; elsewhere in a view that has nothing but what is searched.
   */
  const contained = async (path: string): Promise<Pick<Backend, "search" | "find">> => {
    const own = !closed && isTemporary(path);
    const bwrap = closed ? undefined : systemProgram("bwrap");
    const state = own || bwrap !== undefined ? await prepared() : undefined;
    if (state?.works !== true || (bwrap === undefined && !own)) return inner;
    const { spawn: start } = state;
    const program = realOf(ripgrepPath(true));
    const noSettings = { cwd: "/", env: { RIPGREP_CONFIG_PATH: "" }, streams: "split" } as const;
    const view =
      bwrap === undefined || own
        ? []
        : searchViewWords(bwrap, { path, roots, hidden: hiddenPathsNow(), excludes, program });
    const run = (command: Command) => {
      if (own) return start({ ...command, ...noSettings }, { readOnly: true, read: [program] });
      const [first, ...words] = [...view, ...command.argv];
      return inner.spawn({ ...command, ...noSettings, passEnv: false, argv: [first ?? "", ...words] });
    };
    return createSearching({
      files,
      programs: { place: "this machine", base, ripgrep: async () => program, start: run },
      startHere: (args, signal) =>
        run({ argv: [program, ...args], stdin: "pipe", ...(signal !== undefined && { signal }) }),
      patienceMs: SEARCH_PATIENCE_MS,
    });
  };
  /** Excludes the home from a search of the temporary folder that contains it: commands see the real home there. */
  const withoutHome = <Query extends SearchQuery | FindQuery>(query: Query): Query =>
    isTemporary(query.path) && isInside(base.home, query.path)
      ? { ...query, except: [...(query.except ?? []), base.home] }
      : query;

  const spawn = async (command: Command): Promise<Process> => {
    const { within = {} } = command;
    if (closed || within === "none") return inner.spawn(command);
    const state = await prepared();
    if (state.works) return state.spawn(command, within);
    if (!required) return inner.spawn(command);
    const why = `the sandbox is required but does not work here. ${state.reason}`;
    throw new ToolFailure(`cannot start ${command.argv[0]}: ${why}`, { hint: state.fix });
  };

  return {
    name: `sandbox(${inner.name})`,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
    files,
    outside: inner.files,
    spawn,
    search: async (query) =>
      query.input === undefined ? (await contained(query.path)).search(withoutHome(query)) : inner.search(query),
    find: async (query) => (await contained(query.path)).find(withoutHome(query)),
    sandbox: {
      required,
      temporary,
      isTemporary,
      seenAt,
      get hidden() {
        return hiddenPathsNow();
      },
      get outputs() {
        return works && options.outputs !== undefined ? OUTPUTS_INSIDE : undefined;
      },
      async state() {
        const state = await prepared();
        if (!state.works) return { works: false, reason: state.reason, fix: state.fix };
        return { works: true, missing: state.missing };
      },
    },
    ...(inner.detached !== undefined && { detached: inner.detached }),
    ...(inner.lacks !== undefined && { lacks: inner.lacks }),
    async close() {
      closed = true;
      const tested = works ? await ready : undefined;
      if (tested?.works === true) await tested.endReady();
      await inner.close();
      const state = await ready;
      if (state?.works === true) await state.close();
    },
  };
}

/** For when Handrail was replaced or removed while it ran. */
function notLoaded(error: unknown): Ready {
  return {
    works: false,
    reason: `The sandbox's own code could not be loaded: ${messageOf(error)}.`,
    fix: "Start Handrail again. If that does not help, reinstall it.",
  };
}
