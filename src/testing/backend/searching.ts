import { deepEqual, equal, ok } from "node:assert/strict";
import { ToolFailure } from "../../contract/failure.ts";
import type { SearchQuery, SearchResult } from "../../contract/search.ts";
import { type Cases, type Scene, failureOf, soon } from "./scene.ts";

/** `search`, asked as our tools ask it. A backend without ripgrep says so in `notes`; what it then need not do is left out here. */
export const searching: Cases = {
  "lines that match are told with their file and number, in the order of paths": async (scene) => {
    const { write } = scene;
    await write("b/two.txt", "hay\nNeedle two\n");
    await write("a/one.txt", "needle\nhay\nhay\nmore needles");
    await write("c.txt", "hay\n");
    deepEqual(await lines(scene), ["a/one.txt:1:needle", "a/one.txt:4:more needles", "b/two.txt:2:Needle two"]);
  },

  "where nothing is found nothing is complained of": async (scene) => {
    await scene.write("file", "hay\n");
    const { lines: found, matches, complaints } = await search(scene);
    deepEqual([found, matches, complaints], [[], 0, ""]);
  },

  "upper and lower case, plain text and alternatives are told apart as asked": async (scene) => {
    await scene.write("file", "a.b(c)\naxb\nA.B(C)\n");
    const numbers = async (query: Partial<SearchQuery>) => (await search(scene, query)).lines.map(({ line }) => line);
    deepEqual(await numbers({ caseSensitive: true, literal: true, pattern: "a.b(c)" }), [1]);
    deepEqual(await numbers({ literal: true, pattern: "a.b(c)" }), [1, 3]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "a.b" }), [1, 2]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "^(axb|A.*)$" }), [2, 3]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "-x" }), []);
  },

  "lines of context are told once, and are no matches": async (scene) => {
    await scene.write("file", "1\n2\nneedle\n4\nneedle\n6\n7\n");
    const { lines: found, notes } = await search(scene, { contextLines: 1 });
    if (notes.length > 0) return;
    deepEqual(
      found.map(({ line, match }) => (match ? line : -line)),
      [-2, 3, -4, 5, -6],
    );
  },

  "the end of a line is found before a carriage return too": async (scene) => {
    await scene.write("file", "needle\r\nneedles\r\n");
    const { lines: found, notes } = await search(scene, { pattern: "needle$" });
    if (notes.length > 0) return;
    deepEqual(
      found.map(({ text }) => text),
      ["needle"],
    );
  },

  "no more matches come than were asked for, the first ones, and that there are more is told": async (scene) => {
    for (const name of ["b", "a", "c"]) await scene.write(name, "needle\n".repeat(500));
    const { lines: found, matches, hasMore } = await search(scene, { maxMatches: 501 });
    deepEqual([found.length, matches, hasMore], [501, 501, true]);
    equal(found.at(-1)?.path, scene.at("b"));
    equal((await search(scene, { maxMatches: 1_500 })).hasMore, false);
  },

  "of a long line the beginning comes": async (scene) => {
    await scene.write("file", `needle ${"long ".repeat(4_000)}\nneedle\n`);
    const { lines: found, cut } = await search(scene, { maxCharacters: 20 });
    deepEqual(
      found.map(({ text }) => text),
      ["needle long long lon…", "needle"],
    );
    equal(cut, 1);
  },

  "of a binary file no line is shown; of one that is named it is told that it is binary": async (scene) => {
    await scene.write("file", "hay\0hay\nneedle\n");
    deepEqual((await search(scene)).lines, []);
    const { lines: found, binary, notes } = await search(scene, { path: scene.at("file") });
    if (notes.length === 0) deepEqual([found, binary], [[], 1]);
  },

  "hidden files are searched; git's own folder and what .gitignore ignores are not": async (scene) => {
    const { write } = scene;
    for (const name of [".env.example", ".github/ci.yml", ".git/config", "x.log"]) await write(name, "needle\n");
    await write(".gitignore", "*.log\n");
    const { notes } = await search(scene);
    const shown = [".env.example", ".github/ci.yml", ...(notes.length === 0 ? [] : ["x.log"])];
    deepEqual(
      await lines(scene),
      shown.map((name) => `${name}:1:needle`),
    );
    ok((await lines(scene, { git: true })).includes(".git/config:1:needle"));
  },

  "files are judged: shown, counted or skipped": async (scene) => {
    const { write, at } = scene;
    for (const name of ["shown", "hidden", "skipped"]) await write(name, "needle\n");
    const judge = (path: string) => (path === at("shown") ? "shown" : path === at("hidden") ? "hidden" : "skipped");
    const { lines: found, hidden, matches } = await search(scene, { judge });
    deepEqual(
      found.map(({ path }) => path),
      [at("shown")],
    );
    deepEqual([hidden, matches], [1, 1]);
  },

  "it searches the path that it is given, whatever its name, and nothing else": async (scene) => {
    const { write, at } = scene;
    for (const name of ["-e", "--files/file", "a b/file", "'$(id)*", "other/file"]) await write(name, "needle\n");
    for (const name of ["-e", "--files", "a b", "'$(id)*"]) {
      const { lines: found } = await search(scene, { path: at(name) });
      const file = name === "-e" || name.startsWith("'") ? name : `${name}/file`;
      deepEqual(
        found.map(({ path }) => path),
        [at(file)],
      );
    }
  },

  "what is excepted is not looked at, nor anything under it": async (scene) => {
    const { write, at } = scene;
    const files = ["open/file", "closed/file", "closed too/deep/file", "sub/closed/file", "a[b]*/file", "a[b]*x"];
    for (const name of files) await write(name, "needle\n");
    const except = ["closed", "closed too", "a[b]*"].map(at);
    const left = ["a[b]*x", "open/file", "sub/closed/file"];
    deepEqual(
      await lines(scene, { except }),
      left.map((name) => `${name}:1:needle`),
    );
  },

  "a link is not followed": async (scene) => {
    await scene.write("folder/file", "needle\n");
    await scene.sh("ln -s folder link; ln -s folder/file to-file");
    deepEqual(await lines(scene), ["folder/file:1:needle"]);
    ok((await failureOf(search(scene, { path: scene.at("link") }))) !== "");
  },

  "an open file is searched in place of files, under the name that it is given": async (scene) => {
    await scene.write("file", "hay\nneedle in it\nhay\n");
    const input = await scene.backend.files.open(scene.at("file"));
    const { lines: found } = await search(scene, { input, path: "output://1" });
    deepEqual(found, [{ path: "output://1", line: 2, text: "needle in it", match: true }]);
  },

  "what cannot be searched is a failure, a path as much as a pattern": async (scene) => {
    const { write, sh, at } = scene;
    await write("file", "needle\n");
    await sh("mkfifo fifo");
    for (const query of [{ path: at("none") }, { path: at("fifo") }, { pattern: "needle(" }, { pattern: "a\nb" }])
      ok((await failureOf(search(scene, query))) !== "", JSON.stringify(query));
  },

  "a signal stops it": async (scene) => {
    await scene.write("file", "needle\n");
    const stop = new AbortController();
    const searched = failureOf(search(scene, { signal: stop.signal }));
    stop.abort(new ToolFailure("enough"));
    ok((await searched) !== "");
    ok((await failureOf(search(scene, { signal: AbortSignal.abort(new ToolFailure("enough")) }))) !== "");
  },
};

function search({ backend, folder }: Scene, query: Partial<SearchQuery> = {}): Promise<SearchResult> {
  const asked = { path: folder, pattern: "needle", maxMatches: 1_000, maxCharacters: 500, ...query };
  return soon("it ends", backend.search(asked));
}

async function lines(scene: Scene, query: Partial<SearchQuery> = {}): Promise<readonly string[]> {
  const { lines: found } = await search(scene, query);
  return found.map(({ path, line, text }) => `${path.slice(scene.folder.length + 1)}:${line}:${text}`);
}
