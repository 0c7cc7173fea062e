import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { LIBRARY } from "../machine/program.ts";
import { cases } from "../support/cases.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Received, receive } from "./served.ts";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const CALLS = cases(50);

/** Starts `handrail serve` with this state. Resolves to its address with the token. */
async function serving(state: string, workDir: string): Promise<{ url: URL; child: ChildProcess }> {
  const child = spawn(process.execPath, [CLI, "serve", "--port", "0", "--preset", "none", "--work-dir", workDir], {
    env: { ...process.env, XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { url: new URL(String(line).trim()), child };
}

/** A process that records calls, two events each. */
async function writing(file: string, name: string): Promise<void> {
  const program = `
    import { sqliteStore } from ${JSON.stringify(LIBRARY)};
    const store = sqliteStore({ file: ${JSON.stringify(file)} });
    for (let count = 0; count < ${CALLS}; count++) {
      const of = { call: "${name}-" + count, thread: "main", at: count };
      store.append({ ...of, type: "call.started", name: "x", input: {} });
      await store.commit({ ...of, type: "call.finished", status: "ok", data: {} });
    }
    await store.close();`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(child, "close")) as [number];
  expect(code).toBe(0);
}

test(`a server killed during ${3 * CALLS} calls of three processes loses none; its follower resumes whole`, async () => {
  const [state, workDir] = [temporaryFolder(), temporaryFolder()];
  const follow = async ({ url }: { readonly url: URL }, after: string, enough: (event: Received) => boolean) => {
    const headers = { authorization: `Bearer ${url.searchParams.get("token")}`, "last-event-id": after };
    return receive(await fetch(new URL("/api/events", url), { headers }), enough).catch(() => undefined);
  };
  const first = await serving(state, workDir);
  const seen: Received[] = [];
  const before = follow(first, "0", (event) => {
    seen.push(event);
    if (seen.length === 100) first.child.kill("SIGKILL");
    return false;
  });
  const file = join(state, "handrail", "handrail.db");
  const written = Promise.all(["a", "b", "c"].map((name) => writing(file, name)));
  await before;
  const second = await serving(state, workDir);
  const total = 3 * CALLS * 2;
  await follow(second, seen.at(-1)?.id ?? "0", (event) => seen.push(event) >= total);
  await written;
  const ids = seen.map(({ id }) => Number(id));
  expect(ids).toEqual(Array.from({ length: total }, (_, index) => (ids[0] ?? 0) + index));
  const finished = seen.filter(({ data }) => data["type"] === "call.finished").map(({ data }) => data["call"]);
  expect(new Set(finished).size).toBe(3 * CALLS);
});
