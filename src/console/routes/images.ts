import type { Toolkit } from "../../contract/toolkit.ts";
import { imageType } from "../../files/image.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";

/** The maximum size of a served image, in bytes. No tool returns a larger one. */
const MAX_IMAGE = 8_388_608;

/** Routes for the images that calls returned, as image files. */
export function imageRoutes({ outputs }: Pick<Toolkit, "outputs">): readonly Route[] {
  return [
    route({
      ...{ method: "GET", path: "/api/outputs/{output}/image", summary: "A saved output that is an image." },
      answer: {
        ...{ status: 200, description: "The image." },
        types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
      },
      problems: { 404: "There is no such output, or it is no image." },
      async handle({ path: { output = "" } }) {
        const none = () =>
          new Problem(404, `There is no saved image ${output} here: another process has it, or it was removed.`);
        const file = await outputs.open(output).catch(() => {
          throw none();
        });
        try {
          // The media type is derived from the bytes, not taken from the tool.
          const type = imageType(await file.read(0, 16));
          if (type === undefined || file.info.size > MAX_IMAGE) throw none();
          const bytes = new Uint8Array(await file.read(0, file.info.size));
          return new Response(bytes, { headers: { "content-type": type, "cache-control": "private, max-age=86400" } });
        } finally {
          await file.close();
        }
      },
    }),
  ];
}
