import { type Command, Option } from "commander";
import type { AddOptions, RunnerCommandOptions } from "./commands/cron.ts";
import type { Given, GlobalOptions } from "./options.ts";
import { requirePerson } from "./people.ts";
import { wholeNumber } from "./whole-number.ts";

/** Adds the commands on schedules. */
export function addCronCommands(root: Command, given: Given): void {
  const cron = root
    .command("cron")
    .description("list, add and run schedules: work that starts by itself")
    .hook("preAction", requirePerson);
  const load = () => import("./commands/cron.ts");
  type Own<O> = Omit<O, keyof GlobalOptions>;

  cron
    .command("list", { isDefault: true })
    .description("list the schedules of all folders")
    .option("--json", "print them as JSON")
    .action(async (_, command: Command) =>
      (await load()).listSchedules(given(command, command.opts<{ json?: true }>())),
    );
  cron
    .command("add")
    .description("add a schedule for this folder: a command, or with --prompt an agent")
    .argument("[command]", "the shell command")
    .option("--name <name>", "what it is called (default: the command)")
    .option("--cron <expression>", 'when it runs: "30 2 * * *"')
    .option("--at <time>", 'once: "2027-01-31T09:00"')
    .option("--every <seconds>", "again and again", wholeNumber)
    .option("--on-file <path>", "when this file changes")
    .option("--on-request", "when a signed HTTP request arrives")
    .option("--tz <zone>", 'the time zone, such as "Europe/Berlin" (default: that of this machine)')
    .option("--prompt <text>", "a task for an agent, in place of a command")
    .option("--use <agent>", "with --prompt: an agent of the configuration")
    .addOption(
      new Option("--overlap <how>", "when the run before it has not ended").choices(["skip", "queue", "replace"]),
    )
    .option("--max-seconds <n>", "how long a run may take (default: 120; an agent: 1800)", wholeNumber)
    .option("--keep", "keep a schedule that runs once after its run")
    .action(async (text: string | undefined, _, command: Command) =>
      (await load()).addSchedule(text, given(command, command.opts<Own<AddOptions>>())),
    );
  for (const [action, description] of CHANGES) {
    cron
      .command(action)
      .description(description)
      .argument("<id>")
      .action(async (id: string, _, command: Command) => (await load()).changeSchedule(action, id, given(command, {})));
  }
  withModel(cron.command("run").description("run a schedule now").argument("<id>")).action(
    async (id: string, _, command: Command) =>
      (await load()).runSchedule(id, given(command, command.opts<Own<RunnerCommandOptions>>())),
  );
  cron
    .command("log")
    .description("print the runs, the newest first")
    .argument("[id]", "only those of a schedule")
    .option("--json", "print each as a line of JSON")
    .action(async (id: string | undefined, _, command: Command) =>
      (await load()).logRuns(id, given(command, command.opts<{ json?: true }>())),
    );
  withModel(cron.command("runner").description("run the schedules of this folder, until Ctrl-C")).action(
    async (_, command: Command) =>
      (await load()).runSchedules(given(command, command.opts<Own<RunnerCommandOptions>>())),
  );
}

const CHANGES = [
  ["remove", "remove a schedule; its runs stay in the log"],
  ["pause", "pause a schedule"],
  ["resume", "resume a schedule that is paused; missed runs are not made up"],
  ["secret", "print how requests that start a run are signed"],
] as const;

function withModel(command: Command): Command {
  return command
    .option("--model <model>", "the model of agents: PROVIDER:NAME")
    .option("--base-url <url>", "the URL of the model's API");
}
