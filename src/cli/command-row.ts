/** A command, or a group of commands. */
export interface CommandRow {
  readonly summary: string;
  /** The arguments, in their order: `<id>`, `[id]` if it may be omitted, `[args...]` for the rest. */
  readonly args?: readonly Arg[];
  readonly flags?: readonly Flag[];
  /** Gives a person's answers, so what a model started may not run it. Holds for the commands of a group too. */
  readonly person?: true;
  /** The command's module, loaded when the command runs. A command without a module is in the module of its group. */
  readonly load?: () => Promise<CommandModule>;
  /** The commands of a group. `list` runs when none is named, unless the group is a command too (`isCommand`). */
  readonly commands?: CommandTable;
  readonly isCommand?: true;
}

/** What a command does; in the module of a group by the names of its commands. */
interface CommandModule {
  readonly run: Run | { readonly [name: string]: Run };
}

/** Gets the arguments, `undefined` for omitted ones, then all options. Resolves to the exit code; default: 0. */
export type Run = (...given: never[]) => Promise<number | void>;

export type CommandTable = { readonly [name: string]: CommandRow };

export type Arg = readonly [spec: string, help?: string, choices?: readonly string[]];

export type Flag = readonly [spec: string, help: string, more?: FlagOptions];

interface FlagOptions {
  readonly choices?: readonly string[];
  readonly default?: string;
  /** Parses the value; `before` is the value of an earlier flag of the same name. Throws InvalidArgumentError. */
  readonly parse?: (value: string, before: never) => unknown;
  /** The name of an option that cannot be given together with this one. */
  readonly conflicts?: string;
}
