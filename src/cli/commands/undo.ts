import { resolve } from "node:path";
import { isInside } from "../../core/util/paths.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import { stateFolder, undoFolder } from "../../app/config/state.ts";
import { type Preview, type UndoPoints, openPoints } from "../../record/undo/points.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { settingsFrom, toolkitOptions, withStore } from "../settings.ts";
import { hasTerminal, isAgreed } from "../terminal.ts";
import { pointLine, previewText, restoredText } from "../undo-text.ts";
import { allJobs } from "./jobs.ts";
import { say, warn } from "../say.ts";
import type { Io } from "../io.ts";

export interface UndoCommandOptions extends GlobalOptions {
  readonly list?: true;
  readonly diff?: true;
  readonly force?: true;
  readonly gitState?: true;
}

/**
 * Shows what would be restored of the workspace, asks at the terminal, and restores it. Without an id, undoes what
 * tools changed since the last turn or call began. Exit code 1 when nothing was restored although something could be,
 * or when restoring a path failed.
 */
export async function run(id: string | undefined, options: UndoCommandOptions): Promise<number | void> {
  if (options.target?.startsWith("worker:") === true) return await undoOnWorker(id, options);
  if (options.target !== undefined) throw new Error("undo keeps files of this machine only, not those of a target");
  const settings = await settingsFrom(options);
  const workDir = resolve(options.io.cwd, options.workDir ?? settings.tools.workDir ?? ".");
  const points = await openPoints({ folder: undoFolder(stateFolder(options.io.env)), workDir });
  return await undo(points, id, options, workDir);
}

/** The worker's machine keeps the states: it is asked for them by calls. */
async function undoOnWorker(id: string | undefined, options: UndoCommandOptions): Promise<number | void> {
  const { createToolkit } = await import("../../app/toolkit.ts");
  const { pointsOfWorker } = await import("../../team/undo.ts");
  const toolkit = await createToolkit({ ...(await toolkitOptions(options, { sources: false })), preset: "none" });
  try {
    return await undo(pointsOfWorker(toolkit), id, options, undefined);
  } finally {
    await toolkit.close();
  }
}

/** @param workDir the workspace, if it is on this machine */
async function undo(points: UndoPoints, id: string | undefined, options: UndoCommandOptions, workDir?: string) {
  const { list, diff, force = false, gitState = false } = options;
  if (list) return say(options.io, listText(await points.list()));
  const unfinished = await points.unfinished();
  if (unfinished !== undefined)
    warn(options.io, [`an undo was interrupted. To finish it: handrail undo ${unfinished}`]);
  const preview = await points.preview(id);
  if (diff) return showDiff(options.io, await points.diff(preview), preview);
  const choices = { force: "--force", repository: "--git-state", list: "handrail undo --list" };
  say(options.io, previewText(preview, await runningJobs(options, workDir), choices));
  const { files, conflicts, repository } = preview.plan;
  const count = files.length + (force ? conflicts.length : 0) + (gitState ? repository.length : 0);
  if (count === 0) return;
  if (options.yes !== true && !(await mayRestore(options.io, count))) {
    say(options.io, "Nothing was restored.");
    return EXIT.notSucceeded;
  }
  return await restore(options.io, points, preview, { force, repository: gitState });
}

function showDiff(io: Io, diff: string, { point }: Preview): void {
  if (diff === "")
    return warn(io, [`no content that a tool changed differs from ${point.id}. Other points: handrail undo --list`]);
  say(io, terminalSafe(Buffer.from(diff, "latin1").toString("utf8")));
}

async function restore(io: Io, points: UndoPoints, preview: Preview, choice: { force: boolean; repository: boolean }) {
  const restored = await points.restore(preview, choice);
  say(io, restoredText(restored, "handrail undo"));
  return restored.failures.length > 0 ? EXIT.notSucceeded : EXIT.ok;
}

function listText(points: Awaited<ReturnType<UndoPoints["list"]>>): string {
  return points.length === 0 ? "(nothing has been kept of this folder)" : points.map(pointLine).join("\n");
}

async function mayRestore(io: Io, count: number): Promise<boolean> {
  if (!hasTerminal(io)) {
    warn(io, ["only a person can answer this: run handrail undo in a terminal, or with --yes"]);
    return false;
  }
  return await isAgreed(io, `Restore ${count === 1 ? "this path" : `these ${count} paths`}? [y/N] `);
}

/** Returns the commands of running jobs: of detached ones in the workspace, and of all jobs of other processes. */
async function runningJobs(options: GlobalOptions, workDir: string | undefined): Promise<readonly string[]> {
  const { store: kind } = await settingsFrom(options);
  const own = workDir === undefined ? [] : await allJobs(options.io);
  const detached = own.filter(({ job }) => job.ended === undefined && isInside(job.cwd, workDir ?? ""));
  const names = detached.map(({ job }) => job.label);
  if (kind === "memory") return names;
  await withStore(options, async (store) => {
    const recorded = await store.jobs().catch(() => []);
    for (const job of recorded) if (job.ended === undefined && job.lifetime !== "detached") names.push(job.command);
  });
  return names;
}
