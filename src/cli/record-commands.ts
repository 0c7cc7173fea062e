import { Argument, type Command, Option } from "commander";
import type { MemoryAction } from "./commands/memory.ts";
import type { Given } from "./options.ts";
import { requirePerson } from "./people.ts";

/** Adds the commands on what all processes share: threads, questions, jobs and memories. */
export function addRecordCommands(root: Command, given: Given): void {
  const threads = root.command("threads").description("list threads and print their messages, of every process");
  threads
    .command("list", { isDefault: true })
    .description("list the threads")
    .option("--json", "print each as a line of JSON")
    .action(async (_, command: Command) => {
      await (await import("./commands/threads.ts")).listThreads(given(command, command.opts<{ json?: true }>()));
    });
  threads
    .command("show")
    .description("print the messages of a thread")
    .argument("<id>")
    .option("--json", "print each as a line of JSON")
    .action(async (id: string, _, command: Command) => {
      await (await import("./commands/threads.ts")).showThread(id, given(command, command.opts<{ json?: true }>()));
    });
  threads
    .command("follow")
    .description("print the messages, and each one again when it changes, until Ctrl-C")
    .argument("<id>")
    .option("--json", "print each as a line of JSON")
    .action(async (id: string, _, command: Command) => {
      const { showThread } = await import("./commands/threads.ts");
      await showThread(id, given(command, { follow: true, ...command.opts<{ json?: true }>() }));
    });

  const approvals = root
    .command("approvals")
    .description("list and answer the open questions of all processes")
    .hook("preAction", requirePerson);
  approvals
    .command("list", { isDefault: true })
    .description("list the open questions")
    .option("--json", "print them as JSON")
    .action(async (_, command: Command) => {
      await (await import("./commands/approvals.ts")).listApprovals(given(command, command.opts<{ json?: true }>()));
    });
  approvals
    .command("answer")
    .description("answer a question")
    .argument("<id>")
    .addArgument(new Argument("<answer>", "once, session and always approve it").choices(ANSWERS))
    .option("--reason <text>", "why it is refused; the model reads it")
    .option("--input <json>", "with once: the fields of the form that is asked for")
    .action(async (id: string, answer: (typeof ANSWERS)[number], _, command: Command) => {
      const { answerApproval } = await import("./commands/approvals.ts");
      await answerApproval(id, answer, given(command, command.opts<{ reason?: string; input?: string }>()));
    });
  approvals
    .command("wait")
    .description(
      "ask new questions on this terminal until Ctrl-C; meanwhile calls wait for an answer instead of being denied",
    )
    .option("--json", "print each question as a line of JSON instead")
    .action(async (_, command: Command) => {
      await (await import("./commands/approvals.ts")).waitForApprovals(given(command, command.opts<{ json?: true }>()));
    });

  const browsers = root
    .command("browsers")
    .description("list and end the sessions of browsers and phones that may open the console")
    .hook("preAction", requirePerson);
  browsers
    .command("list", { isDefault: true })
    .description("list the sessions")
    .option("--json", "print them as JSON")
    .action(async (options: { json?: true }) => {
      await (await import("./commands/browsers.ts")).listBrowsers(options);
    });
  browsers
    .command("revoke")
    .description("end one session, or all: open pages stop at once")
    .argument("[id]")
    .addOption(new Option("--all", "all sessions"))
    .action(async (id: string | undefined, options: { all?: true }) => {
      await (await import("./commands/browsers.ts")).revokeBrowsers(id, options);
    });

  const jobs = root
    .command("jobs")
    .description("list, read, stop and remove background jobs: detached ones and those of other processes");
  jobs
    .command("list", { isDefault: true })
    .description("list the jobs")
    .action(async (_, command: Command) => {
      const commands = await import("./commands/jobs.ts");
      await commands.jobs("list", undefined, given(command, {}));
    });
  jobs
    .command("output")
    .description("print the output of a job")
    .argument("<id>")
    .option("--follow", "also print new output, until the job ends")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("output", id, given(command, command.opts<{ follow?: true }>())),
    );
  jobs
    .command("kill")
    .description("stop a job and every process it started")
    .argument("<id>")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("kill", id, given(command, {})),
    );
  jobs
    .command("open")
    .description("open a port of a job in the sandbox to your browser, and print the address")
    .argument("<id>")
    .argument("<port>")
    .action(async (id: string, port: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).openJobPort(id, port, given(command, {})),
    );
  jobs
    .command("remove")
    .description("remove a job that has ended, and its output")
    .argument("<id>")
    .action(async (id: string, _, command: Command) =>
      (await import("./commands/jobs.ts")).jobs("remove", id, given(command, {})),
    );

  const memory = root.command("memory").description("list, search, remove, export and import memories");
  const action = (name: MemoryAction, description: string) =>
    memory.command(name, { isDefault: name === "list" }).description(description);
  const run = async (command: Command, argument: string) =>
    (await import("./commands/memory.ts")).useMemories(command.name() as MemoryAction, argument, given(command, {}));

  action("list", "list the memories, the newest first").action((_, command: Command) => run(command, ""));
  action("search", "search the memories, as memory_recall does")
    .argument("<query>")
    .action((query: string, _, command: Command) => run(command, query));
  action("show", "print a memory")
    .argument("<key>")
    .action((key: string, _, command: Command) => run(command, key));
  action("forget", "remove a memory")
    .argument("<key>")
    .action((key: string, _, command: Command) => run(command, key));
  action("export", "print all memories as lines of JSON").action((_, command: Command) => run(command, ""));
  action("import", "store memories that export printed; a memory with the same key is replaced")
    .argument("<file>", "- reads stdin")
    .action((file: string, _, command: Command) => run(command, file));
}

const ANSWERS = ["once", "session", "always", "refuse"] as const;
