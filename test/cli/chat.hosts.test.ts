// The chat at a real terminal: a pane of tmux.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fixture, LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { quoteWords } from "../../src/core/util/quote.ts";
import { testServer, tmuxProblem } from "../machine/tmux-server.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, PROGRAM, commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

const problem = tmuxProblem();
mustBeHere("the chat at a terminal", problem);

/** The editor without text, and no turn. */
const IDLE = /^>\n─+\n(?!.*Esc stops)/m;
/** The keys of a question. */
const ASKED = /^│ y {2}once /m;

interface TerminalSettings {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: { readonly [name: string]: string };
  /** True for a shell with job control, which runs the chat. Default false. */
  readonly interactive?: boolean;
}

interface Person {
  /** Waits until this is on the screen, and returns the screen. */
  sees(text: string | RegExp): Promise<string>;
  /** Sends keys by their tmux names, and other text as it is. */
  types(...keys: readonly string[]): Promise<unknown>;
  screen(...options: readonly string[]): Promise<string>;
  /** Goes to the open question, and answers it. */
  answers(...keys: readonly string[]): Promise<unknown>;
  resize(columns: number): Promise<unknown>;
  pastes(text: string): Promise<unknown>;
}

describe.skipIf(problem !== undefined)("handrail chat in a pane of tmux", () => {
  const tmux = testServer();
  const mock = new LLMock({ port: 0 });
  beforeAll(() => mock.start());
  afterAll(() => mock.stop());

  /** A person at a terminal that runs `handrail chat`. */
  async function person(
    { folder, stateHome, configHome }: CommandLine,
    args: readonly string[],
    { columns = 100, rows = 50, env = {}, interactive = false }: TerminalSettings = {},
  ): Promise<Person> {
    const variables = { XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: configHome, NO_COLOR: "", ...env };
    const words = [
      ...["env", "-u", "TMUX", "-u", "TMUX_PANE", "-C", folder],
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      ...[process.execPath, PROGRAM, "chat", "--sandbox", "off", ...args],
    ];
    const chat = `${quoteWords(words)}; echo "left with $?"`;
    const command = interactive ? "env PS1='$ ' bash --norc --noprofile -i" : `${chat}; sleep 1000`;
    const size = ["-x", String(columns), "-y", String(rows)];
    const pane = await tmux.run("new-session", "-d", ...size, "-P", "-F", "#{pane_id}", command);
    if (interactive) await tmux.run("send-keys", "-t", pane, chat, "Enter");
    const screen = (...options: readonly string[]) => tmux.run("capture-pane", "-p", "-t", pane, ...options);
    return {
      screen,
      async sees(text) {
        let seen = "";
        await until(`the person sees ${String(text)}`, async () => {
          seen = await screen();
          return typeof text === "string" ? seen.includes(text) : text.test(seen);
        }).catch((error: Error) => {
          throw new Error(`${error.message}; the screen:\n${seen}`);
        });
        return seen;
      },
      types: (...keys) => tmux.run("send-keys", "-t", pane, ...keys),
      answers: (...keys) => tmux.run("send-keys", "-t", pane, "Tab", ...keys),
      pastes: async (text) => {
        await tmux.run("set-buffer", text);
        await tmux.run("paste-buffer", "-p", "-t", pane);
      },
      resize: (to) => tmux.run("resize-window", "-t", pane, "-x", String(to)),
    };
  }

  /** Returns the prompt with which the mock's model gives these replies, in order. */
  function replies(...all: readonly Omit<Fixture, "match">[]): readonly string[] {
    mock.clearFixtures();
    let at = 0;
    for (const [index, { response, ...how }] of all.entries()) {
      mock.addFixture({
        match: { predicate: () => at === index },
        response: async () => (at++, response as never),
        ...how,
      });
    }
    return ["--model", "openai-compatible:mock", "--base-url", `${mock.url}/v1`];
  }

  const says = (content: string) => ({ response: { content } });
  const runs = (...commands: readonly string[]) => ({
    response: { toolCalls: commands.map((command) => ({ name: "bash", arguments: JSON.stringify({ command }) })) },
  });

  test("shows each call as a block, asks, and tells the model the reason of a refusal", async () => {
    const { sees, types, answers, screen } = await person(await commandLine(SUM), await repairingModel());
    await sees(IDLE);
    await types("Repair it", "Enter");
    const asked = await sees(ASKED);
    expect(asked).toMatch(/^╭ \? Run · medium risk ─.*\n│ node --test .*\n│ +│\n│ Medium-risk command.*\n│ Folder \//m);
    await answers("y");
    const again = await sees(/● edit {2}sum\.mjs[^]*^│ y {2}once/m);
    expect(again).toMatch(/● bash {2}node --test +exit 1 · \d.*\n {2}… \d+ lines above \(Ctrl-O\)\n( {2}│ .*\n){6}/);
    expect(again).toMatch(
      /● edit {2}sum\.mjs +\+1 −1 · .*\n.*\n {2}│ 2 - {3}return a - b;\n {2}│ 2 \+ {3}return a \+ b;/,
    );
    expect(await screen("-e")).toMatch(/\x1b\[32m.*return a \x1b\[1;4m\+\x1b\[0m/);
    await answers("n", "not again", "Enter");
    await sees("The tests could not be run: Command execution denied by user. not again");
    await types("/exit", "Enter");
    expect(await sees("left with 0")).toMatch(/To continue: handrail chat --resume \w+/);
  });

  test("shows the title and what was said when it continues a thread", async () => {
    const line = await commandLine();
    const first = await person(line, replies(says("The first answer.")));
    await first.sees(IDLE);
    await first.types("A first question", "Enter");
    await first.sees("The first answer.");
    await first.types("/exit", "Enter");
    const [, id = ""] = /--resume (\w+)/.exec(await first.sees("left with 0")) ?? [];
    const second = await person(line, ["--resume", id]);
    expect(await second.sees(IDLE)).toMatch(
      /· openai-compatible:mock\n.*\nContinued: A first question\n> A first question\nThe first answer\.\n/,
    );
    await second.types("/resume nothere", "Enter");
    await second.sees("there is no thread nothere. /resume lists");
    await second.types("Escape", "Escape");
    await second.sees(/^Back to before which message\?\n {2}→ .*"A first question"/m);
    await second.types("Enter");
    await second.sees(/^ {2}→ the conversation and the files$/m);
    await second.types("Enter");
    expect(await second.sees(/^> A first question\n─/m)).toContain('Back to before "A first question".');
  });

  test("a job that ends while the prompt waits is reported, and leaving with a running job asks", async () => {
    const line = await commandLine();
    const starts = (command: string) => ({
      response: { toolCalls: [{ name: "bash", arguments: JSON.stringify({ command, background: true }) }] },
    });
    const model = replies(starts("until [ -e go ]; do sleep 0.02; done; exit 3"), starts("sleep 1000"), says("Begun."));
    const { sees, types } = await person(line, [...model, "--yes"]);
    await sees(IDLE);
    await types("Start them", "Enter");
    await sees(new RegExp(`Begun\\.\\n[^]*${IDLE.source}`, "m"));
    await types("half");
    await sees(/^> half$/m);
    await writeFile(join(line.folder, "go"), "");
    await sees(/^Job 1 has ended: until .*exit 3\. Exit code 3\.\n[^]*^> half$/m);
    await types("C-u", "/exit", "Enter");
    await sees(/^\? Job 2 is running: sleep 1000\n.*\[y\/N\]$/m);
    await types("n");
    await sees(/no\n[^]*^>$/m);
    await types("C-d");
    await sees(/\[y\/N\]\n[^]*\[y\/N\]$/m);
    await types("n");
    await sees(/(\[y\/N\]\n {2}no\n[^]*){2}>$/m);
    await types("/jobs", "Enter");
    await sees(/^2 {2}running {2}sleep 1000$/m);
    await types("C-d");
    await sees(/(\[y\/N\]\n[^]*){3}/);
    await types("y");
    expect(await sees("left with 0")).toMatch(/Job 2 is running: sleep 1000/);
  });

  test("commands are accepted at an open question, which stays open", async () => {
    const { sees, types } = await person(await commandLine(SUM), await repairingModel());
    await sees(IDLE);
    await types("Repair it", "Enter");
    await sees(ASKED);
    await types("/jobs", "Enter");
    await sees(/^> \/jobs\n[^]*\(no jobs\)\n[^]*^│ y {2}once/m);
    await types("/new", "Enter");
    await sees(/^ {2}after the turn: \/new/m);
    await types("/quit", "Enter");
    expect(await sees("left with 0")).toMatch(/● bash {2}node --test +aborted/);
  });

  test("Escape and Ctrl-C at a question: the editor, then the end of the turn; the editor works again", async () => {
    const { sees, types } = await person(await commandLine(SUM), await repairingModel());
    await sees(IDLE);
    await types("Repair it", "Enter");
    await sees(ASKED);
    await types("Escape");
    await sees(/^ Tab answers the question$/m);
    await types("C-c");
    expect(await sees(/Stopped\.\n[^]*^>$/m)).toMatch(/● bash {2}node --test +aborted/);
    await types("/exot", "BSpace", "BSpace", "it", "Enter");
    await sees("left with 0");
  });

  test("what is typed when a question appears does not answer it, and stays in the editor", async () => {
    const { sees, types, answers } = await person(await commandLine(SUM), await repairingModel());
    await sees(IDLE);
    await types("Repair it", "Enter", "yes, and");
    await sees(/^│ y {2}once[^]*^> yes, and$/m);
    await types("y"); // belongs to the text
    await sees(/^> yes, andy$/m);
    await answers("n", "Enter");
    expect(await sees(/The tests could not be run[^]*^> yes, andy$/m)).toContain("denied by user.");
  });

  test("Escape stops a reply, Ctrl-C a command; a message steers or waits, and can be taken back", async () => {
    const line = await commandLine();
    const slow = { ...says("word ".repeat(200)), latency: 40, chunkSize: 5 };
    const model = replies(slow, runs("echo begun; sleep 100", "sleep 101"), says("Both were stopped."), says("Bye."));
    const { sees, types, screen } = await person(line, [...model, "--yes"]);
    await sees(IDLE);
    await types("Talk", "Enter");
    await sees("word word word");
    await types("Escape");
    await sees("Stopped.");
    await types("Now run", "Enter");
    await sees(/◌ bash {2}sleep 101 +waiting$/m);
    await types("and then?", "Enter");
    await sees(/^ {2}queued: and then\? +↑ edit · Enter now$/m);
    await types("later", "M-Enter");
    await sees(/^ {2}after the turn: later +↑ edit · Enter now$/m);
    await types("Up");
    await sees(/^> later$/m);
    await types("C-u", "half");
    await sees(/^> half$/m);
    await types("C-c"); // clears the line first, which Up recalls
    await sees(/^>$/m);
    await types("C-c");
    const after = await sees(/Both were stopped\.\n[^]*^>\n─+\n(?!.*Esc stops)/m);
    expect(after).toMatch(
      /● bash {2}echo begun; sleep 100 +aborted.*\n(.*\n)*> and then\?\n(.*\n)*Both were stopped\./,
    );
    expect(await screen()).not.toMatch(/queued:|waiting$/m);
    await types("Up");
    await sees(/^> half$/m);
    await types("C-c");
    await sees(IDLE);
    await types("C-c");
    await sees("Press Ctrl-C again to exit.");
    await types("C-c");
    await sees("left with 0");
    const store = sqliteStore({ file: join(line.stateHome, "handrail", "handrail.db") });
    const seen = { called: [] as string[], answered: [] as string[] };
    for await (const event of store.events({ messages: true })) {
      if (event.type !== "message.added") continue;
      if (event.message.role === "tool") seen.answered.push(event.message.call);
      if (event.message.role === "assistant")
        for (const part of event.message.content) if (part.type === "call") seen.called.push(part.id);
    }
    await store.close();
    expect(seen.called).toHaveLength(2);
    expect(seen.answered.toSorted()).toEqual(seen.called.toSorted());
  });

  test("draws in 60 columns, without colours, and after the terminal has become narrower", async () => {
    const command = `echo ${"wide ".repeat(30)}; sleep 100`;
    const model = replies(runs(command), says("Done."));
    const { sees, types, screen, resize } = await person(await commandLine(), [...model, "--yes"], {
      columns: 60,
      env: { NO_COLOR: "1" },
    });
    await sees(IDLE);
    await types("Run it", "Enter");
    await sees(/^ {2}│ wide wide .*…$/m);
    await types("half");
    await resize(40);
    await sees(/^ {2}│ wide.{1,32}…$/m);
    await sees(/^─{40}\n> half\n─{40}$/m);
    await resize(80);
    await sees(/^─{80}\n> half\n─{80}$/m);
    await types("Escape");
    await sees("Stopped.");
    const end = await screen("-e", "-S", "-");
    expect(end).not.toMatch(/\x1b\[\d/);
    expect(end.match(/bash {2}echo/g)).toHaveLength(1);
    expect(end.match(/^> half$/gm)).toHaveLength(1);
  });

  test("shows the activity of a sub-agent, whose questions name it", async () => {
    const line = await commandLine(SUM);
    await mkdir(join(line.configHome, "handrail"), { recursive: true });
    const agents = "agents: { fixer: { instructions: Repairs tests. } }\n";
    await writeFile(join(line.configHome, "handrail", "config.yaml"), agents);
    const task = JSON.stringify({ agent: "fixer", prompt: "Repair it" });
    const delegates = { response: { toolCalls: [{ name: "delegate", arguments: task }] } };
    const { sees, types, answers } = await person(
      line,
      replies(delegates, runs("node --test"), says("I may not."), says("It is repaired.")),
    );
    await sees(IDLE);
    await types("/tools", "Enter");
    await sees(/^delegate +Delegate$/m);
    await types("Have it repaired", "Enter");
    await sees(/^╭ \? Delegate to · [^]*^│ fixer: Repair it [^]*^│ s {2}this session: Delegate to: fixer/m);
    await answers("y");
    await sees(/^╭ \? Agent fixer asks: Run · [^]*^│ node --test /m);
    await answers("n", "Enter");
    expect(await sees("It is repaired.")).toMatch(/^● delegate {2}fixer: Repair it +\d/m);
  });

  test("prompts of an MCP server are commands, even while it is starting", async () => {
    const line = await commandLine();
    const server = join(projectRoot, "test/fixtures/mcp/foreign-server.mjs");
    const config = `tools: { mcp: { other: { command: ${process.execPath}, args: [${server}, '2026-07-28'] } } }\n`;
    await mkdir(join(line.configHome, "handrail"), { recursive: true });
    await writeFile(join(line.configHome, "handrail", "config.yaml"), config);
    const { sees, types } = await person(line, replies(says("It is fine.")));
    await sees(IDLE);
    await types("/other:review", "Enter");
    await sees("/other:review needs file");
    await types("/help", "Enter");
    await sees(/^\/other:review file +Reviews a file$/m);
    await types("/other:review sum.mjs", "Enter");
    await sees("It is fine.");
    const { messages } = mock.getRequests().at(-1)!.body as { messages: readonly { content: unknown }[] };
    expect(messages.at(-1)?.content).toContain("Review sum.mjs.");
  });

  test("a pasted text of several lines is one message", async () => {
    const { sees, types, pastes } = await person(await commandLine(), replies(says("One.")));
    await sees(IDLE);
    await pastes("first line\nsecond line");
    await sees(/^> first line\n {2}second line$/m);
    const many = Array.from({ length: 200 }, (_, index) => `line ${index + 1}`);
    await types("C-j");
    await pastes(many.join("\n"));
    await sees(/^ {2}\[paste #1 · 200 lines · 1\.7KB\]$/m);
    await types("and", "C-j", "more", "Enter");
    expect(await sees("One.")).toMatch(/^> first line\n {2}second line\n {2}\[paste #1 .*\]and\n {2}more$/m);
    const { messages } = mock.getRequests().at(-1)!.body as { messages: readonly { content: unknown }[] };
    const text = JSON.stringify(messages.at(-1));
    expect(text).toContain("first line\\nsecond line\\nline 1\\n");
    expect(text).toContain("\\nline 200and\\nmore");
  });

  test("at 60 columns text is wrapped between words, below its column", async () => {
    const { sees, types, answers } = await person(await commandLine(), replies(runs("touch made"), says("Well.")), {
      columns: 60,
    });
    await sees(IDLE);
    await types("/help", "Enter");
    const help = await sees(/@ completes paths[^]*^> *$/m);
    expect(help).toMatch(/^\/diff {26}show what this thread has\n {31}changed in files$/m);
    await types("Do it", "Enter");
    await sees(ASKED);
    await answers("n", "Leave that folder as it is, and make a new one beside it", "Enter");
    const seen = await sees("Well.");
    expect(seen).toMatch(/^● bash {2}touch made +denied · \d\.\d+ s\n {2}│ Command .*\n {2}│ \S.*beside it$/m);
  });

  test("without a model a person is offered the demo, whose practice project ends with /undo", async () => {
    const line = await commandLine();
    const { sees, types, answers } = await person(line, [], {
      columns: 80,
      env: { OLLAMA_HOST: "127.0.0.1:9" },
    });
    await sees(/No model is chosen, and there is no key[^]*d {2}start the demo[^]*d, q\?$/m);
    await types("d", "Enter");
    await sees(/Write "practice"[^]*^>$/m);
    await types("hello", "Enter");
    await sees(/^Hello! I am the demo model[^]*^>$/m);
    expect(await readdir(line.folder)).not.toContain("practice");
    await types("practice", "Enter");
    for (const title of ["node check.mjs", "for n in 1 2 3", "pre-commit"]) {
      await sees(new RegExp(`${title}[^]*^│ y {2}(?:this change, )?once`, "m"));
      await answers("y");
    }
    await sees(/That was the practice project\.[^]*^>$/m);
    expect(await readdir(join(line.folder, "practice"))).toContain(".husky");
    await types("/undo yes", "Enter");
    await sees(/^Restored|restored/m);
    expect(await readdir(line.folder)).not.toContain("practice");
  });

  test("accepts commands", async () => {
    const { sees, types } = await person(await commandLine(), ["--model", "demo"]);
    await sees(IDLE);
    for (const [typed, shown] of [
      ["/nothing", "there is no command /nothing. Commands: /help"],
      ["/too", /^read +Read/m], // the first of the list
      ["/tools", /^read +Read/m],
      ["/model opnai:x", 'unknown provider "opnai"'],
      ["/approve none", "Questions are refused."],
      ["/approve 10m", /approved until \d\d:\d\d:\d\d\./],
      ["/jobs", "(no jobs)"],
      ["/resume", "(no threads in this folder)"],
      ["/new", /^Thread \w+$/m],
    ] as const) {
      await types(typed, "Enter");
      await sees(shown);
    }
    await types("C-d");
    expect(await sees("left with 0")).not.toContain("To continue"); // there is nothing to continue
  });

  test("Ctrl-Z gives the terminal back, and fg draws again what was typed", async () => {
    const model = replies(says("word ".repeat(100)));
    const { sees, types } = await person(await commandLine(), model, { interactive: true });
    await sees(IDLE);
    await types("Talk", "Enter");
    await sees(/word word[^]*^>\n─+\n(?!.*Esc stops)/m);
    await types("half");
    await sees(/^> half$/m);
    await types("C-z");
    await sees(/Stopped[^]*^\$ *$/m);
    await types("echo 'in the' shell", "Enter"); // lines are edited by the shell again
    await sees(/^in the shell$/m);
    await types("fg", "Enter");
    await sees(/^in the shell\n\$ fg\n[^]*^─+\n> half\n─+$/m);
    await types(" a line", "C-j", "more");
    expect(await sees(/^> half a line\n {2}more$/m)).toContain("in the shell");
  });

  test("the pager shows what was folded, $EDITOR writes, and an own command is read with the next message", async () => {
    const line = await commandLine({ "notes.md": "hello\n" });
    const editor = join(temporaryFolder(), "ed.sh"); // not in the workspace, where a tool could write it
    await writeFile(editor, "#!/bin/sh\nprintf '\\nmore' >> \"$1\"\n", { mode: 0o755 });
    const { sees, types } = await person(line, [...replies(runs("seq 1000 1999"), says("Done.")), "--yes"], {
      env: { PAGER: "less -R", EDITOR: editor, VISUAL: "" },
    });
    await sees(IDLE);
    await types("Count", "Enter");
    const counted = await sees(/Done\.[^]*^>\n/m);
    expect(counted).toMatch(/1999/);
    expect(counted).not.toMatch(/1500/);
    await types("C-o");
    await sees(/1003\n1004\n[^]*^:/m);
    await types("q");
    await sees(IDLE);
    await types("see @not", "Tab");
    await sees(/^> see @notes\.md$/m);
    await types("C-g");
    await sees(/^> see @notes\.md\n {2}more$/m);
    await types("C-c", "!cat notes.md", "Enter");
    await sees(/^> !cat notes\.md\n\n● .*cat notes\.md[^]*hello[^]*^>\n/m);
    await types("And now?", "Enter");
    await until("the model has read it", async () => JSON.stringify(mock.getRequests().at(-1)?.body).includes("now?"));
    const { messages } = mock.getRequests().at(-1)!.body as { messages: readonly { content: unknown }[] };
    expect(JSON.stringify(messages.at(-1))).toMatch(
      /And now\?.*\[I ran this command myself\.\].*\$ cat notes\.md.*hello/,
    );
  });

  test("at 60x20 a long output leaves the editor and the status on the screen", async () => {
    const model = replies(runs("seq 10000; sleep 100", "sleep 101", "sleep 102"), says("Done."));
    const { sees, types } = await person(await commandLine(), [...model, "--yes"], { columns: 60, rows: 20 });
    await sees(IDLE);
    await types("Run them", "Enter");
    const running = await sees(/10000\n[^]*^>\n─{60}\n.*$/m);
    expect(running.trimEnd().split("\n").length).toBeLessThanOrEqual(20);
    await types("half", "C-j", "done");
    await sees(/^> half\n {2}done\n─{60}\n/m);
    await types("Escape");
    await sees(/Stopped\.[^]*^> half\n {2}done\n─{60}\n/m);
  });
});
