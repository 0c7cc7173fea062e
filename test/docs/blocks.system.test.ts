// Every block of code in the docs is what it seems: programs type-check and print what they say, configuration is valid.
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { readFileSync, readdirSync } from "node:fs";
import { promisify } from "node:util";
import ts from "typescript";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { loadCompiler } from "../../src/core/call/validate.ts";
import { place } from "../app/config/config.ts";
import { editorSchema } from "../app/config/reference.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Block, allBlocks, blocksIn, root } from "./pages.ts";

/** What the programs of some pages use without declaring it: the names that a reader brings. */
const READERS_NAMES = `
import type { Backend, Store, Toolkit } from "handrail";
declare global {
  const token: string, question: string, call: string, thread: string;
  const store: Store, toolkit: Toolkit;
  function draw(messages: unknown, turn: unknown): void;
  function unshare(folder: string, options: unknown): Promise<Backend>;
  function openMyStore(place: unknown): Promise<Store>;
  const DefaultChatTransport: new (options: { api: string; headers: { [name: string]: string } }) => unknown;
}
`;

/** Our own settings of the compiler that most programs do not have. */
const AS_MOST_PROGRAMS = { noImplicitAny: false, noUnusedLocals: false, exactOptionalPropertyTypes: false };

/** Blocks of YAML that are not Handrail's configuration, by their first key, and what checks them. */
const OTHER_YAML: { readonly [key: string]: string } = {
  extensions: "Goose's: test/connect/mcp/entries.test.ts starts the server that it names",
  scrape_configs: "Prometheus's",
};

/** Languages that no test here looks at, and what checks them. */
const ELSEWHERE: { readonly [language: string]: string } = {
  "": "pictures, and what a program printed",
  text: "what a program printed",
  mermaid: "the site draws them: `npm run docs`",
  bash: "the plugin of docs/plugins.md: test/tools/plugins/suite.test.ts",
  sh: "commands.test.ts reads the command lines of Handrail in them",
  console: "commands.test.ts too; test/readme.test.ts runs the one in the README",
};

test("each language of a block is checked here or elsewhere", () => {
  const checked = ["js", "ts", "json", "yaml", ...Object.keys(ELSEWHERE)];
  const others = allBlocks().filter(({ language }) => !checked.includes(language));
  expect(others.map(({ at }) => at)).toEqual([]);
});

test("programs are parts of an example, which runs, or type-check against the package's types", () => {
  const programs = ["", "sdks/"].flatMap((folder) =>
    readdirSync(`${root}examples/${folder}`)
      .filter((file) => file.endsWith(".mjs"))
      .map((file) => readFileSync(`${root}examples/${folder}${file}`, "utf8")),
  );
  const alone = blocksIn("js", "ts").filter(({ code }) => !programs.some((program) => program.includes(code)));
  expect(faultsOf(alone)).toEqual([]);
}, 180_000);

test("programs whose last line prints something print what its comment says", async () => {
  const told = blocksIn("js", "ts").flatMap((block) => {
    const [, output] = /^console\.log\(.*\); \/\/ (.*)$/m.exec(block.code) ?? [];
    return output === undefined ? [] : [{ ...block, output }];
  });
  expect(told.map(({ page }) => page)).toContain("README.md");
  const folder = `${root}test/.docs`; // inside the project, so that "handrail" is this package
  const [state, config] = [temporaryFolder(), temporaryFolder()];
  await mkdir(folder, { recursive: true });
  try {
    for (const [index, { at, code, output }] of told.entries()) {
      const file = `${folder}/program-${index}.mjs`;
      await writeFile(file, code);
      const env = { ...process.env, XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
      const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env });
      expect(stdout.trim(), at).toBe(output);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("configuration has keys that exist and values that Handrail and editors take", async () => {
  const schema = (await loadCompiler())(editorSchema());
  const { read } = await place();
  const faults: string[] = [];
  for (const { at, code } of blocksIn("yaml")) {
    const value: unknown = parse(code);
    if (Object.keys(value as object).some((key) => key in OTHER_YAML)) continue;
    if (!schema.Check(value)) faults.push(`${at}: not as handrail.schema.json says`);
    const problem = await read({ user: code }, { HOME: "/home/me" }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (problem !== undefined) faults.push(`${at}: ${problem}`);
  }
  expect(faults).toEqual([]);
});

test("blocks of JSON are JSON", () => {
  for (const { at, code } of blocksIn("json")) expect(() => JSON.parse(code) as unknown, at).not.toThrow();
});

/** Where the types of each entry of the package come from: they may not be built yet. */
function sources(): { readonly [entry: string]: readonly string[] } {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    readonly exports: { readonly [entry: string]: { readonly types?: string } };
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, { types }]) =>
      types === undefined
        ? []
        : [[entry.replace(".", "handrail"), [types.replace("./dist/types/", "./").replace(/\.d\.ts$/, ".ts")]]],
    ),
  );
}

/** Type-checks each block as a module of its own, beside the package. `js` may leave types of parameters out. */
function faultsOf(blocks: readonly Block[]): readonly string[] {
  const names = `${root}test/.docs/names.mts`;
  const files = new Map([[names, READERS_NAMES]]);
  const places = new Map<string, string>();
  for (const { at, code, language } of blocks) {
    const file = `${root}test/.docs/${at.replaceAll(/\W/g, "-")}.m${language}`;
    files.set(file, `${code}\nexport {};\n`);
    places.set(file, at);
  }
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => readFileSync(path, "utf8")) as {
    readonly config: { readonly compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...config.compilerOptions, ...AS_MOST_PROGRAMS, checkJs: true, lib: ["es2023", "dom"], paths: sources() },
    root,
  );
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile: readText, getSourceFile } = host;
  host.fileExists = (file) => files.has(file) || fileExists(file);
  host.readFile = (file) => files.get(file) ?? readText(file);
  host.getSourceFile = (file, target, ...more) => {
    const text = files.get(file);
    return text === undefined ? getSourceFile(file, target, ...more) : ts.createSourceFile(file, text, target);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const faults = [...files.keys()].flatMap((file) => ts.getPreEmitDiagnostics(program, program.getSourceFile(file)));
  return faults.map((fault) => {
    const { file, start, messageText } = fault;
    const line = file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
    const [, page, first] = /^(.*):(\d+)$/.exec(places.get(file?.fileName ?? "") ?? "") ?? [];
    const text = ts.flattenDiagnosticMessageText(messageText, " ");
    return page === undefined ? `${file?.fileName}: ${text}` : `${page}:${Number(first) + line}: ${text}`;
  });
}
