import { Type } from "typebox";
import schemas from "./api-schemas.json" with { type: "json" };

// The answers of the API that api-types.ts does not have. There may be more members.
const open = { additionalProperties: true };
const time = (description: string) => Type.Number({ description: `${description} Milliseconds since 1970.` });

export const THREAD = Type.Object(
  {
    thread: Type.String(),
    title: Type.Optional(Type.String({ description: "The beginning of the first message of a person." })),
    target: Type.Optional(Type.String()),
    workDir: Type.Optional(Type.String()),
    parent: Type.Optional(Type.String({ description: "The call that started the thread." })),
    createdMs: time("When its first event happened."),
    changedMs: time("When its newest event happened."),
  },
  open,
);

/** The schemas of the types of api-types.ts, by their names. */
export const NAMED_SCHEMAS: { readonly [name: string]: object } = schemas;

/** Refers to the schema of a type of api-types.ts. */
export const named = (name: keyof typeof schemas) => Type.Unsafe({ $ref: `#/components/schemas/${name}` });

export const JOB = Type.Object(
  {
    id: Type.Integer(),
    call: Type.String({ description: "The call that started it." }),
    thread: Type.String(),
    command: Type.String(),
    startedMs: time("When it was started."),
    lifetime: Type.Enum(["toolkit", "detached"], {
      description: "A detached job outlives the process that started it.",
    }),
    here: Type.Boolean({ description: "True: this process has it, and serves its output." }),
    ports: Type.Array(Type.Integer(), { description: "The ports on which it listens in the sandbox, if it is here." }),
  },
  open,
);

export const GRANT = Type.Object(
  {
    id: Type.String(),
    label: Type.String({ description: "What it covers, as shown to the person." }),
    workspace: Type.Object({ backend: Type.String(), folder: Type.String() }),
    since: time("When it was given."),
    until: Type.Optional(time("When it ends.")),
  },
  open,
);

export const SCHEDULE = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    target: Type.String({ description: "The backend and the folder where it runs." }),
    words: Type.String({ description: "When it runs, in words." }),
    command: Type.Optional(Type.String()),
    prompt: Type.Optional(Type.String({ description: "Of an agent, in place of a command." })),
    paused: Type.Optional(Type.String({ description: "Why it is paused." })),
    failures: Type.Integer({ description: "Runs in a row that failed." }),
    next: Type.Array(time("Planned times: the next one, and those of the next 24 hours.")),
  },
  open,
);

export const RUN = Type.Object(
  {
    id: Type.Integer(),
    schedule: Type.String(),
    name: Type.String(),
    target: Type.String(),
    plannedMs: time("The planned time."),
    cause: Type.Enum(["clock", "person", "file", "job", "http"]),
    state: Type.Enum(["running", "waiting", "succeeded", "failed", "denied", "skipped", "interrupted"]),
    startedMs: time("When it started."),
    endedMs: Type.Optional(time("When it ended.")),
    thread: Type.Optional(Type.String({ description: "Absent for a run that was skipped." })),
    note: Type.Optional(Type.String({ description: "The end of its output, or why it ended so." })),
  },
  open,
);

export const MEMORY = Type.Object(
  {
    id: Type.Integer(),
    key: Type.String(),
    content: Type.String(),
    category: Type.Enum(["core", "daily", "conversation"]),
    storedMs: time("When it was stored."),
  },
  open,
);

export const BROWSER_SESSION = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum(["browser", "phone"]),
    name: Type.String(),
    createdMs: time("When it began."),
    usedMs: time("When it was last used, to the minute."),
    address: Type.String({ description: "The address that it was last used from." }),
  },
  open,
);

export const WORKER = Type.Object(
  {
    id: Type.String({ description: "`worker:NAME#ID` is this one." }),
    name: Type.String(),
    host: Type.String({ description: "The name of its machine." }),
    workDir: Type.String(),
    concurrency: Type.Integer({ description: "How many calls it makes at once." }),
    running: Type.Integer({ description: "The calls that it makes now." }),
    waiting: Type.Integer({ description: "The calls that wait for it, or for any worker of its name." }),
    silentMs: Type.Number({ description: "How long ago it last reported, in milliseconds." }),
    gone: Type.Boolean({ description: "True: it has been silent for so long that no call is given to its name." }),
    startedMs: time("When it started."),
  },
  open,
);

export const TOOL = Type.Object(
  { name: Type.String(), description: Type.String(), parameters: Type.Object({}, open) },
  open,
);

export const list = (name: string, schema: Parameters<typeof Type.Array>[0]) =>
  Type.Object({ [name]: Type.Array(schema) });
