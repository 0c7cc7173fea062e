import type { Command } from "commander";
import type { MemoryAction } from "./commands/memory.ts";
import type { GlobalOptions } from "./options.ts";

/** Adds `handrail memory` to the program. `given` puts the options of a command together. */
export function addMemoryCommands(root: Command, given: (command: Command) => GlobalOptions): void {
  const memory = root.command("memory").description("look after what the memory tools have stored");
  const action = (name: MemoryAction, description: string) =>
    memory.command(name, { isDefault: name === "list" }).description(description);
  const run = async (command: Command, argument: string) =>
    (await import("./commands/memory.ts")).useMemories(command.name() as MemoryAction, argument, given(command));

  action("list", "list them, the newest first").action((_, command: Command) => run(command, ""));
  action("search", "find them by words, as memory_recall does")
    .argument("<query>")
    .action((query: string, _, command: Command) => run(command, query));
  action("show", "print one")
    .argument("<key>")
    .action((key: string, _, command: Command) => run(command, key));
  action("forget", "remove one")
    .argument("<key>")
    .action((key: string, _, command: Command) => run(command, key));
  action("export", "print all as lines of JSON").action((_, command: Command) => run(command, ""));
  action("import", "store what export has printed; the same keys are replaced")
    .argument("<file>", "- reads stdin")
    .action((file: string, _, command: Command) => run(command, file));
}
