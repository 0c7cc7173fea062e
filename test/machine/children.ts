import { expect } from "vitest";
import { isAlive, until } from "../support/until.ts";
import { runningPid } from "./program.ts";

/** Ways to start a child that could outlive its command. Each writes its process id to `NAME.pid`. */
const CHILDREN: { readonly [name: string]: string } = {
  background: "sh -c 'echo $$ >background.pid; exec sleep 1000' &",
  nohup: "nohup sh -c 'echo $$ >nohup.pid; exec sleep 1000' >/dev/null 2>&1 &",
  setsid: "setsid sh -c 'echo $$ >setsid.pid; exec sleep 1000' &",
  "double fork": `(setsid sh -c 'sh -c "echo \\$\\$ >\\"double fork.pid\\"; exec sleep 1000" & exit 0' &)`,
  "deaf to TERM": `sh -c 'trap "" TERM INT HUP; echo $$ >"deaf to TERM.pid"; while :; do sleep 1000; done' &`,
  "bare environment": `sh -c 'env -i setsid sh -c "echo \\$\\$ >\\"bare environment.pid\\"; exec sleep 1000" & wait' &`,
};

/** Starts all of them, then stays in the foreground with another child. */
export const WITH_CHILDREN = `${Object.values(CHILDREN).join("\n")}
sh -c 'sleep 1000 & echo $! >grandchild.pid; echo $$ >foreground.pid; wait'`;

/** Starts those that lose their parents, and exits. */
export const LEAVING_CHILDREN = ["background", "nohup", "setsid", "double fork", "deaf to TERM"]
  .map((name) => CHILDREN[name])
  .join("\n");

const NAMES = [...Object.keys(CHILDREN), "grandchild", "foreground"];

/** Returns the running children of `WITH_CHILDREN` by name. */
export async function childrenIn(
  folder: string,
  names: readonly string[] = NAMES,
): Promise<ReadonlyMap<string, number>> {
  return new Map(await Promise.all(names.map(async (name) => [name, await runningPid(folder, name)] as const)));
}

export async function leftChildrenIn(folder: string): Promise<ReadonlyMap<string, number>> {
  return childrenIn(folder, ["background", "nohup", "setsid", "double fork", "deaf to TERM"]);
}

export async function expectGone(children: ReadonlyMap<string, number>): Promise<void> {
  expect(await survivors(children)).toEqual([]);
}

/** Waits until children without a waiting caller are gone: the spawner ends them soon after its owner has died. */
export async function untilGone(children: ReadonlyMap<string, number>): Promise<void> {
  await until("all children are gone", async () => (await survivors(children)).length === 0, 15_000);
}

async function survivors(children: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const all = await Promise.all([...children].map(async ([name, pid]) => ({ name, alive: await isAlive(pid) })));
  return all.filter(({ alive }) => alive).map(({ name }) => name);
}
