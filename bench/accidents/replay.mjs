/**
 * Replays accidents that people reported (cases.mjs): `node bench/accidents/replay.mjs [TEXT]`.
 *
 * In:  dist/ (built when stale), git.
 * Out: a table: what each accident changed, what undo brought back, and what was said about the rest. Beside it, a shadow
 *      repository as gemini-cli and opencode keep one (`git add`, commit, restore, clean, with the project's .gitignore).
 *      Their programs need a model for that, so their way is replayed, not they. Losses are printed like wins.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildIfStale } from "../../scripts/build.mjs";
import { ACCIDENTS } from "./cases.mjs";

await buildIfStale();
const { createToolkit, defineTool, asText } = await import("handrail");
const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const chosen = ACCIDENTS.filter(({ thread, what }) => `${thread} ${what}`.includes(process.argv[2] ?? ""));
const base = mkdtempSync(join(tmpdir(), "handrail-accidents-"));
const rows = [];
const sum = { lost: 0, ours: 0, shadow: 0, bytes: 0, ourBytes: 0, shadowBytes: 0, whole: 0, shadowWhole: 0 };
let number = 0;
for (const accident of chosen) {
  const ours = await withUndo(accident, join(base, `${number}-ours`));
  const isOffered = ours.said.includes("--git-state");
  const more = isOffered ? await withUndo(accident, join(base, `${number}-git`), ["--git-state"]) : ours;
  const shadow = withShadow(accident, join(base, `${number++}-shadow`));
  const whole = ours.back === ours.lost;
  rows.push([
    accident.thread,
    accident.what,
    `${ours.back} of ${ours.lost}, ${size(ours.backBytes)}`,
    `${shadow.back} of ${shadow.lost}, ${size(shadow.backBytes)}`,
    whole ? "" : `${ours.said}${isOffered ? ` With it: ${more.back} of ${more.lost}` : ""}`,
  ]);
  sum.lost += ours.lost;
  sum.ours += ours.back;
  sum.shadow += shadow.back;
  sum.bytes += ours.lostBytes;
  sum.ourBytes += ours.backBytes;
  sum.shadowBytes += shadow.backBytes;
  sum.whole += whole ? 1 : 0;
  sum.shadowWhole += shadow.back === shadow.lost ? 1 : 0;
}
rmSync(base, { recursive: true, force: true });
console.log(
  "| thread | what | handrail undo | a shadow repository | said about the rest |\n| --- | --- | --- | --- | --- |",
);
for (const row of rows) console.log(`| ${row.join(" | ")} |`);
console.log(
  `\n${chosen.length} accidents. Everything back: ${sum.whole} with undo, ${sum.shadowWhole} with a shadow repository. ` +
    `Files: ${sum.ours} and ${sum.shadow} of ${sum.lost}; ` +
    `bytes: ${size(sum.ourBytes)} and ${size(sum.shadowBytes)} of ${size(sum.bytes)}.`,
);

/**
 * Makes the state of an accident.
 *
 * @param {import("./cases.mjs").Accident} accident
 * @param {string} folder
 */
function prepare({ files, ignored, uncommitted = [], before = "", plain = false }, folder) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "number" ? randomBytes(content) : content);
  }
  if (ignored !== undefined) writeFileSync(join(folder, ".gitignore"), ignored);
  const left = uncommitted.map((path) => `git rm -rq --cached --ignore-unmatch "${path}"; `).join("");
  const commit = "git -c user.name=A -c user.email=a@example.org commit -qm First";
  if (!plain) execFileSync("sh", ["-c", `git init -q; git add -A; ${left}${commit}`], { cwd: folder });
  execFileSync("sh", ["-c", before], { cwd: folder });
}

/**
 * Runs the command as a tool, then undoes it.
 *
 * @param {import("./cases.mjs").Accident} accident
 * @param {string} folder
 * @param {readonly string[]} options of `handrail undo`
 */
async function withUndo(accident, folder, options = []) {
  const work = join(folder, "work");
  const state = join(folder, "state");
  mkdirSync(work, { recursive: true });
  prepare(accident, work);
  const before = treeOf(work);
  const act = defineTool({
    name: "act",
    description: "Runs the command.",
    touches: ["foreign"],
    input: {},
    effects: () => [{ kind: "foreign", from: "an accident" }],
    run: async () => spawnSync("sh", ["-c", accident.command], { cwd: work }).status,
  });
  const toolkit = await createToolkit({
    ...{ tools: [act], workDir: work, stateDir: join(state, "handrail"), undo: true },
    ...(accident.limit !== undefined && { maxUndoBytes: accident.limit }),
    policy: { autonomy: "full" },
    approver: async () => ({ answer: "once" }),
  });
  const result = asText(await toolkit.call({ name: "act", input: {}, turn: "1" }));
  while (isActing(join(state, "handrail/undo"))) await pause(20);
  await toolkit.close();
  const lost = differing(before, treeOf(work));
  const env = { ...process.env, HOME: folder, XDG_STATE_HOME: state };
  const undo = spawnSync(process.execPath, [cli, "undo", "--yes", ...options], { cwd: work, env, encoding: "utf8" });
  const named = [...result.matchAll(/\[(Not kept[^\]]*|Undo is off[^\]]*)\]/g)].map(([, words]) => words);
  const failed = undo.stdout.split("\n").filter((line) => /^ {2}failed|git repository changed/.test(line));
  const said = [...named, ...failed.slice(0, 2)].join(" ").trim();
  return { ...recovered(before, lost, treeOf(work)), said: said === "" ? "nothing" : said };
}

/** @param {string} folder */
function isActing(folder) {
  const [store = ""] = readdirSync(folder);
  return JSON.parse(readFileSync(join(folder, store, "log.json"), "utf8")).acting.length > 0;
}

/**
 * The same with a shadow repository.
 *
 * @param {import("./cases.mjs").Accident} accident
 * @param {string} folder
 */
function withShadow(accident, folder) {
  const work = join(folder, "work");
  mkdirSync(work, { recursive: true });
  prepare(accident, work);
  const before = treeOf(work);
  const env = { ...process.env, GIT_DIR: join(folder, "shadow"), GIT_WORK_TREE: work };
  const git = (/** @type {readonly string[]} */ ...args) => spawnSync("git", args, { cwd: work, env, stdio: "ignore" });
  git("init", "-q");
  git("add", "--all", ".");
  git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "Checkpoint", "--allow-empty");
  spawnSync("sh", ["-c", accident.command], { cwd: work });
  const lost = differing(before, treeOf(work));
  git("restore", "--source", "HEAD", ".");
  git("clean", "-fdq");
  return recovered(before, lost, treeOf(work));
}

/** @typedef {Map<string, { readonly hash: string, readonly bytes: number }>} Tree */

/**
 * All files with their content, `.git` too: without the index, which git writes whenever it looks.
 *
 * @param {string} folder
 */
function treeOf(folder) {
  /** @type {Tree} */
  const tree = new Map();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || /\.git\/(index|logs\/|ORIG_HEAD)/.test(path)) continue;
    const content = lstatSync(path).isSymbolicLink() ? Buffer.from(readlinkSync(path)) : readFileSync(path);
    const hash = createHash("sha1").update(content).digest("hex");
    tree.set(path.slice(folder.length + 1), { hash, bytes: content.length });
  }
  return tree;
}

/**
 * The files that are gone or different. What an agent added in place of something else counts with what it replaced.
 *
 * @param {Tree} before
 * @param {Tree} now
 */
function differing(before, now) {
  return [...before.keys()].filter((path) => before.get(path)?.hash !== now.get(path)?.hash);
}

/**
 * @param {Tree} before
 * @param {readonly string[]} lost
 * @param {Tree} now
 */
function recovered(before, lost, now) {
  const bytes = (/** @type {readonly string[]} */ paths) =>
    paths.reduce((all, path) => all + (before.get(path)?.bytes ?? 0), 0);
  const back = lost.filter((path) => before.get(path)?.hash === now.get(path)?.hash);
  return { lost: lost.length, back: back.length, lostBytes: bytes(lost), backBytes: bytes(back) };
}

/** @param {number} bytes */
function size(bytes) {
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
