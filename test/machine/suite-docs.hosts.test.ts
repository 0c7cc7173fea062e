import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Some groups of the suite, including one that stops processes: enough to see that it runs. Other tests run all of it.
 */
const GROUPS = "/^(logged )?(paths|reading|starting processes|processes that end with the backend|closing)( |$)/";

test("the backend in docs/backends.md passes the suite with Node's own test runner", async () => {
  const page = await readFile(`${root}/docs/backends.md`, "utf8");
  const [code = ""] = [...page.matchAll(/^```js\n(.*?)^```/gms)]
    .map(([, block = ""]) => block)
    .filter((block) => block.includes("backendSuite("));
  const folder = `${root}/test/.backends`; // inside the project, so that "handrail" is this package
  await mkdir(`${folder}/work`, { recursive: true });
  try {
    await writeFile(`${folder}/logged.test.mjs`, code);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--test", "--test-reporter=tap", `--test-name-pattern=${GROUPS}`, "logged.test.mjs"],
      { cwd: folder, env, maxBuffer: 1 << 26 },
    ).catch((error: unknown) => error as { readonly stdout: string }); // some have failed: their titles say more
    expect(stdout.match(/^\s*not ok .*$/gm) ?? []).toEqual([]);
    const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(stdout)?.[1]);
    expect({ fail: count("fail"), cancelled: count("cancelled") }).toEqual({ fail: 0, cancelled: 0 });
    expect(count("pass")).toBeGreaterThan(25);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 180_000);
