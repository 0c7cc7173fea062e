import { randomBytes } from "node:crypto";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWords } from "../../util/shell.ts";
import { type End, type Fate, lostAt } from "../fate.ts";
import type { OutputFile } from "./job-folder.ts";
import type { Shells } from "./shells.ts";

/** In blocks of so many bytes an output is read, from any block on. */
const BLOCK = 512;

/** At a multiple of this it is read in blocks of this size, which cost less: 64 KiB. */
export const LARGE_BLOCK = 65_536;

/** How a job is doing, as the names in its folder tell. */
export interface JobState {
  /** As it was told. */
  readonly ended?: End;
  /** Into these files nobody can write any more; so many bytes came after those that are kept. */
  readonly filled: { readonly [file in OutputFile]?: number };
  /** Left out: it never started. */
  readonly pid?: string;
  /** It has ended, and nothing was told of it. */
  readonly isGone: boolean;
  /** Its folder is no longer there. */
  readonly isRemoved: boolean;
}

/** What that shows of the process. */
export function fateOf({ ended, isGone, isRemoved }: JobState): Fate {
  if (isRemoved) return removed();
  return ended ?? (isGone ? "gone" : "running");
}

/** The fate of one whose folder is no longer there. */
export function removed(): Fate {
  return { exit: { how: "lost", reason: "its folder there was removed" }, atMs: Date.now() };
}

/** What is asked of a job: up to about so many bytes of its output, from a byte on. */
export interface Question {
  readonly folder: string;
  readonly file: OutputFile;
  readonly from: number;
  readonly bytes: number;
}

/** What is seen at a look: first how the job is doing, and then the bytes. */
export interface Look {
  readonly state: JobState;
  readonly bytes: Buffer;
}

/** How jobs are doing, and what their outputs hold from the bytes on that were asked for, all in one round trip. Fails like `ask`. */
export async function lookAt(ask: Shells["ask"], questions: readonly Question[]): Promise<readonly Look[]> {
  const separator = randomBytes(16).toString("hex");
  const looks = questions.map(({ folder, file, from, bytes }) => {
    const size = from % LARGE_BLOCK === 0 && bytes % LARGE_BLOCK === 0 ? LARGE_BLOCK : BLOCK;
    const count = bytes === 0 ? 0 : Math.ceil(((from % size) + bytes) / size);
    return quoteWords([
      "hr_look",
      folder,
      file,
      String(size),
      String(Math.floor(from / size)),
      String(count),
      separator,
    ]);
  });
  const { out } = await ask(looks.join("\n"));
  const end = Buffer.from(`\n${separator}\n`);
  let position = 0;
  return questions.map(({ from }) => {
    const line = out.indexOf(10, position);
    const to = out.indexOf(end, line + 1);
    if (line === -1 || to === -1) throw new ToolFailure("the shell there did not say how its jobs are doing");
    const state = parseState(out.toString("utf8", position, line));
    position = to + end.length;
    return { state, bytes: out.subarray(Math.min(line + 1 + (from % BLOCK), to), to) };
  });
}

/** A job as it is found by its folder. */
export interface ShownJob {
  /** The name of the folder. */
  readonly name: string;
  readonly state: JobState;
  /** Bytes in `out`, looked at after the state. */
  readonly size: number;
  /** What was written down of it at its start; may be anything. */
  readonly plan: string;
}

/** The jobs in these folders, which are words of a shell: "/a/b" quoted, or a pattern. What is not there is left out. Fails like `ask`. */
export async function showJobs(ask: Shells["ask"], folders: string): Promise<readonly ShownJob[]> {
  const separator = randomBytes(16).toString("hex");
  const { out } = await ask(
    `for hr_each in ${folders}; do [ -d "$hr_each" ] || continue; printf '%s\\n' "\${hr_each##*/}"; hr_show "$hr_each" ${separator}; done`,
  );
  const jobs = out.toString("utf8").split(`\n${separator}\n`);
  return jobs.slice(0, -1).map((text) => {
    const [name = "", names = "", size = "", ...plan] = text.split("\n");
    return { name, state: parseState(names), size: Number(size), plan: plan.join("\n") };
  });
}

function parseState(line: string): JobState {
  const names = line.split(" ");
  const fields = (kind: string) => names.find((name) => name.startsWith(`${kind}-`))?.split("-");
  const [, code, seconds] = fields("exited") ?? [];
  const [, out] = fields("outfilled") ?? [];
  const [, err] = fields("errfilled") ?? [];
  const [, pid] = fields("pid") ?? [];
  return {
    ...(code !== undefined && { ended: endOf(code, Number(seconds) * 1_000) }),
    filled: { ...(out !== undefined && { out: Number(out) }), ...(err !== undefined && { err: Number(err) }) },
    ...(pid !== undefined && { pid }),
    isGone: names.includes("gone"),
    isRemoved: names.includes("removed"),
  };
}

function endOf(code: string, atMs: number): End {
  return code === "lost" ? lostAt(atMs) : { exit: { how: "exited", code: Number(code) }, atMs };
}
