import type { Backend } from "../../../core/contract/backend.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { absolutePath } from "../../../core/util/paths.ts";
import { remoteHostOf } from "../../shell/backend.ts";
import { SECRETS_OF_HOME, SECRETS_OF_SYSTEM } from "../../places/keys.ts";
import { type Ready, broken, prepare } from "./far-prepare.ts";
import type { FarSandboxOptions } from "./options.ts";

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
    (ready ??= prepare(inner, host, options, (state) => void (ready = Promise.resolve(state))).catch(
      (error: unknown) => {
        ready = undefined; // the connection may be lost
        return broken(host, `It could not be tried: ${messageOf(error)}.`, "Try again.");
      },
    ));
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
    ...(inner.lacks !== undefined && { lacks: inner.lacks }),
    notices: () => inner.notices?.() ?? [],
    async close() {
      const state = await ready;
      if (state?.works === true) await state.close();
      await inner.close();
    },
  };
}
