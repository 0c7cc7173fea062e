import { posix } from "node:path";
import { isRepository } from "../../../git/layout.ts";
import { withSubmodules } from "../../../git/folders.ts";
import { START_UP_NAMES } from "../../../provenance/start-up.ts";
import { bytesOf, pathFrom } from "../../../util/byte-paths.ts";
import { isInside } from "../../../util/paths.ts";
import { quoteWord } from "../../../util/quote.ts";
import type { RemoteHost } from "../../shell/backend.ts";
import type { SandboxDisk } from "../mounts/sandbox-disk.ts";

/** How often questions that an answer raised are asked, and how many questions there may be. */
const MOST_ROUNDS = 40;
const MOST_QUESTIONS = 20_000;

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
   * answer are asked together, with all others again, until there are none: so all answers are of one moment.
   *
   * @throws what the function throws, and what the shells throw
   */
  ask<T>(work: (disk: SandboxDisk) => T, look?: Look): Promise<{ readonly value: T; readonly look: Look }>;
}

export interface FarDiskOptions {
  readonly host: Pick<RemoteHost, "askAside" | "facts">;
  /** Handrail's own folder on the remote system, and the private one of this session in it. */
  readonly own: string;
  readonly workDir: string;
  readonly folder: string;
  /** The line that ends an answer. */
  readonly separator: string;
  readonly isProtected: (path: string) => boolean;
}

/** Code that asks the questions of a look again and compares the answers: succeeds if they are the same. */
export function unchanged(folder: string, { number }: Look, form: string): string {
  const at = quoteWord(folder);
  return `( ${asking(at, number, form)} ) 2>/dev/null | cmp -s - ${at}/answers-${number}`;
}

const asking = (at: string, number: number, form: string) =>
  `. ${at}/look && hr_file_begin ${form} && . ${at}/questions-${number}`;

export function farDisk({ host, own, workDir, folder, separator, isProtected }: FarDiskOptions): FarDisk {
  let number = 0;
  /** The questions of the last look. The next one asks them at once. */
  let last: readonly string[] = [];

  const fetch = async (questions: readonly string[]): Promise<Look> => {
    const next = ++number;
    const input = Buffer.concat(
      questions.map((line) => Buffer.concat([Buffer.from(bytesOf(line)), Buffer.from("\n")])),
    );
    const at = quoteWord(folder);
    const old = ["questions", "answers"].map((name) => `${at}/${name}-${next - MOST_KEPT}`);
    const script = `umask 077
rm -f ${old.join(" ")}
hr_file_take ${input.length} >${at}/questions-${next}
( ${asking(at, next, host.facts.stat)} ) >${at}/answers-${next} 2>/dev/null
cat ${at}/answers-${next}`;
    const { out } = await host.askAside(script, { input });
    const end = Buffer.from(`\n${separator}\n`);
    const answers = new Map<string, Buffer>();
    let from = 0;
    for (const question of questions) {
      const to = out.indexOf(end, from);
      if (to < 0) throw new Error("the remote host did not answer all questions about its files");
      answers.set(question, out.subarray(from, to));
      from = to + end.length;
    }
    return { number: next, answers };
  };

  return {
    async ask(work, known) {
      let look = known ?? (last.length === 0 ? undefined : await fetch(last));
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const asked = new Set<string>();
        const { answers } = look ?? { answers: new Map<string, Buffer>() };
        let value: ReturnType<typeof work> | undefined;
        let failure: { readonly error: unknown } | undefined;
        try {
          value = work(reading(answers, asked, { own, workDir, isProtected }));
        } catch (error) {
          failure = { error }; // of answers that are not there yet, perhaps
        }
        const isWhole = [...asked].every((question) => answers.has(question));
        if (isWhole && failure !== undefined) throw failure.error;
        if (isWhole && look !== undefined) {
          last = answers.size > 2 * asked.size ? [...asked] : [...answers.keys()];
          return { value: value as ReturnType<typeof work>, look };
        }
        const all = [...new Set([...answers.keys(), ...asked])];
        if (all.length > MOST_QUESTIONS) break;
        look = await fetch(all);
      }
      throw new Error("there are too many repositories and protected files to look at");
    },
  };
}

/** Reads the answers, and notes each question. Without an answer, nothing is there. */
function reading(
  answers: ReadonlyMap<string, Buffer>,
  asked: Set<string>,
  { own, workDir, isProtected }: Pick<FarDiskOptions, "own" | "workDir" | "isProtected">,
): SandboxDisk {
  const answer = (question: string): Buffer | undefined => {
    asked.add(question);
    return answers.get(question);
  };
  const about = (what: string, path: string) => answer(`${what} ${quoteWord(path)}`);
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
      const bytes = about("l", path);
      return bytes === undefined || bytes.length === 0 ? path : pathFrom(bytes);
    },
    isThere: (path) => (about("t", path)?.length ?? 0) > 0,
    isFolder: (path) => kindIn(about("t", path)) === "folder",
    found(root) {
      const all = listed(answer(`f ${findWords(root, own)}`));
      const files = all.filter(isProtected).filter((path) => ["file", "folder"].includes(kindOf(path) ?? ""));
      const folders = all.flatMap((path) => {
        const [name, folder] = [posix.basename(path), posix.dirname(path)];
        if (name === ".git") return [folder];
        if (name !== "HEAD") return [];
        return isRepository((each) => disk.kindOf(posix.join(folder, each)) !== undefined) ? [folder] : [];
      });
      const repositories = [...new Set(folders)].filter((folder) => folder !== root);
      const isGit = (path: string) => posix.basename(path) === ".git";
      const paths = outermost(files.filter((path) => !isGit(path)));
      return { paths: fewer(root, paths), repositories, sensitive: [] };
    },
    // Those in the workspace are found as repositories.
    withSubmodules: (worktrees) => withSubmodules(disk, worktrees, () => []),
    filesInGit: () => [],
    listeningSockets(except) {
      const names = listed(answer("u"));
      const relative = new Set(names.filter((name) => !name.startsWith("/")).map((name) => posix.basename(name)));
      const inside =
        relative.size === 0
          ? []
          : listed(
              answer(`f ${[...leavingOut(workDir, own), "-o", "-type", "s", "-print0"].map(quoteWord).join(" ")}`),
            );
      const sockets = [
        ...names.filter((name) => name.startsWith("/") && !/^\/(run|tmp)\//.test(name)),
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

/** Arguments of find(1) for a folder without installed packages and without `own`. */
function leavingOut(root: string, own: string): readonly string[] {
  const pattern = own.replace(/[\\*?[\]]/g, String.raw`\$&`);
  return [root, "-path", pattern, "-prune", "-o", "-name", "node_modules", "-prune"];
}

/** Arguments of find(1): start-up files and repositories in a folder, except in installed packages and in `own`. */
function findWords(root: string, own: string): string {
  const names = START_UP_NAMES.flatMap((name) => ["-o", "-iname", name]);
  const words = [
    ...leavingOut(root, own),
    ...["-o", "-name", ".git", "-prune", "-print0", "-o", "(", "-name", "HEAD", ...names, ")", "-print0"],
  ];
  return words.map(quoteWord).join(" ");
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
