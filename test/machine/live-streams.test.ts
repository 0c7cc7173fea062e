// Programs with live streams: `Command.streams` is "live".
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Backend, Process } from "../../src/core/contract/backend.ts";
import { mustBeHere } from "../support/here.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { noSandbox, world, worldFolder } from "./sandbox/world.ts";

mustBeHere("the sandbox", noSandbox);

const start = (backend: Backend, script: string): Promise<Process> =>
  backend.spawn({ argv: ["bash", "-c", script], stdin: "pipe", streams: "live" });

/** Reads until this many bytes have arrived, or the output ends. */
async function reader({ output }: Process) {
  const chunks = output.follow()[Symbol.asyncIterator]();
  let text = "";
  return async (bytes: number) => {
    while (text.length < bytes) {
      const { value, done } = await chunks.next();
      if (done === true) break;
      text += Buffer.from(value).toString();
    }
    const [read, rest] = [text.slice(0, bytes), text.slice(bytes)];
    text = rest;
    return read;
  };
}

const PLACES: readonly [name: string, open: () => Promise<Backend>][] = [
  ["on this machine", () => local({ workDir: temporaryFolder(), outputFolder: temporaryFolder() })],
  ...(noSandbox === undefined
    ? [
        ["in the sandbox", async () => (await world({ root: worldFolder() })).backend] as [
          string,
          () => Promise<Backend>,
        ],
      ]
    : []),
];

describe.each(PLACES)("a program with live streams, %s", (_, open) => {
  test("answers lines as they arrive, and its output can be read after its end", async () => {
    const backend = await open();
    const program = await start(backend, 'while read -r line; do echo "<$line>"; done; echo bye; echo why >&2; exit 3');
    const read = await reader(program);
    for (const line of ["one", "two"]) {
      await program.write(`${line}\n`);
      expect(await read(6)).toBe(`<${line}>\n`);
    }
    await program.endInput();
    expect(await program.exit).toEqual({ how: "exited", code: 3 });
    expect(await read(100)).toBe("bye\n");
    expect(Buffer.from((await program.errors?.tail(100)) ?? []).toString()).toBe("why\n");
    await backend.close();
  });

  test("waits while nobody reads, and loses nothing", async () => {
    const backend = await open();
    const size = 20_000_000;
    const program = await start(backend, `yes | head -c ${size}; echo done >&2; read -r _`);
    await until("the program waits", () => program.output.kept >= 1_048_576);
    expect(program.output.kept).toBeLessThan(3_000_000);
    let bytes = 0;
    for await (const chunk of program.output.follow()) {
      bytes += chunk.length;
      if (bytes === size) await program.endInput();
    }
    expect(bytes).toBe(size);
    await backend.close();
  });

  test("is ended at once although nobody reads, with all its processes", async () => {
    const backend = await open();
    const program = await start(backend, 'setsid sleep 1000 & echo "$!"; yes');
    const pid = Number.parseInt(await (await reader(program))(10), 10);
    await program.kill();
    expect(await program.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    if (backend.sandbox === undefined) expect(await isAlive(pid)).toBe(false);
    await backend.close();
  });
});

test("when it has ended, a child that holds its output is ended too", async () => {
  const backend = await local({ workDir: temporaryFolder(), outputFolder: temporaryFolder() });
  const program = await start(backend, 'setsid sleep 1000 & echo "$!"');
  let text = "";
  for await (const chunk of program.output.follow()) text += Buffer.from(chunk).toString();
  await program.exit;
  expect(await isAlive(Number(text))).toBe(false);
  await backend.close();
});

test("gets the given environment, and not what is passed to commands", async () => {
  process.env["HANDRAIL_TEST_PASSED"] = "secret";
  const passEnv = ["HANDRAIL_TEST_PASSED"];
  const backend = await local({ workDir: temporaryFolder(), outputFolder: temporaryFolder(), passEnv });
  const program = await backend.spawn({
    argv: ["bash", "-c", 'echo "${HANDRAIL_TEST_PASSED-none} $GIVEN"'],
    streams: "live",
    passEnv: false,
    env: { GIVEN: "given" },
  });
  expect(await (await reader(program))(100)).toBe("none given\n");
  await backend.close();
  delete process.env["HANDRAIL_TEST_PASSED"];
});
