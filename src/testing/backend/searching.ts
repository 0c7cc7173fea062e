import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { HelperOptions, Process } from "../../contract/backend.ts";
import { type Cases, type Scene, failureOf, soon, whole } from "./scene.ts";

/** As the tools that search give them, in every call. */
const ALWAYS = [
  ...["--no-config", "--no-require-git", "--no-ignore-global", "--no-ignore-dot", "--hidden"],
  ...["--color=never", "--null"],
];

/** The same for lines. Longer ones than 2,004 bytes are cut. */
const LINES = [
  ...ALWAYS,
  ...["--with-filename", "--line-number", "--no-heading", "--no-context-separator"],
  ...["--max-columns=2004", "--max-columns-preview"],
];

const WITHOUT_GIT = "--glob=!.git";

/** What a search for lines is asked, as the tool asks it. */
function lineArguments(pattern: string, ...more: readonly string[]): readonly string[] {
  return [
    ...LINES,
    "--ignore-case",
    ...more,
    "--crlf",
    "--max-count=101",
    `--regexp=${pattern}`,
    WITHOUT_GIT,
    "--sort=path",
  ];
}

/** The helper `rg`, asked as our tools ask it. */
export const searching: Cases = {
  "lines that match are told with their file, a NUL byte and their number, in the order of paths": async (scene) => {
    const { write, at } = scene;
    await write("b/two.txt", "hay\nNeedle two\n");
    await write("a/one.txt", "needle\nhay\nhay\nmore needles");
    await write("c.txt", "hay\n");
    const { exit, output, errors } = await search(scene, lineArguments("needle"));
    equal(
      output,
      `${at("a/one.txt")}\x001:needle\n${at("a/one.txt")}\x004:more needles\n${at("b/two.txt")}\x002:Needle two\n`,
    );
    deepEqual([exit, errors], [{ how: "exited", code: 0 }, ""]);
  },

  "where nothing is found it ends with 1, and complains of nothing": async (scene) => {
    await scene.write("file", "hay\n");
    deepEqual(await search(scene, lineArguments("needle")), {
      exit: { how: "exited", code: 1 },
      output: "",
      errors: "",
    });
  },

  "upper and lower case, plain text and alternatives are told apart as asked": async (scene) => {
    const { write, at } = scene;
    await write("file", "a.b(c)\naxb\nA.B(C)\n");
    const found = async (...args: readonly string[]) =>
      (await search(scene, [...LINES, ...args, WITHOUT_GIT])).output.replaceAll(`${at("file")}\0`, "");
    equal(await found("--case-sensitive", "--fixed-strings", "--regexp=a.b(c)"), "1:a.b(c)\n");
    equal(await found("--ignore-case", "--fixed-strings", "--regexp=a.b(c)"), "1:a.b(c)\n3:A.B(C)\n");
    equal(await found("--case-sensitive", "--regexp=a.b"), "1:a.b(c)\n2:axb\n");
    equal(await found("--case-sensitive", "--regexp=^(axb|A.*)$"), "2:axb\n3:A.B(C)\n");
    equal(await found("--case-sensitive", "--regexp=-x"), "");
  },

  "context has a dash in place of the colon, and each line is told once": async (scene) => {
    const { write, at } = scene;
    await write("file", "1\n2\nneedle\n4\nneedle\n6\n7\n");
    const { output } = await search(scene, lineArguments("needle", "--context=1"));
    equal(output.replaceAll(`${at("file")}\0`, ""), "2-2\n3:needle\n4-4\n5:needle\n6-6\n");
  },

  "the end of a line is found before a carriage return too": async (scene) => {
    await scene.write("file", "needle\r\nneedles\r\n");
    equal((await search(scene, lineArguments("needle$"))).output, `${scene.at("file")}\x001:needle\n`);
  },

  "from one file no more matches come than were asked for": async (scene) => {
    await scene.write("file", "needle\n".repeat(500));
    equal((await search(scene, lineArguments("needle"))).output.trimEnd().split("\n").length, 101);
  },

  "of a very long line the beginning comes": async (scene) => {
    const line = `needle ${"long ".repeat(4_000)}`;
    await scene.write("file", `${line}\nneedle\n`);
    const [first = "", second] = (await search(scene, lineArguments("needle"))).output.split("\n");
    ok(first.startsWith(`${scene.at("file")}\x001:${line.slice(0, 2_000)}`));
    ok(first.length < 4_000, `${first.length} characters`);
    equal(second, `${scene.at("file")}\x002:needle`);
  },

  "of a binary file no line is shown; of one that is named it is said that it is binary": async (scene) => {
    await scene.write("file", "hay\0hay\nneedle\n");
    equal((await search(scene, lineArguments("needle"))).output, "");
    const { output } = await search(scene, lineArguments("needle"), { paths: [scene.at("file")] });
    match(output, /^[^\0]+: binary file matches \(found .{1,10} byte around offset \d+\)\n$/s);
    ok(output.startsWith(`${scene.at("file")}: `));
  },

  "files are listed with a NUL byte behind each: hidden ones too, and none that .gitignore names": async (scene) => {
    const { write, at } = scene;
    const shown = [".env.example", ".folder/file", ".hidden", "a b", "keep.log", "new\nline", "src/.x", "src/x.ts"];
    for (const name of [...shown, ".folder/x.log", "build/out", "x.log", ".git/config", "src/.git/config"]) {
      await write(name, "");
    }
    await write(".gitignore", "build/\n*.log\n!keep.log\n");
    const all = [...shown, ".gitignore"];
    const { output } = await search(scene, [...ALWAYS, "--files", WITHOUT_GIT]);
    deepEqual(listed(output), all.toSorted().map(at));
    const withGit = await search(scene, [...ALWAYS, "--files"]);
    deepEqual(listed(withGit.output), [...all, ".git/config", "src/.git/config"].toSorted().map(at));
  },

  "lines in hidden files are found, those in git's own folder are not": async (scene) => {
    const { write, at } = scene;
    for (const name of [".env.example", ".github/workflows/ci.yml", ".git/config"]) await write(name, "needle\n");
    const { output } = await search(scene, lineArguments("needle"));
    equal(output, [".env.example", ".github/workflows/ci.yml"].map((name) => `${at(name)}\x001:needle\n`).join(""));
  },

  "files are chosen by name, and .gitignore stays in force": async (scene) => {
    const { write, at } = scene;
    for (const name of ["a.ts", "b.js", "sub/c.ts", "ignored.ts"]) await write(name, "needle\n");
    await write(".gitignore", "ignored.ts\n");
    const meant = ["--type-add=meant:*.ts", "--type=meant"];
    deepEqual(
      listed((await search(scene, [...ALWAYS, "--files", WITHOUT_GIT, ...meant])).output),
      ["a.ts", "sub/c.ts"].map(at),
    );
    equal(
      (await search(scene, [...lineArguments("needle"), ...meant])).output,
      `${at("a.ts")}\x001:needle\n${at("sub/c.ts")}\x001:needle\n`,
    );
  },

  "it looks at the paths that it is given, whatever their names, and at nothing else": async (scene) => {
    const { write, at } = scene;
    for (const name of ["-e", "--files", "a b/file", "'$(id)*", "other/file"]) await write(name, "needle\n");
    const paths = ["--files", "-e", "a b", "'$(id)*"].map(at);
    const { output } = await search(scene, lineArguments("needle"), { paths });
    const expected = ["--files", "-e", "a b/file", "'$(id)*"].map((name) => `${at(name)}\x001:needle`);
    deepEqual(output.trimEnd().split("\n").toSorted(), expected.toSorted());
  },

  "what is excepted is not looked at, nor anything under it": async (scene) => {
    const { write, at } = scene;
    for (const name of [
      "open/file",
      "closed/file",
      "closed too/deep/file",
      "sub/closed/file",
      "a[b]*/file",
      "a[b]*x",
    ]) {
      await write(name, "needle\n");
    }
    const options = { paths: [at(".")], except: ["closed", "closed too", "a[b]*"].map(at) };
    const left = ["a[b]*x", "open/file", "sub/closed/file"].map(at);
    const { output } = await search(scene, lineArguments("needle"), options);
    equal(output, left.map((path) => `${path}\x001:needle\n`).join(""));
    deepEqual(listed((await search(scene, [...ALWAYS, "--files", WITHOUT_GIT], options)).output), left);
  },

  "a link is not followed": async (scene) => {
    await scene.write("folder/file", "needle\n");
    await scene.sh("ln -s folder link; ln -s folder/file to-file");
    const { output } = await search(scene, lineArguments("needle"));
    equal(output, `${scene.at("folder/file")}\x001:needle\n`);
  },

  "without paths it searches its stdin, which is written to": async ({ backend }) => {
    const child = await backend.helper("rg", [...lineArguments("needle"), "--text"], { paths: [] });
    await child.write("hay\nneedle in");
    await child.write(" stdin\nhay\n");
    await child.endInput();
    const { exit, output } = await ended(child);
    match(output, /^[^\0\n]+\x002:needle in stdin\n$/);
    deepEqual(exit, { how: "exited", code: 0 });
  },

  "what cannot be searched is told in its errors, by its path; the rest is found": async (scene) => {
    const { write, at } = scene;
    await write("file", "needle\n");
    const { exit, output, errors } = await search(scene, lineArguments("needle"), { paths: [at("none"), at("file")] });
    equal(output, `${at("file")}\x001:needle\n`);
    deepEqual(exit, { how: "exited", code: 2 });
    ok(errors.startsWith(`rg: ${at("none")}: `), errors);
  },

  "a pattern that is none is told in its errors": async (scene) => {
    await scene.write("file", "needle\n");
    const { exit, errors } = await search(scene, lineArguments("needle("));
    deepEqual(exit, { how: "exited", code: 2 });
    match(errors, /^rg: /);
  },

  "a signal ends it, and before it began it is not started": async ({ backend }) => {
    const stop = new AbortController();
    const child = await backend.helper("rg", lineArguments("needle"), { paths: [], signal: stop.signal });
    stop.abort();
    deepEqual(await soon("it ends", child.exit), { how: "aborted" });
    ok((await failureOf(backend.helper("rg", ["x"], { paths: [], signal: AbortSignal.abort() }))) !== "");
  },
};

async function search(
  { backend, folder }: Scene,
  args: readonly string[],
  options: HelperOptions = { paths: [folder] },
): Promise<Awaited<ReturnType<typeof ended>>> {
  return ended(await backend.helper("rg", args, options));
}

async function ended(child: Process) {
  const exit = await soon("it ends", child.exit);
  const errors = child.errors === undefined ? "" : (await whole(child.errors)).toString();
  // A carriage return before the end of a line is nothing to our tools; asked with --crlf, rg adds one where a file's last line has no end.
  return { exit, output: (await whole(child.output)).toString().replaceAll("\r\n", "\n"), errors };
}

function listed(output: string): readonly string[] {
  return output.split("\0").slice(0, -1).toSorted();
}
