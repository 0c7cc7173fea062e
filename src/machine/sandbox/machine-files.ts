import type { Backend } from "../../core/contract/backend.ts";

/**
 * Returns the backend with the files of the machine in place of those that its contained commands see, which have
 * temporary folders of their own. For calls whose work a program outside the sandbox does.
 */
export function withMachineFiles(inner: Backend): Backend {
  const { outside } = inner;
  if (outside === undefined) return inner;
  const { shell, programFolders, access, worker, workerHasTerminal, terminal, detached } = inner;
  const { sandbox, isFar } = inner;
  return {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    files: outside,
    spawn: inner.spawn,
    search: inner.search,
    find: inner.find,
    ...(shell !== undefined && { shell }),
    ...(programFolders !== undefined && { programFolders }),
    ...(isFar !== undefined && { isFar }),
    ...(access !== undefined && { access }),
    ...(worker !== undefined && { worker }),
    ...(workerHasTerminal !== undefined && { workerHasTerminal }),
    ...(terminal !== undefined && { terminal }),
    ...(sandbox !== undefined && { sandbox }),
    ...(detached !== undefined && { detached }),
    ...(inner.standby !== undefined && { standby: inner.standby }),
    ...(inner.lacks !== undefined && { lacks: inner.lacks }),
    ...(inner.notices !== undefined && { notices: inner.notices }),
    close: inner.close,
  };
}
