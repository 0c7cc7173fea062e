import { deepEqual, equal, ok } from "node:assert/strict";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { SearchQuery, SearchResult } from "../../../src/core/contract/search.ts";
import { type Cases, type Scene, failureOf, soon } from "./scene.ts";

/** `search`, as tools use it. Without ripgrep, as `notes` tell, further features are not tested. */
export const searching: Cases = {
  "matching lines are returned with file and number, sorted by path": async (scene) => {
    const { write } = scene;
    await write("b/two.txt", "hay\nNeedle two\n");
    await write("a/one.txt", "needle\nhay\nhay\nmore needles");
    await write("c.txt", "hay\n");
    deepEqual(await lines(scene), ["a/one.txt:1:needle", "a/one.txt:4:more needles", "b/two.txt:2:Needle two"]);
  },

  "without matches there are no complaints": async (scene) => {
    await scene.write("file", "hay\n");
    const { lines: found, matches, complaints } = await search(scene);
    deepEqual([found, matches, complaints], [[], 0, ""]);
  },

  "case, plain text and alternatives are matched as requested": async (scene) => {
    await scene.write("file", "a.b(c)\naxb\nA.B(C)\n");
    const numbers = async (query: Partial<SearchQuery>) => (await search(scene, query)).lines.map(({ line }) => line);
    deepEqual(await numbers({ caseSensitive: true, literal: true, pattern: "a.b(c)" }), [1]);
    deepEqual(await numbers({ literal: true, pattern: "a.b(c)" }), [1, 3]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "a.b" }), [1, 2]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "^(axb|A.*)$" }), [2, 3]);
    deepEqual(await numbers({ caseSensitive: true, pattern: "-x" }), []);
  },

  "lines of context are returned once, and are not matches": async (scene) => {
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
    deepEqual(textsOf(found), ["needle"]);
  },

  "only the requested number of matches is returned, and that there are more": async (scene) => {
    await scene.write("file", "needle\n".repeat(1_500));
    const { lines: found, matches, hasMore } = await search(scene, { maxMatches: 501 });
    deepEqual([found.length, matches, hasMore], [501, 501, true]);
    equal((await search(scene, { maxMatches: 1_500 })).hasMore, false);
  },

  "of more matches than requested the first ones by path are returned": async (scene) => {
    for (const name of ["b", "a", "c"]) await scene.write(name, "needle\n".repeat(500));
    const { lines: found } = await search(scene, { maxMatches: 501 });
    deepEqual([...new Set(pathsOf(found))], [scene.at("a"), scene.at("b")]);
    equal(found.at(-2)?.path, scene.at("a"));
  },

  "text that is UTF-8, has a mark of it, or is Latin is returned as text": async (scene) => {
    await scene.write("latin", Buffer.from("caf\u00e9 needle\n", "latin1"));
    await scene.write("marked", "\ufeffneedle\n");
    await scene.write("plain", "na\u00efve needle \u65e5\u672c\n");
    deepEqual(await lines(scene), [
      "latin:1:caf\u00e9 needle",
      "marked:1:needle",
      "plain:1:na\u00efve needle \u65e5\u672c",
    ]);
  },

  "a long line is truncated to its beginning": async (scene) => {
    await scene.write("file", `needle ${"long ".repeat(4_000)}\nneedle\n`);
    const { lines: found, cut } = await search(scene, { maxCharacters: 20 });
    deepEqual(textsOf(found), ["needle long long lon…", "needle"]);
    equal(cut, 1);
  },

  "no line of a binary file is returned; a named one is reported as binary": async (scene) => {
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

  "what git's own list of a repository excludes is not searched": async (scene) => {
    for (const name of [".git/HEAD", "excluded", "sub/.git/HEAD", "sub/mine", "sub/other"])
      await scene.write(name, "needle\n");
    await scene.write(".git/info/exclude", "excluded\n");
    await scene.write("sub/.git/info/exclude", "mine\n");
    if ((await search(scene)).notes.length === 0) deepEqual(await lines(scene), ["sub/other:1:needle"]);
  },

  "a lone carriage return ends no line, and a file that is binary only late is shown up to there": async (scene) => {
    await scene.write("late", `needle\n${"hay hay hay\n".repeat(20_000)}\0\nneedle\n`);
    await scene.write("mixed", "one\rneedle two\rthree\nneedle\rneedle\n");
    const { lines: found, notes } = await search(scene);
    if (notes.length > 0) return;
    deepEqual(
      found.map(({ path, line, text }) => [path, line, text]),
      [
        [scene.at("late"), 1, "needle"],
        [scene.at("mixed"), 1, "one\rneedle two\rthree"],
        [scene.at("mixed"), 2, "needle\rneedle"],
      ],
    );
  },

  "files are judged: shown, counted or skipped": async (scene) => {
    const { write, at } = scene;
    for (const name of ["shown", "hidden", "skipped"]) await write(name, "needle\n");
    const judge = (path: string) => (path === at("shown") ? "shown" : path === at("hidden") ? "hidden" : "skipped");
    const { lines: found, hidden, matches } = await search(scene, { judge });
    deepEqual(pathsOf(found), [at("shown")]);
    deepEqual([hidden, matches], [1, 1]);
  },

  "a pattern and the name of a found file may have any characters": async (scene) => {
    const text = "a+b (c) [d] {e} ^f$ |g\\ 'h' \"i\" `j` $(k) $l \u00e9 \u65e5 !m #n";
    await scene.write("file", `${text}\n`);
    deepEqual(await lines(scene, { pattern: text, literal: true }), [`file:1:${text}`]);
    const { notes } = await search(scene);
    const onlyRipgrep = notes.length === 0 ? ["two\nlines", "end\n", "a:1:b"] : [];
    for (const name of ["[id]", "{a,b}", "back\\slash", "\u00e9", ...onlyRipgrep]) {
      await scene.write(`${name}/${name}`, "needle\n");
      deepEqual(await lines(scene, { path: scene.at(name) }), [`${name}/${name}:1:needle`]);
    }
  },

  "a file whose name is not UTF-8 is searched, where there can be one": async (scene) => {
    const { output } = await scene.sh("printf 'needle\\n' >\"$(printf 'lat\\355n')\" && echo made");
    if (output !== "made\n") return;
    deepEqual(textsOf((await search(scene)).lines), ["needle"]);
  },

  "it searches the given path, with any name, and nothing else": async (scene) => {
    const { write, at } = scene;
    for (const name of ["-e", "--files/file", "a b/file", "'$(id)*", "other/file"]) await write(name, "needle\n");
    for (const name of ["-e", "--files", "a b", "'$(id)*"]) {
      const { lines: found } = await search(scene, { path: at(name) });
      const file = name === "-e" || name.startsWith("'") ? name : `${name}/file`;
      deepEqual(pathsOf(found), [at(file)]);
    }
  },

  "excepted paths are not searched, nor anything in them": async (scene) => {
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

  "an open file is searched instead of files, under the given name": async (scene) => {
    await scene.write("file", "hay\nneedle in it\nhay\n");
    const input = await scene.backend.files.open(scene.at("file"));
    const { lines: found } = await search(scene, { input, path: "output://1" });
    deepEqual(found, [{ path: "output://1", line: 2, text: "needle in it", match: true }]);
  },

  "a path or pattern that cannot be searched is a failure": async (scene) => {
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

const textsOf = (found: SearchResult["lines"]) => found.map(({ text }) => text);
const pathsOf = (found: SearchResult["lines"]) => found.map(({ path }) => path);

async function lines(scene: Scene, query: Partial<SearchQuery> = {}): Promise<readonly string[]> {
  const { lines: found } = await search(scene, query);
  return found.map(({ path, line, text }) => `${path.slice(scene.folder.length + 1)}:${line}:${text}`);
}
