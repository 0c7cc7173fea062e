import { relative } from "node:path";
import { Type } from "typebox";
import { type HeldBack, contentOf, heldBackIn, putBack, removeHeldBack } from "../../machine/sandbox/held-back.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { readablePath } from "../../core/util/byte-paths.ts";
import { messageOf } from "../../core/util/errors.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { list } from "../schemas.ts";

const PATH = Type.String({ minLength: 1, maxLength: 8_192, description: "As listed." });

const HELD_BACK = Type.Object({
  path: Type.String({ description: "Where it is now, in the workspace." }),
  original: Type.String({ description: "Where the command made it." }),
  what: Type.String({ description: "What obeys it." }),
  changedMs: Type.Number(),
  files: Type.Array(Type.Object({ path: Type.String(), text: Type.String() }), { description: "The whole content." }),
  digest: Type.Optional(Type.String({ description: "Of the content. Absent if it cannot be shown." })),
  problem: Type.Optional(Type.String({ description: "Why it cannot be shown." })),
});

/** Routes for the files of the workspace that the sandbox put aside. None on another machine. */
export function heldBackRoutes({ backend }: Pick<Toolkit, "backend">): readonly Route[] {
  if (backend.isFar === true) return [];
  const { workDir } = backend;
  const nameOf = (path: string) => readablePath(relative(workDir, path));
  const found = (path: string): HeldBack => {
    const one = heldBackIn(workDir).find((each) => nameOf(each.path) === path);
    if (one === undefined) throw new Problem(404, "Nothing was put aside at this path, or it was put back or removed.");
    return one;
  };
  const act = (path: string, work: (one: HeldBack) => void) => {
    const one = found(path);
    try {
      work(one);
    } catch (error) {
      throw new Problem(409, messageOf(error));
    }
    return { path };
  };
  const done = { status: 200, description: "It is done.", schema: Type.Object({ path: Type.String() }) } as const;
  return [
    route("GET /api/held-back", {
      needs: "administer",
      summary: "The files that the sandbox put aside in the workspace, since other programs obey them.",
      answer: { status: 200, description: "The files, with their content.", schema: list("files", HELD_BACK) },
      handle: async () => ({ files: heldBackIn(workDir).map((each) => ({ ...shown(each), ...named(each, nameOf) })) }),
    }),
    route("POST /api/held-back/put-back", {
      summary: "Give a file that was put aside its name back, as a person has seen it.",
      body: Type.Object({ path: PATH, digest: Type.String({ maxLength: 128, description: "Of what was seen." }) }),
      answer: done,
      problems: {
        403: "A command asks.",
        404: "Nothing was put aside there.",
        409: "It has changed, or is in the way.",
      },
      people: true,
      handle: async ({ body: { path, digest } }) => act(path, (one) => putBack(one, digest)),
    }),
    route("POST /api/held-back/remove", {
      summary: "Remove a file that was put aside.",
      body: Type.Object({ path: PATH }),
      answer: done,
      problems: { 403: "A command asks.", 404: "Nothing was put aside there.", 409: "It could not be removed." },
      people: true,
      handle: async ({ body: { path } }) => act(path, removeHeldBack),
    }),
  ];
}

function named({ path, original, what, changedMs }: HeldBack, nameOf: (path: string) => string) {
  return { path: nameOf(path), original: nameOf(original), what, changedMs };
}

function shown(each: HeldBack) {
  try {
    const { files, digest } = contentOf(each);
    return {
      files: files.map(({ path, content }) => ({ path: readablePath(path), text: content.toString() })),
      digest,
    };
  } catch (error) {
    return { files: [], problem: messageOf(error) };
  }
}
