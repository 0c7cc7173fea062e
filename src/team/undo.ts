import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import type { Approver } from "../core/contract/policy.ts";
import type { Json } from "../core/contract/schema.ts";
import { type Tool, defineTool } from "../core/contract/tool.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { asText } from "../core/call/result.ts";
import { type Preview, type UndoPoint, type UndoPoints, openPoints } from "../record/undo/points.ts";
import { WORKER_UNDO } from "../record/undo/undo.ts";
import { plural } from "../core/util/text.ts";

/** How many points a worker lists, the files of each, and the paths of a preview: a result has 50 KB. */
const MOST_POINTS = 100;
const MOST_FILES = 10;
const MOST_PATHS = 150;

const ACTIONS = ["list", "unfinished", "preview", "diff", "changes", "lines", "restore"] as const;

/**
 * Undo on a worker's machine, as a tool that no model is offered: `pointsOfWorker` calls it for people. So an undo is
 * delivered, claimed once, judged by both policies and recorded like every call.
 *
 * @param folder where the worker keeps states
 */
export const workerUndo = (folder: string): Tool =>
  defineTool({
    name: WORKER_UNDO,
    title: "Undo",
    description: "Takes back what tools changed in the workspace. For people only.",
    userFacing: false,
    touches: ["read", "write"],
    input: Type.Object(
      {
        action: Type.Union(ACTIONS.map((action) => Type.Literal(action))),
        point: Type.Optional(Type.String()),
        thread: Type.Optional(Type.String()),
        points: Type.Optional(Type.Array(Type.String())),
        preview: Type.Optional(Type.Object({}, { additionalProperties: true })),
        force: Type.Optional(Type.Boolean()),
        repository: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
    effects: ({ action }) => [{ kind: action === "restore" ? "write" : "read", path: "." }],
    async run({ action, point, thread, points: ids = [], preview, force = false, repository = false }, { backend }) {
      const points = await openPoints({ folder, workDir: backend.workDir });
      const chosen = async () => (await points.list()).filter(({ id }) => ids.includes(id));
      const given = () => preview as unknown as Preview;
      const work: { readonly [action in (typeof ACTIONS)[number]]: () => Promise<unknown> } = {
        list: async () => (await points.list()).slice(0, MOST_POINTS).map(shortened),
        unfinished: points.unfinished,
        preview: async () => requireShort(await points.preview(point, thread)),
        diff: () => points.diff(given()),
        changes: async () => points.changes(await chosen()),
        lines: async () => [...(await points.lines(await chosen()))],
        restore: () => points.restore(given(), { force, repository }),
      };
      return json(await work[action as keyof typeof work]());
    },
    render: () => "done",
  });

const json = (value: unknown = null) => JSON.parse(JSON.stringify(value)) as Json;

const shortened = (point: UndoPoint): UndoPoint => ({
  ...point,
  files: point.files.slice(0, MOST_FILES),
});

function requireShort(preview: Preview): Preview {
  const { files, conflicts, repository } = preview.plan;
  const count = files.length + conflicts.length + repository.length;
  if (count <= MOST_PATHS) return { ...preview, point: shortened(preview.point) };
  throw new ToolFailure(`going back to ${preview.point.id} changes ${plural(count, "path")}`, {
    hint: `From another machine it is done for at most ${MOST_PATHS}. Run handrail undo on the worker's machine.`,
  });
}

/**
 * The kept states of the machine of a worker: `toolkit` makes its calls there. A person has agreed to what it restores.
 * Of a point at most ten files are listed.
 */
export function pointsOfWorker(toolkit: Toolkit): UndoPoints {
  const person = toolkit.with({ tools: [workerUndo("")] });
  const agreed: Approver = async () => ({ answer: "once", by: "the person who undoes" });
  const ask = async <T>(input: object): Promise<T> => {
    const result = await person.call({ name: WORKER_UNDO, input }, { approver: agreed, park: false });
    if (result.status !== "ok") throw new Error(asText(result).replace(/^Tool error: /, ""));
    return result.data as T;
  };
  const ids = (points: readonly UndoPoint[]) => points.map(({ id }) => id);
  return {
    list: () => ask({ action: "list" }),
    unfinished: async () => (await ask<string | null>({ action: "unfinished" })) ?? undefined,
    preview: (point, thread) =>
      ask({ action: "preview", ...(point !== undefined && { point }), ...(thread !== undefined && { thread }) }),
    diff: (preview) => ask({ action: "diff", preview }),
    changes: (points) => ask({ action: "changes", points: ids(points) }),
    lines: async (points) => new Map(await ask<[]>({ action: "lines", points: ids(points) })),
    restore: (preview, choice) => ask({ action: "restore", preview, ...choice }),
  };
}
