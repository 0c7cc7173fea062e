import { existsSync, lstatSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pause } from "../../src/core/util/abort.ts";
import { cases } from "../support/cases.ts";
import { until } from "../support/until.ts";
import { type CommandLine, commandLine } from "./program.ts";

/** How often each is killed. The system tests run with TIMES=10. */
const KILLS = Math.ceil(cases(0.3));

const FILES = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`d${n % 10}/f${n}`, `old ${n}\n`.repeat(500)]));
const CHANGE = { command: "for f in d*/f*; do sed s/old/new/ $f > t; cat t > $f; done; rm t; touch made" };

function storeOf({ stateHome }: CommandLine): string {
  const folder = join(stateHome, "handrail/undo");
  return existsSync(folder) ? join(folder, readdirSync(folder)[0] ?? "") : folder;
}

/** Starts the program, and kills it some time after the moment, if it is still running. */
async function killed(line: CommandLine, args: readonly string[], moment: () => boolean): Promise<void> {
  const running = line.start(args);
  let hasEnded = false;
  const ended = running.ended.then(() => (hasEnded = true));
  await until("it works or has ended", () => hasEnded || moment(), 60_000);
  await pause(Math.random() * 250);
  running.kill("SIGKILL");
  await ended;
}

test("a killed snapshot leaves a working store", { timeout: KILLS * 90_000 }, async () => {
  const line = await commandLine(FILES);
  await line.here(["call", "bash", '{"command":"true"}', "--yes"]);
  const [point = ""] = (await line.here(["undo", "--list"])).stdout.split(" ");
  for (let kill = 0; kill < KILLS; kill++) {
    writeFileSync(join(line.folder, `mine${kill}`), "mine\n".repeat(10_000)); // changes that must be kept
    const lock = join(storeOf(line), "lock"); // a link to no file
    await killed(
      line,
      ["call", "bash", JSON.stringify(CHANGE), "--yes"],
      () => lstatSync(lock, { throwIfNoEntry: false }) !== undefined,
    );
    expect((await line.here(["call", "bash", JSON.stringify(CHANGE), "--yes"])).code).toBe(0);
    expect((await line.here(["undo", point, "--yes"])).code).toBe(0);
    expect(contents(line)).toEqual(FILES);
  }
});

test("a killed restore leaves complete files, and can be finished", { timeout: KILLS * 90_000 }, async () => {
  const line = await commandLine(FILES);
  const change = () => line.here(["call", "bash", JSON.stringify(CHANGE), "--yes"]);
  await change();
  const [point = ""] = (await line.here(["undo", "--list"])).stdout.split(" ");
  for (let kill = 0; kill < KILLS; kill++) {
    const log = () => readFileSync(join(storeOf(line), "log.json"), "utf8").split('"by":"undo"').length;
    const before = log();
    await killed(line, ["undo", point, "--yes"], () => log() > before);
    for (const [path, content] of Object.entries(contents(line))) {
      expect([FILES[path], FILES[path]?.replaceAll("old", "new")]).toContain(content);
    }
    const { code, stderr } = await line.here(["undo", point, "--yes"]);
    expect([code, stderr.replace(/^handrail: an undo was interrupted.*\n/, "")]).toEqual([0, ""]);
    expect(contents(line)).toEqual(FILES);
    expect(readdirSync(line.folder).filter((name) => name.startsWith(".handrail"))).toEqual([]);
    await change();
  }
});

function contents({ folder }: CommandLine): { readonly [path: string]: string } {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => /^d\d\/f/.test(path));
  return Object.fromEntries(paths.toSorted().map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}
