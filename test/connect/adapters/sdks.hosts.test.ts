import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withLock } from "../../../scripts/lib/lock.mjs";
import { mustBeHere } from "../../support/here.ts";
import { temporaryFolder } from "../../support/workspace.ts";

// The SDKs are in a folder of their own: they are large, or need a newer Node than Handrail. They are installed once.

const folder = fileURLToPath(new URL("../../../examples/sdks/", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));
const programsIn = (path: string, shared: string) =>
  readdirSync(path).filter((file) => file.endsWith(".mjs") && file !== shared);
const programs = programsIn(folder, "shop.mjs");
const checks = programsIn(`${folder}checks`, "bench.mjs");
const run = promisify(execFile);

/** Installs the SDKs unless they are there, with Handrail as it was built. Returns why that did not succeed. */
function problem(): string | undefined {
  if (process.env["CI"] !== "true" && !existsSync(`${folder}node_modules`))
    return "the SDKs (700 MB) are not installed: CI=true installs them";
  return withLock(`install ${folder}`, () => {
    try {
      if (!isInstalled()) {
        const args = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--engine-strict=false"];
        execFileSync("npm", args, { cwd: folder, stdio: "pipe" });
      }
      if (!existsSync(`${folder}node_modules/handrail`)) symlinkSync("../../..", `${folder}node_modules/handrail`);
      return undefined;
    } catch (error) {
      return String(error);
    }
  });
}

/** Whether the packages are those of the lock file. */
function isInstalled(): boolean {
  const here = `${folder}node_modules/.package-lock.json`;
  if (!existsSync(here)) return false;
  const [wanted, installed] = [`${folder}package-lock.json`, here].map(
    (file) => (JSON.parse(readFileSync(file, "utf8")) as Lock).packages,
  );
  const { "": manifest } = wanted ?? {};
  return Object.keys(manifest?.dependencies ?? {}).every((name) => {
    const path = `node_modules/${name}`;
    return wanted?.[path]?.version === installed?.[path]?.version;
  });
}

interface Lock {
  readonly packages: {
    readonly [path: string]: { readonly version?: string; readonly dependencies?: { readonly [name: string]: string } };
  };
}

/** The picture as the model is shown it. */
const PICTURE = "iVBORw0KGgo";

const missing = problem();
mustBeHere("the loops of the SDKs", missing);

/** A replacement for the providers: looks at a picture and releases, then answers. */
const mock = new LLMock({ port: 0 });
/** Stands in front of it, and keeps what the SDKs send: the mock changes it. */
const bodies: string[] = [];
const front = createServer((request, response) => {
  void (async () => {
    const body = await text(request);
    bodies.push(body);
    const { method = "GET", url = "/" } = request;
    const answer = await fetch(`${mock.url}${url}`, {
      method,
      headers: { "content-type": "application/json", authorization: "Bearer test", "x-api-key": "test" },
      ...(method === "POST" && { body }),
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
    response.end(await answer.text());
  })();
});
/** What the model calls for a prompt. */
function callsFor(prompt: string): readonly [string, object][] {
  const command = (script: string): [string, object] => ["bash", { command: script }];
  const number = /Write (\d+) to g\.txt/.exec(prompt)?.[1];
  if (number !== undefined) return [command(`sleep 0.02; echo ${number} > g.txt`), ["read", { path: "g.txt" }]];
  if (prompt.includes("Do nothing.")) return [];
  if (prompt.includes("Say hello.")) return [["hello", {}]];
  if (prompt.includes("Count slowly.")) return [command("echo counting; sleep 0.5; echo counted")];
  if (/Release (once|by the)/.test(prompt)) return [command("./release.sh")];
  return [["read", { path: "logo.png" }], command("./release.sh")];
}

let node = "";
beforeAll(async () => {
  await mock.start();
  await once(front.listen(0, "127.0.0.1"), "listening");
  const isFirst = { predicate: ({ messages }: { messages: { role: string }[] }) => messages.at(-1)?.role === "user" };
  mock.addFixture({
    match: isFirst,
    response: ({ tools = [], messages }) => {
      const named = (tool: string) => tools.map((each) => each.function.name).find((name) => name.endsWith(tool));
      const calls = callsFor(JSON.stringify(messages.at(-1)?.content)).map(([tool, input]) => ({
        name: named(tool) ?? "",
        arguments: JSON.stringify(input),
      }));
      if (calls.length === 0) return { content: "That is done." };
      if (calls.some(({ name }) => name === "")) return { content: "A release" }; // asked for a title
      return { toolCalls: calls };
    },
  });
  mock.addFixture({ match: { predicate: () => true }, response: { content: "That is done." } });
  if (missing !== undefined) return;
  const args = ["--yes", "--package=node@26.10.0", "--", "node", "-p", "process.execPath"];
  node = execFileSync("npx", args, { encoding: "utf8" }).trim();
}, 120_000);
afterAll(async () => {
  front.closeAllConnections();
  front.close();
  await mock.stop();
});

/** Runs a program. Resolves to what it printed. */
async function start(program: string): Promise<string> {
  bodies.length = 0;
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const env = {
    ...{ ...process.env, HOME: temporaryFolder() },
    ...{ OPENAI_API_KEY: "test", OPENAI_BASE_URL: `${url}/v1`, OPENAI_AGENTS_DISABLE_TRACING: "1" },
    ...{ ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: url },
  };
  const { stdout } = await run(node, [folder + program], { cwd: folder, timeout: 170_000, env });
  return stdout;
}

describe.skipIf(missing !== undefined)("an SDK's own loop", () => {
  test.each(programs)("with one approval and an image: %s", { timeout: 180_000 }, async (name) => {
    expect(await start(name)).toContain("That is done.");
    expect(bodies.at(-1)).toContain(PICTURE);
  });

  test.each(checks)(
    "keeps the order, has late tools, progress and answers of the console, and runs nothing forged: %s",
    { timeout: 180_000 },
    async (name) => {
      expect(await start(`checks/${name}`)).toContain("checked");
      for (const reason of ["Not on a Friday.", "Not before lunch."]) expect(bodies.join("\n")).toContain(reason);
    },
  );

  test("their types take the tools without casts", { timeout: 400_000 }, async () => {
    const args = ["node_modules/typescript/bin/tsc", "-p", `${folder}tsconfig.json`];
    const { stdout } = await run(process.execPath, args, { cwd: root }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
});
