import { stat } from "node:fs/promises";
import { findConfig } from "../../app/config/find.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { CLIENT, CLIENTS, type ClientName } from "../../connect/guard/clients.ts";
import { type Guard, createGuard } from "../../connect/guard/judge.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { messageOf } from "../../core/util/errors.ts";
import type { GlobalOptions } from "../options.ts";
import { settingsFrom, toolkitOptions } from "../settings.ts";
import { type HookAnswer, type HookRequest, blocked } from "./hook-client.ts";
import { contained } from "./ticket.ts";

/** How long to wait for an answer, in milliseconds: less than the ten minutes that clients give a hook. */
const WAIT_MS = 570_000;

const QUIET: HookAnswer = { stdout: "", stderr: "", code: 0 };

/** Answers events of clients. Keeps the toolkit of each project. */
export interface Answers {
  /** Never rejects: whatever fails blocks the call. */
  answer(request: HookRequest): Promise<HookAnswer>;
  /** Whether a client runs a call. */
  isBusy(): Promise<boolean>;
  close(): Promise<void>;
}

export function createAnswers(options: GlobalOptions): Answers {
  const projects = new Map<string, Promise<Project>>();

  /** The toolkit of a project, opened again when a file of its configuration has changed. */
  const projectAt = (folder: string): Promise<Project> => {
    const before = projects.get(folder);
    const now = (async () => {
      const open = await before?.catch(() => undefined);
      const version = await versionOf(options, folder);
      if (open?.version === version) return open;
      await open?.toolkit.close();
      return openProject({ ...options, workDir: folder }, version);
    })();
    projects.set(folder, now); // at once: calls that begin together share one toolkit
    return now;
  };
  const openProjects = async () =>
    (await Promise.allSettled(projects.values())).flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));

  const answered = async ({ client: name, written, env, isUnattended }: HookRequest): Promise<HookAnswer> => {
    const client = clientOf(name);
    const read = CLIENT[client].read(parsed(written), env);
    if (read === undefined) return QUIET;
    const happening = isUnattended === true ? { ...read, isUnattended } : read;
    const { guard } = await projectAt(happening.project);
    if (happening.phase === "prompt") await guard.prompt(client, happening);
    if (happening.phase === "after") guard.after(client, happening);
    if (happening.phase !== "before") return QUIET;
    const verdict = await guard.before(client, happening);
    return verdict.verdict === "pass" ? QUIET : { ...QUIET, stdout: CLIENT[client].reply(verdict) };
  };

  return {
    answer: (request) => answered(request).catch((error: unknown) => blocked(messageOf(error))),
    isBusy: async () => (await openProjects()).some(({ guard }) => guard.running() > 0),
    async close() {
      await Promise.all((await openProjects()).map(({ toolkit }) => toolkit.close()));
    },
  };
}

interface Project {
  readonly toolkit: Toolkit;
  readonly guard: Guard;
  readonly version: string;
}

async function openProject(options: GlobalOptions, version: string): Promise<Project> {
  const { guard } = await settingsFrom(options);
  const toolkit = await createToolkit({
    ...(await toolkitOptions(options)),
    preset: "none",
    filesOf: "machine", // the client does the work
    park: { afterMs: WAIT_MS },
    howToApprove: "To allow it, a person answers the question in `handrail approvals`, the console or on a phone.",
  });
  return {
    toolkit,
    guard: createGuard({ toolkit, ask: guard.ask, contained: (run) => contained(options.io, run) }),
    version,
  };
}

/** A text that changes when a configuration file does. */
async function versionOf({ io, config }: GlobalOptions, folder: string): Promise<string> {
  const files = Object.values(
    findConfig({ env: io.env, cwd: io.cwd, from: folder, ...(config !== undefined && { named: config }) }),
  );
  const infos = await Promise.all(
    files
      .flat()
      .map(async (file) => (typeof file === "string" ? (await stat(file).catch(() => undefined))?.mtimeMs : 0)),
  );
  return JSON.stringify([files, infos]);
}

function clientOf(name: string): ClientName {
  const client = CLIENTS.find((each) => each === name);
  if (client !== undefined) return client;
  throw new Error(`there is no client ${JSON.stringify(name)}: expected ${CLIENTS.join(", ")}`);
}

function parsed(written: string): { readonly [name: string]: unknown } {
  try {
    const event: unknown = JSON.parse(written);
    if (typeof event === "object" && event !== null && !Array.isArray(event)) return event as never;
  } catch {
    // reported below
  }
  throw new Error(`expected an event as a JSON object on stdin, got ${JSON.stringify(written.slice(0, 60))}`);
}
