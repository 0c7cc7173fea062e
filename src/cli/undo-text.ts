import { oneLine } from "../core/output/terminal-text.ts";
import { shown } from "../record/undo/paths.ts";
import { localTime } from "./local-time.ts";
import type { Change } from "../record/undo/plan.ts";
import type { Preview, Restored, UndoPoint } from "../record/undo/points.ts";

/** The maximum number of paths shown in a preview. */
const MAX_PATHS = 40;

/** Returns a point as one line of a list. */
export function pointLine({ id, at, by, tool, message, thread, files }: UndoPoint): string {
  const act = message === undefined ? `${oneLine(tool, 40)}, the first act of a ${by}` : `"${oneLine(message, 60)}"`;
  const what = `before ${by === "undo" ? `the undo of ${tool}` : act}`;
  const named = files.slice(0, 3).map((path) => oneLine(shown(path), 60));
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : "";
  const changed = files.length === 0 ? "changed nothing" : `changed ${named.join(", ")}${more}`;
  return `${id}  ${localTime(at)}  ${what} in thread ${oneLine(thread, 60)}: ${changed}`;
}

/**
 * Returns what an undo would do, as text for people.
 *
 * @param jobs the commands of jobs that are still running
 * @param options how the choices are written, such as `--force`, and the point. Default: as `pointLine`
 */
export function previewText(
  { point, plan, unkept, isActing }: Preview,
  jobs: readonly string[],
  options: { readonly force: string; readonly repository: string; readonly list: string; readonly point?: string },
): string {
  const lines = [`Back to ${options.point ?? pointLine(point)}`, ...pathLines(plan.files, verbOf)];
  if (plan.files.length === 0) lines.push("  Nothing that a tool changed differs from this point.");
  if (plan.files.length + plan.conflicts.length === 0) lines.push(`Other points: ${options.list}`);
  if (plan.conflicts.length > 0) {
    lines.push(`Somebody else has changed these too, so they stay as they are (${options.force} restores them):`);
    lines.push(...pathLines(plan.conflicts, () => "keep"));
  }
  if (plan.repository.length > 0) {
    const count = plan.repository.length === 1 ? "1 file" : `${plan.repository.length} files`;
    lines.push(
      `Refs, index or other files of the git repository changed too: ${count} (${options.repository} restores them).`,
    );
  }
  for (const words of plan.lost) lines.push(`Not kept, so not restored: ${oneLine(words, 200)}.`);
  if (unkept.length > 0) lines.push(`Of this folder, undo does not keep: ${oneLine(unkept.join(", "), 400)}.`);
  if (isActing) lines.push("A call is still running: its further changes are not restored.");
  for (const job of jobs) lines.push(`A job still runs, and may change files again: ${oneLine(job, 80)}`);
  return lines.join("\n");
}

/**
 * Returns what an undo did, as text for people.
 *
 * @param command how an undo is written
 */
export function restoredText({ restored, failures, undo }: Restored, command: string): string {
  const lines = failures.map(({ path, reason }) => `  failed      ${oneLine(shown(path), 200)}: ${reason}`);
  const count = restored === 1 ? "1 path" : `${restored} paths`;
  return [...lines, `${count} restored. To take that back: ${command} ${undo}`].join("\n");
}

function verbOf({ now, past }: Change): string {
  if (past === undefined) return "remove";
  return now === undefined ? "bring back" : "restore";
}

function pathLines(changes: readonly Change[], verb: (change: Change) => string): readonly string[] {
  const lines = changes.slice(0, MAX_PATHS).map((change) => {
    const isFolder = (change.past ?? change.now)?.kind === "folder";
    return `  ${verb(change).padEnd(11)} ${oneLine(shown(change.path), 200)}${isFolder ? "/" : ""}`;
  });
  const more = changes.length - MAX_PATHS;
  return more > 0 ? [...lines, `  … and ${more} more`] : lines;
}
