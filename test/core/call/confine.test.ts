import { existsSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import type { Backend, Command, OpenFile, Process, ToolBackend } from "../../../src/core/contract/backend.ts";
import type { Effect, EffectKind } from "../../../src/core/contract/effect.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type Tool, type ToolContext, defineTool } from "../../../src/core/contract/tool.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { type Layout, layout } from "../../support/layout.ts";
import { isAlive, until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const KINDS: readonly EffectKind[] = ["read", "write", "exec", "output", "state"];

/** A tool that declares these effects and then does anything. */
function declaring(
  effects: readonly Effect[],
  run: (context: ToolContext) => Promise<unknown>,
  touches: readonly EffectKind[] = KINDS,
): Tool {
  return defineTool({
    name: "doing",
    description: "Does it.",
    touches,
    input: {},
    effects: () => effects,
    run: async (_, context) => (await run(context)) as Json,
  });
}

/** Makes one call of such a tool, in full autonomy: only the confinement can refuse it. */
async function calling(
  world: Layout,
  effects: readonly Effect[],
  run: (context: ToolContext) => Promise<unknown>,
  options: ToolkitOptions = {},
) {
  const toolkit = await world.toolkit({
    preset: "none",
    tools: [declaring(effects, run)],
    policy: { autonomy: "full", forbiddenPaths: [] },
    ...options,
  });
  return toolkit.call({ name: "doing", input: {} });
}

const bytes = (text: string) => Buffer.from(text);

/** Reads the whole text of a file, through a backend. */
/** A tool without types may say how its command is contained; it makes no difference. */
const OWN_IDEA: Partial<Command> = { within: "none" };

/** The backend as a tool gets it. */
async function backendOf(here: Layout): Promise<ToolBackend> {
  let given: ToolBackend | undefined;
  await calling(here, [], async ({ backend }) => void (given = backend));
  if (given === undefined) throw new Error("the tool did not run");
  return given;
}

async function textOf({ files }: ToolBackend, path: string): Promise<string> {
  const file = await files.open(path);
  const content = await file.read(0, 1_000);
  await file.close();
  return Buffer.from(content).toString();
}

const CONTENT_OF_A = "a\n";

async function prepared(): Promise<Layout> {
  const made = await layout();
  await made.file("a.txt", CONTENT_OF_A);
  await made.file("b.txt", "b\n");
  await made.file("folder/inner/c.txt", "c\n");
  await made.file("folder2/d.txt", "d\n");
  return made;
}

describe("files", () => {
  test.each<[string, (context: ToolContext) => Promise<unknown>]>([
    ["open", ({ backend }) => backend.files.open("b.txt")],
    ["stat", ({ backend }) => backend.files.stat("b.txt")],
    ["list", ({ backend }) => backend.files.list(".")],
    ["write", ({ backend }) => backend.files.write("b.txt", bytes("x"))],
    ["write what was only to be read", ({ backend }) => backend.files.write("a.txt", bytes("x"))],
    ["remove", ({ backend }) => backend.files.remove("b.txt")],
    ["remove what was only to be read", ({ backend }) => backend.files.remove("a.txt")],
    ["open with two dots", ({ backend }) => backend.files.open("folder/../b.txt")],
    ["open what begins with the same letters", ({ backend }) => backend.files.open("a.txt.bak")],
    ["open outside", ({ backend }) => backend.files.open("../../outside/secret.txt")],
    ["find", ({ backend }) => backend.find({ path: "." })],
    ["search", ({ backend }) => backend.search({ path: "b.txt", pattern: "x", maxMatches: 1, maxCharacters: 9 })],
  ])("what was not declared is refused: %s", async (_, run) => {
    const here = await prepared();
    const result = await calling(here, [{ kind: "read", path: "a.txt" }], run);
    expect(result).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/^tool "doing" tried to \w+ .+, which this call did not declare$/),
    });
    expect(await readFile(join(here.workDir, "b.txt"), "utf8")).toBe("b\n");
    expect(await readFile(join(here.workDir, "a.txt"), "utf8")).toBe(CONTENT_OF_A);
  });

  test("a declared path may be spelled in any way", async () => {
    const here = await prepared();
    await here.link("link", "a.txt");
    for (const path of ["a.txt", "./a.txt", "folder/../a.txt", join(here.workDir, "a.txt"), "link"]) {
      for (const declared of ["a.txt", "link", join(here.workDir, "folder/../a.txt")]) {
        const result = await calling(here, [{ kind: "read", path: declared }], ({ backend }) => textOf(backend, path));
        expect(result).toMatchObject({ status: "ok", data: CONTENT_OF_A });
      }
    }
  });

  test("a folder includes everything in it, and nothing next to it", async () => {
    const here = await prepared();
    const declared: readonly Effect[] = [{ kind: "read", path: "folder" }];
    expect(await calling(here, declared, ({ backend }) => textOf(backend, "folder/inner/c.txt"))).toMatchObject({
      data: "c\n",
    });
    expect(
      await calling(here, declared, async ({ backend }) =>
        (await backend.files.list("folder")).map(({ name }) => name),
      ),
    ).toMatchObject({ data: ["inner"] });
    for (const path of ["folder2/d.txt", "folder2", ".", "folder/.."]) {
      expect(await calling(here, declared, ({ backend }) => backend.files.list(path))).toMatchObject({
        status: "failed",
      });
    }
  });

  test("a link out of a declared folder is not followed", async () => {
    const here = await prepared();
    await here.link("folder/out", here.outside);
    await here.link("folder/beside", "../b.txt");
    const declared: readonly Effect[] = [
      { kind: "read", path: "folder" },
      { kind: "write", path: "folder" },
    ];
    for (const path of ["folder/out/secret.txt", "folder/beside"]) {
      expect(await calling(here, declared, ({ backend }) => textOf(backend, path))).toMatchObject({
        status: "failed",
        message: expect.stringContaining("did not declare"),
      });
      expect(await calling(here, declared, ({ backend }) => backend.files.write(path, bytes("x")))).toMatchObject({
        status: "failed",
      });
    }
    expect(readFileSync(join(here.outside, "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("write access includes stat, but not reading", async () => {
    const here = await prepared();
    const declared: readonly Effect[] = [{ kind: "write", path: "a.txt" }];
    expect(
      await calling(here, declared, async ({ backend }) => (await backend.files.stat("a.txt"))?.size ?? null),
    ).toMatchObject({ data: 2 });
    expect(await calling(here, declared, ({ backend }) => textOf(backend, "a.txt"))).toMatchObject({
      status: "failed",
    });
  });

  test("a tool gets none of the methods that belong to the toolkit", async () => {
    const backend = await backendOf(await prepared());
    expect(["close", "detached", "sandbox", "outside", "notices"].filter((name) => name in backend)).toEqual([]);
  });
});

describe("a link that is swapped", () => {
  /** Asks about the call, and meanwhile changes the target of `link`. */
  async function swapped(effect: "read" | "write", run: (context: ToolContext) => Promise<unknown>) {
    const here = await prepared();
    await here.folder("hooks");
    await here.link("link", "folder");
    const swap = () => {
      unlinkSync(join(here.workDir, "link"));
      symlinkSync(here.outside, join(here.workDir, "link"));
    };
    const result = await calling(here, [{ kind: effect, path: "link/secret.txt" }], run, {
      policies: [async () => ({ verdict: "ask", risk: "low" })],
      approver: async () => {
        swap();
        return { answer: "once" };
      },
    });
    expect(realpathSync(join(here.workDir, "link"))).toBe(here.outside);
    expect(readFileSync(join(here.outside, "secret.txt"), "utf8")).toBe("secret\n");
    expect(readdirSync(here.outside)).toEqual(["secret.txt"]);
    return { ...result, approved: existsSync(join(here.workDir, "folder/secret.txt")) };
  }

  test("between approval and use has no effect: the approved path is used without following it again", async () => {
    const missing = { status: "failed", message: expect.stringMatching(/^File not found: .*folder\/secret\.txt$/) };
    expect(await swapped("read", ({ backend }) => textOf(backend, "link/secret.txt"))).toMatchObject(missing);
    const seen = await swapped("read", async ({ backend }) => (await backend.files.stat("link/secret.txt")) ?? null);
    expect(seen).toMatchObject({ status: "ok", data: null });
    const written = await swapped("write", ({ backend }) => backend.files.write("link/secret.txt", bytes("x")));
    expect(written).toMatchObject({ status: "ok", approved: true });
    expect(await swapped("write", ({ backend }) => backend.files.remove("link/secret.txt"))).toMatchObject(missing);
  });

  test("in place of a file between the approval and the use is refused", async () => {
    const here = await prepared();
    const result = await calling(
      here,
      [{ kind: "write", path: "a.txt" }],
      ({ backend }) => backend.files.write("a.txt", bytes("x")),
      {
        policies: [async () => ({ verdict: "ask", risk: "low" })],
        approver: async () => {
          rmSync(join(here.workDir, "a.txt"));
          symlinkSync(join(here.outside, "secret.txt"), join(here.workDir, "a.txt"));
          return { answer: "session" };
        },
      },
    );
    expect(result).toMatchObject({ status: "failed" });
    expect(readFileSync(join(here.outside, "secret.txt"), "utf8")).toBe("secret\n");
  });

  test("in place of a command's folder is refused", async () => {
    const here = await prepared();
    const result = await calling(
      here,
      [{ kind: "exec", command: "pwd", cwd: "folder" }],
      async ({ backend }) => {
        const process = await backend.spawn({ argv: ["sh", "-c", "pwd"], cwd: "folder" });
        await process.exit;
        return Buffer.from(await process.output.tail(1_000)).toString();
      },
      {
        policies: [async () => ({ verdict: "ask", risk: "low" })],
        approver: async () => {
          await rename(join(here.workDir, "folder"), join(here.workDir, "moved"));
          symlinkSync(here.outside, join(here.workDir, "folder"));
          return { answer: "once" };
        },
      },
    );
    expect(result).toMatchObject({
      status: "failed",
      message: expect.stringContaining("which was not approved; nothing was run"),
    });
  });
});

describe("commands", () => {
  const declared: Effect = { kind: "exec", command: "echo $WHO", cwd: "folder", env: { WHO: "me" } };
  const approved: Command = { argv: ["sh", "-c", "echo $WHO"], cwd: "folder", env: { WHO: "me" } };

  async function running(command: Command, effects: readonly Effect[] = [declared]) {
    return calling(await prepared(), effects, async ({ backend }) => {
      const process = await backend.spawn(command);
      await process.exit;
      return Buffer.from(await process.output.tail(1_000)).toString();
    });
  }

  test("the declared script runs in any shell, in the declared folder, with the declared variables", async () => {
    for (const argv of [
      ["sh", "-c", "echo $WHO"],
      ["/bin/sh", "-c", "echo $WHO"],
      ["bash", "--noprofile", "--norc", "-c", "echo $WHO"],
      ["bash", "-lc", "echo $WHO"],
    ] as const) {
      expect(await running({ ...approved, argv })).toMatchObject({ status: "ok", data: "me\n" });
    }
    expect(await running({ ...approved, cwd: "./folder/inner/.." })).toMatchObject({ status: "ok", data: "me\n" });
  });

  test("words without a shell run when they are the declared words", async () => {
    const effects: readonly Effect[] = [{ kind: "exec", command: "printf %s 'two words'" }];
    expect(await running({ argv: ["printf", "%s", "two words"] }, effects)).toMatchObject({
      status: "ok",
      data: "two words",
    });
    expect(await running({ argv: ["printf", "%s", "two", "words"] }, effects)).toMatchObject({ status: "failed" });
  });

  test.each<[string, Command]>([
    ["another script", { ...approved, argv: ["sh", "-c", "echo $WHO; id"] }],
    ["the declared script as an argument of another", { ...approved, argv: ["sh", "-c", "id", "-c", "echo $WHO"] }],
    [
      "the declared script as an argument of a script file",
      { ...approved, argv: ["sh", "evil.sh", "-c", "echo $WHO"] },
    ],
    ["a start-up file before it", { ...approved, argv: ["bash", "--rcfile", "evil.sh", "-i", "-c", "echo $WHO"] }],
    ["a program of its own that is named like a shell", { ...approved, argv: ["./sh", "-c", "echo $WHO"] }],
    ["a program elsewhere that is named like a shell", { ...approved, argv: ["/tmp/bash", "-c", "echo $WHO"] }],
    ["something else than a shell", { ...approved, argv: ["node", "-c", "echo $WHO"] }],
    ["another flag", { ...approved, argv: ["sh", "-ic", "echo $WHO"] }],
    ["without its -c", { ...approved, argv: ["sh", "echo $WHO"] }],
    ["another folder", { ...approved, cwd: "folder2" }],
    ["a folder below", { ...approved, cwd: "folder/inner" }],
    ["no folder", { argv: approved.argv, env: { WHO: "me" } }],
    ["another value", { ...approved, env: { WHO: "you" } }],
    ["one variable more", { ...approved, env: { WHO: "me", LD_PRELOAD: "evil.so" } }],
    ["one variable less", { argv: approved.argv, cwd: "folder" }],
    ["a variable that every object has", { ...approved, env: { toString: "me" } }],
  ])("with %s it is refused", async (_, command) => {
    expect(await running(command)).toMatchObject({
      status: "failed",
      message: expect.stringMatching(/^tool "doing" tried to run a command that this call did not declare: /),
    });
  });

  test("a tool that declared no command runs none", async () => {
    for (const effects of [
      [],
      [
        { kind: "read", path: "." },
        { kind: "write", path: "." },
      ],
    ] as const) {
      expect(await running({ argv: ["true"] }, effects)).toMatchObject({
        status: "failed",
        message: expect.stringContaining("did not declare"),
      });
    }
  });
});

describe("saved outputs", () => {
  test("only a declared one is opened; saving needs no declaration", async () => {
    const here = await prepared();
    const ids: string[] = [];
    const saving = declaring([], async ({ outputs }) => {
      ids.push(await outputs.save("one"), await outputs.save("two"));
    });
    const reading: Tool = { ...declaring([], async () => null), name: "reading", input: { json: {} } };
    const opened = async (id: string, { outputs }: ToolContext) => {
      const file = await outputs.open(id);
      const content = Buffer.from(await file.read(0, 10)).toString();
      await file.close();
      return content;
    };
    const toolkit = await here.toolkit({
      preset: "none",
      tools: [
        saving,
        {
          ...reading,
          effects: () => [{ kind: "output", id: ids[0] ?? "" }],
          run: async (wanted, context) => opened(ids[Number(wanted)] ?? "", context),
        },
      ],
    });
    expect(await toolkit.call({ name: "doing", input: {} })).toMatchObject({ status: "ok" });
    expect(await toolkit.call({ name: "reading", input: 0 })).toMatchObject({ status: "ok", data: "one" });
    expect(await toolkit.call({ name: "reading", input: 1 })).toMatchObject({
      status: "failed",
      message: expect.stringContaining("did not declare"),
    });
    const other = await here.toolkit({
      preset: "none",
      tools: [
        {
          ...reading,
          effects: () => [{ kind: "output", id: ids[0] ?? "" }],
          run: (_, context) => opened(ids[0] ?? "", context),
        },
      ],
    });
    expect(await other.call({ name: "reading", input: 0 })).toMatchObject({
      status: "failed",
      message: expect.stringContaining("belongs to another session"),
    });
  });
});

describe("how a command is contained", () => {
  test("follows the policy's decision on that command, not the tool", async () => {
    const world = await layout();
    const inner = await local({
      workDir: world.workDir,
      home: world.home,
      outputFolder: join(world.stateDir, "outputs"),
    });
    const contained: (Command["within"] | "left out")[] = [];
    const backend: Backend = {
      ...inner,
      sandbox: {
        required: false,
        hidden: [],
        temporary: [],
        isTemporary: () => false,
        state: async () => ({ works: true, missing: [] }),
      },
      spawn(command) {
        contained.push(command.within ?? "left out");
        return inner.spawn(command);
      },
    };
    const result = await calling(
      world,
      [{ kind: "exec", command: "true", within: "none" }],
      async ({ backend: confined, permit }) => {
        await permit({ kind: "exec", command: "false", within: { network: ["a.example.org"] } });
        await permit({ kind: "exec", command: "pwd" });
        for (const program of ["true", "false", "pwd"]) {
          await (
            await confined.spawn({ argv: [program], ...OWN_IDEA })
          ).exit;
        }
      },
      { target: backend },
    );
    expect(result.status).toBe("ok");
    expect(contained).toEqual([
      "none",
      { network: ["a.example.org"], write: [], read: [], hideSensitive: true },
      { network: [], write: [], read: [] },
    ]);
  });
});

describe("permit", () => {
  test("adds exactly the one effect", async () => {
    const result = await calling(await prepared(), [], async ({ backend, permit }) => {
      await permit({ kind: "read", path: "a.txt" });
      const read = await textOf(backend, "a.txt");
      await expect(backend.files.write("a.txt", bytes("x"))).rejects.toThrow("did not declare");
      await expect(backend.files.open("b.txt")).rejects.toThrow("did not declare");
      await permit({ kind: "exec", command: "true" });
      await (
        await backend.spawn({ argv: ["true"] })
      ).exit;
      await expect(backend.spawn({ argv: ["false"] })).rejects.toThrow("did not declare");
      return read;
    });
    expect(result).toMatchObject({ status: "ok", data: CONTENT_OF_A });
  });

  test("goes through the policy: what it denies rejects, and stays refused", async () => {
    const here = await prepared();
    const result = await calling(here, [], async ({ backend, permit }) => {
      await permit({ kind: "read", path: join(here.outside, "secret.txt") }).catch(() => undefined);
      return textOf(backend, join(here.outside, "secret.txt"));
    });
    expect(result).toMatchObject({ status: "failed", message: expect.stringContaining("did not declare") });
    const unhandled = await calling(here, [], ({ permit }) => permit({ kind: "read", path: "/etc/hostname" }));
    expect(unhandled).toMatchObject({ status: "denied", by: "policy" });
  });

  test("asks a person about that effect alone, and records it", async () => {
    const here = await prepared();
    const asked: (readonly Effect[])[] = [];
    const toolkit = await here.toolkit({
      policy: { shellConfirm: true },
      preset: "none",
      tools: [
        declaring([{ kind: "read", path: "a.txt" }], async ({ permit }) => {
          await permit({ kind: "exec", command: "true" });
          await permit({ kind: "exec", command: "false" });
        }),
      ],
      approver: async ({ effects }) => {
        asked.push(effects);
        return asked.length === 1 ? { answer: "once" } : { answer: "refuse" };
      },
    });
    const events: string[] = [];
    const result = await toolkit.call({ name: "doing", input: {} }, { onEvent: ({ type }) => events.push(type) });
    expect(result).toMatchObject({ status: "denied", by: "person", reason: "Command execution denied by user." });
    expect(asked).toEqual([
      [{ kind: "exec", command: "true", real: here.workDir }],
      [{ kind: "exec", command: "false", real: here.workDir }],
    ]);
    expect(events).toEqual([
      "call.started",
      "call.approved",
      "approval.requested",
      "approval.decided",
      "call.approved",
      "approval.requested",
      "approval.decided",
      "call.finished",
    ]);
  });

  test("a kind that the tool does not name fails", async () => {
    const here = await prepared();
    const tool = declaring([], ({ permit }) => permit({ kind: "exec", command: "true" }), ["read"]);
    const toolkit = await here.toolkit({ preset: "none", tools: [tool], policy: { autonomy: "full" } });
    expect(await toolkit.call({ name: "doing", input: {} })).toMatchObject({
      status: "failed",
      message: expect.stringContaining("`touches` does not name"),
    });
  });
});

describe("after the call", () => {
  test("everything is refused", async () => {
    const here = await prepared();
    let context: ToolContext | undefined;
    let backend: ToolBackend | undefined;
    let outputs: ToolContext["outputs"] | undefined;
    const store: string[] = [];
    const effects: readonly Effect[] = [
      { kind: "read", path: "." },
      { kind: "write", path: "." },
      { kind: "exec", command: "true" },
      { kind: "output", id: "x" },
    ];
    const toolkit = await here.toolkit({
      preset: "all",
      tools: [
        declaring(effects, async (given) => {
          context = given;
          ({ backend, outputs } = given);
        }),
      ],
      policy: { autonomy: "full" },
    });
    expect(await toolkit.call({ name: "doing", input: {} }, { onEvent: ({ type }) => store.push(type) })).toMatchObject(
      { status: "ok" },
    );
    const over = /has ended; it can (no longer use files or commands|ask for no more permissions)$/;
    for (const each of [backend, context?.backend]) {
      const { files, spawn, find } = each!;
      await expect(files.open("a.txt")).rejects.toThrow(over);
      await expect(files.stat("a.txt")).rejects.toThrow(over);
      await expect(files.list(".")).rejects.toThrow(over);
      await expect(files.realPath("a.txt")).rejects.toThrow(over);
      await expect(files.write("a.txt", bytes("x"))).rejects.toThrow(over);
      await expect(files.remove("a.txt")).rejects.toThrow(over);
      await expect(spawn({ argv: ["true"] })).rejects.toThrow(over);
      await expect(find({ path: "." })).rejects.toThrow(over);
    }
    await expect(outputs!.save("x")).rejects.toThrow(over);
    await expect(outputs!.open("x")).rejects.toThrow(over);
    await expect(context!.permit({ kind: "read", path: "a.txt" })).rejects.toThrow(over);
    expect(await context!.call("write", { path: "a.txt", content: "x" })).toMatchObject({
      status: "failed",
      message: expect.stringContaining("has ended"),
    });
    const events = [...store];
    context!.report({ displayMessage: "still here" });
    context!.attach({ type: "text", text: "late" });
    expect(store).toEqual(events);
    expect(readFileSync(join(here.workDir, "a.txt"), "utf8")).toBe(CONTENT_OF_A);
  });

  test("a context first used after the call is ended too", async () => {
    const here = await prepared();
    let context: ToolContext | undefined;
    expect(await calling(here, [{ kind: "read", path: "." }], async (given) => void (context = given))).toMatchObject({
      status: "ok",
    });
    await expect(context!.backend.files.open("a.txt")).rejects.toThrow("has ended");
  });

  test("a process that the tool left running is stopped before the result, and its log is released", async () => {
    const here = await prepared();
    let left: Process | undefined;
    let output = "";
    const command = "echo working; setsid sleep 1000 & echo $!; sleep 1000";
    const result = await calling(here, [{ kind: "exec", command }], async ({ backend }) => {
      left = await backend.spawn({ argv: ["bash", "-c", command], streams: "split" });
      await until("it runs", async () => {
        output = Buffer.from(await left!.output.tail(100)).toString();
        return /working\n\d+\n/.test(output);
      });
    });
    expect(result).toMatchObject({ status: "ok" });
    for (const pid of [Number(left!.id), Number(output.split("\n")[1])]) expect(await isAlive(pid)).toBe(false);
    expect(await left!.exit).toMatchObject({ how: "signaled" });
    await expect(left!.output.tail(10)).rejects.toThrow("this output is gone");
    await expect(left!.errors!.read(0, 10)).rejects.toThrow("this output is gone");
  });

  test("a file and a saved output that the tool left open are closed", async () => {
    const here = await prepared();
    const left: OpenFile[] = [];
    const result = await calling(here, [{ kind: "read", path: "a.txt" }], async ({ backend, outputs, permit }) => {
      const id = await outputs.save("kept");
      await permit({ kind: "output", id });
      left.push(await backend.files.open("a.txt"), await outputs.open(id));
    });
    expect(result).toMatchObject({ status: "ok" });
    expect(left).toHaveLength(2);
    for (const file of left) await expect(file.read(0, 1)).rejects.toThrow(/closed|EBADF/);
  });

  test("a process that was still starting when the tool returned is stopped too", async () => {
    const here = await prepared();
    const command = "touch started; exec sleep 1000";
    const starting: Promise<Process>[] = [];
    const result = await calling(here, [{ kind: "exec", command }], async ({ backend }) => {
      starting.push(backend.spawn({ argv: ["bash", "-c", command] }));
      await backend.files.realPath("."); // gives the confinement time to allow it, but not to start it
    });
    expect(result).toMatchObject({ status: "ok" });
    const [process] = await Promise.allSettled(starting);
    if (process?.status === "fulfilled") {
      expect(await isAlive(Number(process.value.id))).toBe(false);
      expect(await process.value.exit).toMatchObject({ how: "signaled" });
    } else {
      expect(String(process?.reason)).toContain("has ended");
    }
  });

  test("a command ends when the call is stopped, with what it wrote so far", async () => {
    const here = await prepared();
    const command = "echo started; sleep 1000; echo never";
    const controller = new AbortController();
    let id = "";
    const tool = declaring([{ kind: "exec", command }], async ({ backend }) => {
      const process = await backend.spawn({ argv: ["bash", "-c", command] });
      ({ id } = process);
      for await (const chunk of process.output.follow()) if (Buffer.from(chunk).includes("started")) controller.abort();
      return [await process.exit, Buffer.from(await process.output.tail(100)).toString()];
    });
    const toolkit = await here.toolkit({ preset: "none", tools: [tool], policy: { autonomy: "full" } });
    const result = await toolkit.call({ name: "doing", input: {} }, { signal: controller.signal });
    expect(result).toMatchObject({ status: "ok", data: [{ how: "aborted" }, "started\n"] });
    expect(await isAlive(Number(id))).toBe(false);
  });

  test("a call that is stopped while its unresponsive tool starts ends after the grace period", async () => {
    const here = await prepared();
    const controller = new AbortController();
    const tool = declaring([], () => {
      controller.abort();
      return new Promise(() => {});
    });
    const toolkit = await here.toolkit({ preset: "none", tools: [tool] });
    expect(await toolkit.call({ name: "doing", input: {} }, { signal: controller.signal })).toEqual({
      id: expect.any(String) as string,
      status: "aborted",
    });
  });
});

/** The local backend, with a change right after a real path was resolved. */
async function withIntruder(here: Layout, intrude: (looked: string) => void): Promise<Backend> {
  const inner = await local({ workDir: here.workDir, home: here.home, outputFolder: here.stateDir });
  const { stat, open, write, list, remove } = inner.files;
  const realPath = async (path: string) => {
    const real = await inner.files.realPath(path);
    intrude(real);
    return real;
  };
  return { ...inner, files: { realPath, stat, open, write, list, remove } };
}

test("a folder exchanged for a link between the check and the use is refused", async () => {
  const here = await prepared();
  let looks = 0;
  const backend = await withIntruder(here, (looked) => {
    if (!looked.endsWith("folder/secret.txt") || ++looks !== 1) return;
    rmSync(join(here.workDir, "folder"), { recursive: true });
    symlinkSync(here.outside, join(here.workDir, "folder"));
  });
  await writeFile(join(here.workDir, "folder/secret.txt"), "harmless\n");
  const tool = declaring([{ kind: "read", path: "folder/secret.txt" }], ({ backend: confined }) =>
    textOf(confined, "folder/secret.txt"),
  );
  const toolkit = await here.toolkit({
    preset: "none",
    tools: [tool],
    target: backend,
    policy: { forbiddenPaths: [] },
  });
  const result = await toolkit.call({ name: "doing", input: {} });
  expect(looks).toBe(1);
  expect(result).toMatchObject({ status: "failed", message: expect.stringContaining("was replaced while") as string });
  expect(JSON.stringify(result)).not.toContain("secret\\n");
});

test("a tool gets what was seen of files it may read, and of no others", async () => {
  const told: (string | undefined)[] = [];
  const peeking = defineTool({
    name: "peeking",
    description: "Asks what was seen.",
    touches: ["read"],
    input: {},
    effects: () => [{ kind: "read", path: "mine.txt" }],
    async run(_, { seen, backend }) {
      for (const name of ["mine.txt", "other.txt"]) {
        told.push(Buffer.from(seen.recall(`${backend.workDir}/${name}`)?.content ?? []).toString());
      }
      return null;
    },
  });
  const workDir = await workspace({ "mine.txt": "mine", "other.txt": "other" });
  const toolkit = await toolkitWith({ preset: "coding", tools: [peeking], workDir });
  for (const path of ["mine.txt", "other.txt"]) await toolkit.call({ name: "read", input: { path } });
  expect(await toolkit.call({ name: "peeking", input: {} })).toMatchObject({ status: "ok" });
  expect(told).toEqual(["mine", ""]);
});
