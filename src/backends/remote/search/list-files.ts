import { posix } from "node:path";
import type { Files, Process } from "../../../contract/backend.ts";
import { isInside } from "../../../util/paths.ts";
import type { Question } from "./arguments.ts";
import { namesTest } from "./arguments.ts";
import { ignoring } from "./ignoring.ts";
import type { FindFacts } from "./probe.ts";
import type { Run } from "./run.ts";

export interface ListFilesOptions {
  readonly question: Question;
  /** Real paths that are not looked at. */
  readonly except: readonly string[];
  readonly find: FindFacts;
  readonly files: Pick<Files, "open">;
  readonly run: Run;
  /** Starts a program there, with split streams. */
  readonly start: (argv: readonly [string, ...string[]]) => Promise<Process>;
}

/** The files under a folder (a real path) that ripgrep would look at: relative to it, in bytes (latin1), in the order of paths. */
export async function listFiles(
  root: string,
  { question, except, find, files, run, start }: ListFilesOptions,
): Promise<readonly string[]> {
  if (except.some((path) => isInside(root, path))) return [];
  const rules = await ignoring(root, files);
  const left = except.filter((path) => isInside(path, root)).map((path) => posix.relative(root, path));
  const walk = async (pruned: readonly string[]) => {
    const process = run.adopt(
      await start(["sh", "-c", WALK, "sh", root, ...expressionOf(question.git, { pruned, left, find })]),
    );
    return walked(process, root, run);
  };
  let entries = await walk(rules.names);
  if (await rules.mayTakeBack(entries.rules)) entries = await walk([]);
  await rules.read(entries.rules);
  const isMeant = namesTest(question.names);
  const kept = entries.files.filter((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return isMeant(textOf(name)) && !rules.ignores(textOf(path));
  });
  entries.complaints.forEach(run.complain);
  return kept
    .map((path) => path.replaceAll("/", "\0"))
    .sort()
    .map((key) => key.replaceAll("\0", "/"));
}

const WALK = `
LC_ALL=C; export LC_ALL
unset POSIXLY_CORRECT
cd -- "$1" 2>/dev/null || { printf 'find: .: Permission denied\\n' >&2; exit 2; }
shift
exec find . "$@"
`;

interface Pruning {
  /** Names of folders. */
  readonly pruned: readonly string[];
  /** Paths, relative to the root. */
  readonly left: readonly string[];
  readonly find: FindFacts;
}

/** What lists a file once, and twice what says what is to be left out: a .gitignore (besides, where it is a file) and a .git. */
function expressionOf(git: boolean, { pruned, left, find: { print } }: Pruning): readonly string[] {
  const left_out = left.flatMap((path) => ["-path", `./${path.replace(/[\\*?[\]]/g, "\\$&")}`, "-prune", "-o"]);
  const anyOf = pruned.flatMap((name, index) => [...(index === 0 ? [] : ["-o"]), "-name", name]);
  return [
    ...left_out,
    ...(git
      ? ["-type", "d", "-name", ".git", ...print, ...print, "-o"]
      : ["-name", ".git", ...print, ...print, "-prune", "-o"]),
    ...(pruned.length === 0 ? [] : ["-type", "d", "(", ...anyOf, ")", "-prune", "-o"]),
    ...["-name", ".gitignore", "-type", "f", ...print, ...print, ...print, "-o"],
    ...["-name", ".gitignore", ...print, ...print, "-o"],
    ...["-type", "f", ...print],
  ];
}

interface Walked {
  readonly files: readonly string[];
  /** Each .gitignore and .git. Relative paths. */
  readonly rules: readonly string[];
  readonly complaints: readonly string[];
}

async function walked(process: Process, root: string, run: Run): Promise<Walked> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.output.follow()) chunks.push(chunk);
  await process.exit;
  const times = new Map<string, number>();
  const paths = run.isStopped() ? [] : Buffer.concat(chunks).toString("latin1").split("\0");
  for (const path of paths) if (path !== "") times.set(path.slice(2), (times.get(path.slice(2)) ?? 0) + 1);
  const said = Buffer.from((await process.errors?.read(0, MOST_SAID)) ?? []).toString("utf8");
  return {
    files: [...times].flatMap(([path, count]) => (count % 2 === 1 ? [path] : [])),
    rules: [...times].flatMap(([path, count]) => (count >= 2 ? [textOf(path)] : [])),
    complaints: said.split("\n").flatMap((line) => {
      const [, path, what] = /^\S*find: ['‘]?(\..*?)['’]?: (.*)$/.exec(line) ?? [];
      return path === undefined ? [] : [`${posix.join(root, path)}: ${what}`];
    }),
  };
}

/** Of stderr so much is read. */
const MOST_SAID = 256 * 1024;

function textOf(latin1: string): string {
  return /^[\0-\x7f]*$/.test(latin1) ? latin1 : Buffer.from(latin1, "latin1").toString("utf8");
}
