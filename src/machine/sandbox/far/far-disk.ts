import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { isRepository } from "../../git/layout.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { withSubmodules } from "../../git/folders.ts";
import { START_UP_NAMES } from "../../places/start-up.ts";
import { bytesOf, pathFrom } from "../../../core/util/byte-paths.ts";
import { isInside } from "../../../core/util/paths.ts";
import { quoteWord, quoteWords } from "../../../core/util/quote.ts";
import { words } from "../../../core/util/text.ts";
import type { RemoteHost } from "../../shell/backend.ts";
import type { SandboxDisk } from "../mounts/sandbox-disk.ts";

/** How often questions that an answer raised are asked, and how many questions there may be. */
const MOST_ROUNDS = 40;
const MOST_QUESTIONS = 20_000;

/** Names in the `.git` folder of most repositories (gitrepository-layout(5)). */
const USUAL_NAMES = words(
  "HEAD config description hooks info objects refs branches logs index packed-refs ORIG_HEAD FETCH_HEAD COMMIT_EDITMSG",
);

/** Scripts longer than this, in bytes, are sent as input, which takes a round trip more. */
const LONGEST_SCRIPT = 131_072;

/** How many looks are kept on the remote system. A command that began before them counts as one that changed files. */
const MOST_KEPT = 20;

/** How many protected files get a rule each. For each further one, the folder of the root that contains it. */
const MOST_FILES = 400;

/** The answers to all questions of one look at a remote system. */
export interface Look {
  /** The remote files with the questions and answers end with this number. */
  readonly number: number;
  readonly answers: ReadonlyMap<string, Buffer>;
}

/** Looks at the files of a remote system. */
export interface FarDisk {
  /**
   * Calls a pure function with the files as they are, or as they were at `look`. Questions of the function that have no
   * answer are asked together, with all others again, until there are none: so all answers are of one moment. The first
   * questions are those that a usual repository raises.
   *
   * @throws what the function throws, what the shells throw, and ToolFailure for a folder that takes longer than
   * `SEARCH_SECONDS` to search: it is not searched again
   */
  ask<T>(work: (disk: SandboxDisk) => T, look?: Look): Promise<{ readonly value: T; readonly look: Look }>;
  /** The folders that took too long to search. */
  tooLarge(): readonly string[];
}

/** What happens on the remote host before the first questions, in the same round trip. */
export interface Opening {
  readonly script: string;
  /** Gets what the script printed. What it throws, `ask` throws. */
  read(printed: Buffer): void;
}

export interface FarDiskOptions {
  readonly host: Pick<RemoteHost, "ask" | "askAside" | "facts">;
  /** Handrail's own folder on the remote system, and the private one of this session in it. */
  readonly own: string;
  readonly workDir: string;
  readonly folder: string;
  /** The line that ends an answer. */
  readonly separator: string;
  readonly isProtected: (path: string) => boolean;
  readonly opening: Opening;
  /** How long a folder may be searched. Default: 3. */
  readonly searchSeconds?: number;
}

/** Code that asks the questions of a look again and compares the answers: succeeds if they are the same. */
export function unchanged(folder: string, { number }: Look, form: string): string {
  const at = quoteWord(folder);
  return `( ${asking(at, number, form)} ) 2>/dev/null | cmp -s - ${at}/answers-${number}`;
}

const asking = (at: string, number: number, form: string) =>
  `. ${at}/look && hr_file_begin ${form} && . ${at}/questions-${number}`;

export function farDisk(options: FarDiskOptions): FarDisk {
  const { host, workDir, folder, separator, opening } = options;
  const slow = new Set<string>();
  let number = 0;
  /** The questions of the last look. The next one asks them at once. */
  let last: readonly string[] = [];

  const fetch = async (all: readonly string[]): Promise<Look> => {
    const next = ++number;
    const isFirst = next === 1;
    const input = Buffer.concat(all.map((line) => Buffer.concat([Buffer.from(bytesOf(line)), Buffer.from("\n")])));
    const isInScript = input.length <= LONGEST_SCRIPT && isUtf8(input);
    const at = quoteWord(folder);
    const old = ["questions", "answers"].map((name) => `${at}/${name}-${next - MOST_KEPT}`);
    const take = `hr_file_take ${input.length}`;
    const [questions, answers] = [`${at}/questions-${next}`, `${at}/answers-${next}`];
    const script = `umask 077
${
  isFirst
    ? `hr_may=y; ( ${opening.script}\n) 2>/dev/null || hr_may=; printf '\\n%s\\n' ${quoteWord(separator)}`
    : `rm -f ${old.join(" ")}; hr_may=y`
}
${isInScript ? `printf %s ${quoteWord(input.toString())} 2>/dev/null >${questions}` : `{ ${take} >${questions}; } 2>/dev/null || ${take} >/dev/null`}
[ -n "$hr_may" ] || exit 0
( ${asking(at, next, host.facts.stat)} ) >${answers} 2>/dev/null
cat ${answers}`;
    const ask = isFirst ? host.ask : host.askAside; // the first shell is open
    const { out } = await ask(script, isInScript ? {} : { input });
    const end = Buffer.from(`\n${separator}\n`);
    const found = new Map<string, Buffer>();
    let from = 0;
    const part = () => {
      const to = out.indexOf(end, from);
      if (to < 0) throw new Error("the remote host did not answer all questions about its files");
      const bytes = out.subarray(from, to);
      from = to + end.length;
      return bytes;
    };
    if (isFirst) opening.read(part());
    for (const question of all) found.set(question, part());
    return { number: next, answers: found };
  };

  /** The questions that `work` raises in a usual repository. */
  const usual = (work: (disk: SandboxDisk) => unknown): readonly string[] => {
    const asked = new Set<string>();
    try {
      work(reading(usualAnswers(workDir), asked, { ...options, slow }));
    } catch {
      // only the questions matter
    }
    return [...asked];
  };

  return {
    async ask(work, known) {
      if (number === 0) last = usual(work);
      let look = known ?? (last.length === 0 ? undefined : await fetch(last));
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const asked = new Set<string>();
        const { answers } = look ?? { answers: new Map<string, Buffer>() };
        let value: ReturnType<typeof work> | undefined;
        let failure: { readonly error: unknown } | undefined;
        try {
          value = work(reading(answers, asked, { ...options, slow }));
        } catch (error) {
          failure = { error }; // of answers that are not there yet, perhaps
        }
        const isWhole = [...asked].every((question) => answers.has(question));
        if (isWhole && failure !== undefined) throw failure.error;
        if (isWhole && look !== undefined) {
          last = answers.size > 2 * asked.size ? [...asked] : [...answers.keys()];
          return { value: value as ReturnType<typeof work>, look };
        }
        const kept = Array.from(answers).flatMap(
          ([question, answer]) => (question.startsWith("f ") && isCutOff(answer) ? [] : [question]), // is not asked again
        );
        const all = [...new Set([...kept, ...asked])];
        if (all.length > MOST_QUESTIONS) break;
        look = await fetch(all);
      }
      throw new Error("there are too many repositories and protected files to look at");
    },
    tooLarge: () => [...slow],
  };
}

/**
 * The answers about a repository as it usually is, in which every place of keys is there. They decide only which
 * questions are asked first.
 */
function usualAnswers(workDir: string): Answers {
  const git = posix.join(workDir, ".git");
  const kinds = ["", ...USUAL_NAMES].map((name) => [`k ${quoteWord(posix.join(git, name))}`, "folder"] as const);
  const names = USUAL_NAMES.map((name) => `${name}\0`).join("");
  const known = new Map<string, string>([...kinds, [`n ${quoteWord(git)}`, names]]);
  return {
    get(question) {
      const answer = known.get(question) ?? (question.startsWith("t ") ? "folder\n" : undefined);
      return answer === undefined ? undefined : Buffer.from(answer);
    },
  };
}

type Answers = Pick<Look["answers"], "get">;

/** How long a folder may be searched. */
const SEARCH_SECONDS = 3;

/** Whether a search took longer. */
const isCutOff = (found: Buffer | undefined) => found?.at(-1) === 33; // "!"

interface ReadingOptions extends Pick<FarDiskOptions, "own" | "workDir" | "isProtected" | "searchSeconds"> {
  /** The folders that took too long to search. The reading adds to them. */
  readonly slow: Set<string>;
}

/** Reads the answers, and notes each question. Without an answer, nothing is there. */
function reading(
  answers: Answers,
  asked: Set<string>,
  { own, workDir, isProtected, slow, searchSeconds = SEARCH_SECONDS }: ReadingOptions,
): SandboxDisk {
  const answer = (question: string): Buffer | undefined => {
    asked.add(question);
    return answers.get(question);
  };
  const about = (what: string, path: string) => answer(`${what} ${quoteWord(path)}`);
  const aboutThere = (path: string) => `t ${quoteWord(path)}`;
  const listed = (bytes: Buffer | undefined): readonly string[] => {
    const paths: string[] = [];
    if (bytes === undefined) return paths;
    for (let from = 0; from < bytes.length;) {
      const to = bytes.indexOf(0, from);
      if (to < 0) break;
      paths.push(pathFrom(bytes.subarray(from, to)));
      from = to + 1;
    }
    return paths;
  };
  /** What find(1) prints. @throws ToolFailure if a search of the folder took too long. */
  const search = (root: string, all: readonly string[]): readonly string[] => {
    const question = `f ${searchSeconds} ${quoteWords(all)}`;
    if (!slow.has(root)) {
      const found = answer(question);
      if (!isCutOff(found)) return listed(found);
      asked.delete(question);
      slow.add(root);
    }
    throw new ToolFailure(
      `the folder ${root} is too large for the sandbox: a search for protected files takes too long`,
      {
        hint: "Use a folder in it that has one project.",
      },
    );
  };
  const kindOf: SandboxDisk["kindOf"] = (path) => kindIn(about("k", path));
  const disk: SandboxDisk = {
    isHere: false,
    kindOf,
    namesIn: (folder) => listed(about("n", folder)),
    read(path, most) {
      const bytes = answer(`r ${most} ${quoteWord(path)}`);
      return bytes === undefined || bytes.length === 0 || bytes.length > most + 1 ? undefined : bytes.subarray(1);
    },
    sizeOf(path) {
      const text = about("s", path)?.toString("latin1").trim() ?? "";
      return text === "" ? undefined : Number(text);
    },
    realOf(path) {
      const known = asked.has(aboutThere(path)) ? about("t", path) : undefined;
      const bytes =
        known === undefined || known.length === 0 ? about("l", path) : known.subarray(known.indexOf(10) + 1);
      return bytes === undefined || bytes.length === 0 ? path : pathFrom(bytes);
    },
    isThere: (path) => (about("t", path)?.length ?? 0) > 0,
    isFolder: (path) => about("t", path)?.toString("latin1").startsWith("folder\n") === true,
    found(root) {
      const all = search(root, findWords(root, own));
      const folders = all.flatMap((path) => {
        const [name, folder] = [posix.basename(path), posix.dirname(path)];
        if (name === ".git") return [folder];
        if (name !== "HEAD") return [];
        return isRepository((each) => disk.kindOf(posix.join(folder, each)) !== undefined) ? [folder] : [];
      });
      const repositories = [...new Set(folders)].filter((folder) => folder !== root);
      const paths = outermost(all.filter((path) => posix.basename(path) !== ".git" && isProtected(path)));
      return { paths: fewer(root, paths), all: paths, repositories, sensitive: [] };
    },
    // Those in the workspace are found as repositories.
    withSubmodules: (worktrees) => withSubmodules(disk, worktrees, () => []),
    filesInGit: () => [],
    listeningSockets(except) {
      const names = listed(answer("u"));
      const relative = new Set(names.filter((name) => !name.startsWith("/")).map((name) => posix.basename(name)));
      const finding = [
        ...leavingOut(workDir, own),
        ...["-o", "-name", "node_modules", "-prune", "-o", "-type", "s", "-print0"],
      ];
      const inside = relative.size === 0 ? [] : search(workDir, finding);
      const sockets = [
        ...names.filter((name) => name.startsWith("/")),
        ...inside.filter((path) => relative.has(posix.basename(path))),
      ];
      return sockets.filter((path) => !except.some((folder) => isInside(path, folder)));
    },
  };
  return disk;
}

function kindIn(answer: Buffer | undefined): "file" | "folder" | "other" | undefined {
  const word = answer?.toString("latin1");
  return word === "file" || word === "folder" || word === "other" ? word : undefined;
}

/** The pattern of find(1) that matches a path alone. */
const literal = (path: string) => path.replace(/[\\*?[\]]/g, String.raw`\$&`);

/** Arguments of find(1) for a folder without `own`. */
const leavingOut = (root: string, own: string) => [root, "-path", literal(own), "-prune"];

const NAMES = START_UP_NAMES.flatMap((name) => ["-o", "-iname", name]);

/** Arguments of find(1): start-up files and repositories in a folder except `own`; in packages only repositories. */
function findWords(root: string, own: string): readonly string[] {
  const inPackages = ["/", "/*/"].flatMap((between) => ["-o", "-path", `${literal(root)}${between}node_modules/*`]);
  return [
    ...leavingOut(root, own),
    ...["-o", "(", ...inPackages.slice(1), ")", "!", "-name", ".git", "!", "-name", "HEAD"],
    ...["-o", "-name", ".git", "-prune", "-print0"],
    ...["-o", "(", "-type", "f", "-o", "-type", "d", ")", "(", "-name", "HEAD", ...NAMES, ")", "-print0"],
  ];
}

/** Without the paths that lie in another one. */
function outermost(paths: readonly string[]): readonly string[] {
  const all = new Set(paths);
  return paths.filter((path) => {
    for (let at = posix.dirname(path); at !== "/"; at = posix.dirname(at)) if (all.has(at)) return false;
    return true;
  });
}

/** Replaces the paths past the limit by the folders of the root that contain them. */
function fewer(root: string, paths: readonly string[]): readonly string[] {
  const whole = paths.slice(MOST_FILES).map((path) => posix.join(root, posix.relative(root, path).split("/")[0] ?? ""));
  return [...new Set([...paths.slice(0, MOST_FILES), ...whole])];
}
