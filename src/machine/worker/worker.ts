import type { Backend } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { TargetOptions } from "../../core/contract/target.ts";
import { type WorkerState, PRESENT_MS } from "../../core/contract/worker.ts";
import { absolutePath } from "../../core/util/paths.ts";

/**
 * Stands for the machines of the workers of a name, or for one worker ("NAME#ID"). Whole calls are delivered to them,
 * so it gives no access to files and programs. Its folders are those that the newest worker has reported.
 *
 * @throws ToolFailure when the store cannot be shared with workers, or no worker of this name has reported lately.
 */
export async function worker(address: string, { store, workDir }: TargetOptions): Promise<Backend> {
  const [name = "", id] = address.split("#");
  if (store?.workers === undefined) {
    throw new ToolFailure(`worker:${name} needs a store that the workers share`, {
      hint: "Set store: postgres://… here and on their machines; store: sqlite serves workers of this machine.",
    });
  }
  const all = (await store.workers.list()).filter(({ silentMs }) => silentMs < PRESENT_MS);
  const found = all.findLast((each) => each.name === name && (id ?? each.id) === each.id);
  if (found === undefined) throw nobody(address, all);
  if (workDir !== undefined && workDir !== found.workDir) {
    throw new ToolFailure(`worker:${name} works in ${found.workDir}, not in ${workDir}`, {
      hint: "A worker chooses its own folder: leave the working directory out.",
    });
  }
  const place = { workDir: found.workDir, home: found.home };
  const absent = async (): Promise<never> => {
    throw new ToolFailure(`files and programs of worker:${address} are reached only by calls of tools`);
  };
  return {
    name: `worker:${address}`,
    worker: address,
    workerHasTerminal: found.hasTerminal === true,
    ...place,
    access: { program: [], options: ["--worker", address] },
    files: {
      realPath: async (path) => absolutePath(path, place),
      stat: async () => undefined,
      open: absent,
      write: absent,
      list: absent,
      remove: absent,
    },
    spawn: absent,
    search: absent,
    find: absent,
    close: async () => {},
  };
}

function nobody(name: string, all: readonly WorkerState[]): ToolFailure {
  const names = [...new Set(all.map((each) => each.name))];
  const there = names.length === 0 ? "No worker runs." : `There are: ${names.join(", ")}.`;
  return new ToolFailure(`no worker with the name ${name} has reported in the last ${PRESENT_MS / 1_000} s`, {
    hint: `${there} Start one on its machine: handrail worker --name ${name}`,
  });
}
