import { Type } from "typebox";

// The answers of the API. Members that are not listed here are described by the package's types (`StoredEvent`,
// `ThreadMessage`).
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

export const MESSAGE = Type.Object(
  {
    id: Type.Integer({ description: "Messages are in the order of their ids." }),
    changed: Type.Integer({ description: "The id of the event that changed it last: pass the greatest as `after`." }),
    thread: Type.String(),
    at: time("When it was made."),
    role: Type.Enum(["user", "assistant", "tool"]),
  },
  open,
);

export const QUESTION = Type.Object(
  {
    question: Type.String(),
    call: Type.String(),
    thread: Type.String(),
    name: Type.String({ description: "The tool." }),
    agent: Type.Optional(Type.String({ description: "The sub-agent that makes the call, if one does." })),
    askedMs: time("When it was asked."),
    ask: Type.String({ description: "What the call would do, and why it is asked about, in words." }),
    parked: Type.Optional(
      Type.Object(
        { untilMs: time("When it expires."), changed: Type.Optional(Type.Array(Type.String())) },
        { description: "No process waits for the answer. `changed`: what has changed since it was approved before." },
      ),
    ),
    longest: Type.Enum(["once", "session", "always"], { description: "The longest approval that can be given." }),
    whyNot: Type.Optional(Type.String({ description: "Why it cannot be approved from here, and where it can be." })),
    decision: Type.Object({ risk: Type.String() }, open),
  },
  open,
);

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

export const TOOL = Type.Object(
  { name: Type.String(), description: Type.String(), parameters: Type.Object({}, open) },
  open,
);

export const list = (name: string, schema: Parameters<typeof Type.Array>[0]) =>
  Type.Object({ [name]: Type.Array(schema) });
