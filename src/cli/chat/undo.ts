import { stateFolder } from "../../config/state.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { undoFolder } from "../../config/state.ts";
import { openPoints } from "../../undo/points.ts";
import { pointLine, previewText, restoredText } from "../undo-text.ts";

/**
 * Handles the arguments of `/undo` in a thread, and returns the text for the person. Restores only if the arguments
 * contain "yes".
 */
export async function undoInChat({ backend, jobs }: Toolkit, thread: string, words: string): Promise<string> {
  if (backend.access !== undefined) return "Undo keeps files of this machine only.";
  const given = words.split(/\s+/).filter(Boolean);
  const [id, ...more] = given.filter((word) => !CHOICES.includes(word));
  if (more.length > 0) return `expected /undo [list|ID] [yes] [force], got ${words}`;
  const points = await openPoints({ folder: undoFolder(stateFolder()), workDir: backend.workDir });
  if (id === "list") return (await points.list()).map(pointLine).join("\n") || "(nothing has been kept of this folder)";
  const preview = await points.preview(id, thread);
  const force = given.includes("force");
  const { files, conflicts } = preview.plan;
  const canRestore = files.length + (force ? conflicts.length : 0) > 0;
  if (canRestore && given.includes("yes")) return restoredText(await points.restore(preview, { force }), "/undo");
  const running = (await jobs.list()).filter(({ ended }) => ended === undefined).map(({ command }) => command);
  const text = previewText(preview, running, {
    force: "force",
    repository: "handrail undo --git-state",
    list: "/undo list",
  });
  if (files.length + conflicts.length === 0) return text;
  return `${text}\nTo restore: /undo ${preview.point.id}${files.length === 0 || force ? " force" : ""} yes`;
}

const CHOICES: readonly string[] = ["yes", "force"];
