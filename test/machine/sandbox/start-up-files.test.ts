// Files that other programs obey by themselves and that a contained command makes: what would start a program unasked is
// put aside until a person has looked at it, the rest is named.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { contentOf, heldBackAt, heldBackIn, putBack, removeHeldBack } from "../../../src/machine/sandbox/held-back.ts";
import { describeRefusals } from "../../../src/core/output/describe-refusals.ts";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { mustBeHere } from "../../support/here.ts";
import { type World, noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const worlds: World[] = [];
afterAll(() => Promise.all(worlds.map(({ backend }) => backend.close())));

const newWorld = async () => {
  const one = await world({ isProtected: (path) => startUpFile(path) !== undefined });
  worlds.push(one);
  return one;
};

const making = (files: readonly string[]) =>
  files.map((file) => `mkdir -p "$(dirname ${file})" && echo x >${file}`).join(" && ");

const ASIDE = [
  ".vscode/tasks.json",
  ".vscode/settings.json",
  "packages/app/.vscode/tasks.json",
  ".claude/settings.json",
  ".cursor/mcp.json",
  ".mcp.json",
  ".husky/pre-commit",
  ".envrc",
  ".gdbinit",
  ".idea/workspace.xml",
  ".devcontainer/devcontainer.json",
];
const NAMED = [".npmrc", ".vscode/extensions.json", ".cargo/config.toml", "rust-toolchain.toml", ".cursor/rules/a.mdc"];

describe.skipIf(noSandbox !== undefined)("a start-up file that a command makes", () => {
  test("is put aside if it would start a program unasked, and reported with what obeys it", async () => {
    const { bash, workDir } = await newWorld();
    const { exit, refusals } = await bash(making(ASIDE));
    expect(exit).toEqual({ how: "exited", code: 0 });
    expect(ASIDE.filter((file) => existsSync(join(workDir, file)))).toEqual([]);
    const reported = refusals.filter((each) => each.kind === "start-up");
    expect(new Set(reported.map(({ path, isAside }) => `${path} ${isAside}`))).toEqual(
      new Set(ASIDE.map((file) => `${join(workDir, file)} true`)),
    );
    expect(reported.map(({ what }) => what)).toContain("editor settings, which run programs");
    expect(describeRefusals(refusals)).toContain("handrail held-back");
    expect(heldBackIn(workDir).map(({ original }) => original)).toEqual(
      ASIDE.map((file) => join(workDir, file)).sort(),
    );
  });

  test("stays if it starts nothing by itself, and is named", async () => {
    const { bash, workDir } = await newWorld();
    const { refusals } = await bash(making(NAMED));
    expect(NAMED.filter((file) => !existsSync(join(workDir, file)))).toEqual([]);
    expect(refusals.filter((each) => each.kind === "start-up" && !each.isAside)).toHaveLength(NAMED.length);
    expect(describeRefusals(refusals)).toContain("which the command made: mention it");
  });

  test("is put aside when it is a link to a file with another name", async () => {
    const { bash, workDir } = await newWorld();
    await bash("mkdir x && echo {} >x/tasks.json && ln -s x .vscode && ln -s x/tasks.json .mcp.json");
    expect([".vscode", ".mcp.json"].filter((name) => existsSync(join(workDir, name)))).toEqual([]);
  });

  test("is the person's own if it was there before: a command cannot change it, nor move the folder around it", async () => {
    const { bash, workDir } = await newWorld();
    for (const file of ["app/.vscode/tasks.json", ".envrc"]) {
      mkdirSync(dirname(join(workDir, file)), { recursive: true });
      writeFileSync(join(workDir, file), "the person's\n");
    }
    const { refusals } = await bash("mv app web; echo x >.envrc; true");
    expect(refusals.filter(({ kind }) => kind === "start-up")).toEqual([]);
    expect(readFileSync(join(workDir, "app/.vscode/tasks.json"), "utf8")).toBe("the person's\n");
    expect(readFileSync(join(workDir, ".envrc"), "utf8")).toBe("the person's\n");
  });

  test("is not put aside where a person has granted it", async () => {
    const { bash, workDir } = await newWorld();
    mkdirSync(join(workDir, ".vscode"));
    await bash(making([".vscode/tasks.json"]), { within: { write: [join(workDir, ".vscode")] } });
    expect(existsSync(join(workDir, ".vscode/tasks.json"))).toBe(true);
  });

  test("goes back only as a person has seen it, and never over another file", async () => {
    const { bash, workDir } = await newWorld();
    await bash(making([".mcp.json", ".claude/settings.json"]));
    const one = heldBackAt(join(workDir, ".mcp.json"));
    const { files, digest } = contentOf(one);
    expect(files.map(({ content }) => content.toString())).toEqual(["x\n"]);
    writeFileSync(one.path, "y\n");
    expect(() => putBack(one, digest)).toThrow(/has changed since you looked at it/);
    putBack(one, contentOf(one).digest);
    expect(readFileSync(one.original, "utf8")).toBe("y\n");
    const other = heldBackAt(join(workDir, ".claude/settings.json"));
    writeFileSync(other.original, "mine\n");
    expect(() => putBack(other, contentOf(other).digest)).toThrow(/exists: remove or rename it first/);
    removeHeldBack(other);
    expect(heldBackIn(workDir)).toEqual([]);
    expect(() => heldBackAt(join(workDir, ".mcp.json"))).toThrow(/nothing was put aside/);
  });

  // A script writes the files that each generator writes, besides ordinary sources.
  test.each<[generator: string, files: string, aside: number, named: number]>([
    ["npm create vite (react-ts)", "package.json index.html vite.config.ts eslint.config.js src/main.tsx", 0, 0],
    ["npm create vite (vue)", "package.json .vscode/extensions.json src/main.js", 0, 1],
    ["npx sv create", "package.json .npmrc .vscode/extensions.json svelte.config.js", 0, 2],
    ["npx create-next-app", "package.json next.config.ts AGENTS.md CLAUDE.md app/page.tsx", 0, 0],
    ["npm init -y", "package.json", 0, 0],
    ["npx husky init", ".husky/pre-commit .husky/_/husky.sh .husky/_/pre-commit package.json", 3, 0],
    ["poetry new", "pyproject.toml README.md src/app/__init__.py tests/__init__.py", 0, 0],
    ["python -m venv", ".venv/bin/python .venv/bin/activate .venv/pyvenv.cfg .venv/.gitignore", 0, 0],
    ["cargo new", "Cargo.toml .gitignore src/main.rs", 0, 0],
    ["go mod init", "go.mod", 0, 0],
    ["rails new", "Gemfile .rubocop.yml .ruby-version .kamal/hooks/pre-build.sample .github/workflows/ci.yml", 0, 0],
    ["devcontainer templates apply", ".devcontainer/devcontainer.json .github/dependabot.yml", 1, 0],
  ])("scaffolding stays bearable: %s", async (generator, files, aside, named) => {
    const { bash } = await newWorld();
    const { exit, refusals } = await bash(making(files.split(" ")));
    const left = refusals.filter((each) => each.kind === "start-up");
    expect([generator, exit, refusals.length]).toEqual([generator, { how: "exited", code: 0 }, aside + named]);
    expect(left.filter(({ isAside }) => isAside)).toHaveLength(aside);
  });
});
