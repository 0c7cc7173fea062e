import { ProgramMissing } from "../programs/programs.ts";
import { runProgram } from "../programs/start.ts";
import { clip } from "../../core/util/text.ts";

/** A container engine; its name is its command. */
export type Engine = "docker" | "podman";

export const ENGINES: readonly Engine[] = ["docker", "podman"];

/** How long an engine may take to answer; a remote one (DOCKER_HOST=ssh://…) is slow. Milliseconds. */
const LIMIT_MS = 15_000;

/** How the client of an engine has ended. */
export type Ran =
  | { readonly is: "ended"; readonly code: number; readonly stdout: string; readonly stderr: string }
  /** `why` tells where it is, if it is only where tools can write. */
  | { readonly is: "missing"; readonly why?: string }
  | { readonly is: "hung" };

/** Why an engine or a container cannot be used. */
export interface Trouble {
  readonly problem: string;
  readonly hint: string;
  /** Whether the problem may be temporary. */
  readonly mayPass: boolean;
}

/** What `handrail doctor` reports about an engine. */
export interface EngineFinding {
  readonly engine: Engine;
  /** The version of the engine itself, if it answers. */
  readonly version?: string;
  readonly problem?: string;
  readonly hint?: string;
}

/** Runs an engine's client without input. Never rejects. */
export async function runEngine(engine: Engine, args: readonly string[]): Promise<Ran> {
  try {
    const ran = await runProgram([engine, ...args], { cwd: "/", timeout: LIMIT_MS });
    if (ran.signal === "SIGKILL") return { is: "hung" };
    return { is: "ended", code: ran.code ?? 1, stdout: ran.stdout.toString(), stderr: ran.stderr.toString() };
  } catch (error) {
    const isOpen = error instanceof ProgramMissing && error.onlyIn !== undefined;
    return { is: "missing", ...(isOpen && { why: error.message }) };
  }
}

/** Checks each engine itself, not only its client. The order is always the same. Never rejects. */
export async function probeEngines(): Promise<readonly EngineFinding[]> {
  return await Promise.all(ENGINES.map(probe));
}

async function probe(engine: Engine): Promise<EngineFinding> {
  const format = engine === "docker" ? "{{.Server.Version}}" : "{{.Version.Version}}";
  const ran = await runEngine(engine, [engine === "docker" ? "version" : "info", "--format", format]);
  const version = ran.is === "ended" && ran.code === 0 ? ran.stdout.trim() : "";
  if (version !== "") return { engine, version };
  const { problem, hint } = troubleOf(engine, ran);
  return { engine, problem, hint };
}

/** Explains the failure of an engine's client. */
export function troubleOf(engine: Engine, ran: Ran): Trouble {
  if (ran.is === "missing")
    return {
      problem: ran.why ?? `${engine} is not installed`,
      hint: `Install ${engine}, or put it on the PATH.`,
      mayPass: false,
    };
  if (ran.is === "hung") {
    return {
      problem: `${engine} did not answer within ${LIMIT_MS / 1_000} s`,
      hint: `Run \`${engine} ps\` to see what it waits for.`,
      mayPass: true,
    };
  }
  const message = saidBy(ran.stderr);
  if (/permission denied while trying to connect|dial unix .*permission denied/i.test(message)) {
    return {
      problem: `this user has no access to the Docker daemon (${message})`,
      hint:
        "Add the user to the group docker (`sudo usermod -aG docker USER`) and log in again, " +
        "or use podman, which needs no daemon.",
      mayPass: false,
    };
  }
  if (/Cannot connect to (?:the Docker daemon|Podman)|connect to the docker API|error during connect/i.test(message)) {
    const start =
      engine === "docker" ? "Start it (`sudo systemctl start docker`), or" : "Start it (`podman machine start`), or";
    const variable = engine === "docker" ? "DOCKER_HOST or DOCKER_CONTEXT" : "CONTAINER_HOST";
    return {
      problem: `${engine} is installed, but its engine does not answer (${message})`,
      hint: `${start} set ${variable} to its address.`,
      mayPass: true,
    };
  }
  return {
    problem: `${engine} failed with status ${ran.code}: ${message}`,
    hint: `Run \`${engine} ps\` to see the error.`,
    mayPass: false,
  };
}

/** The line of a client's stderr with the reason, without "Error: ". */
export function saidBy(stderr: string): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const reason =
    lines.findLast((line) => /^(?:Error|Cannot|permission denied|failed|OCI)/i.test(line)) ??
    lines.at(-1) ??
    "it did not say why";
  return clip(reason.replace(/^(?:Error(?: response from daemon)?: ?)+/i, ""), 400);
}
