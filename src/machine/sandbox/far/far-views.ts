import type { Backend } from "../../../core/contract/backend.ts";
import type { Refusal, SandboxAccess } from "../../../core/contract/containment.ts";
import { type Before, type Holding, holdings } from "../../git/hold-back.ts";
import { bytesOf } from "../../../core/util/byte-paths.ts";
import { quoteWord, quoteWords } from "../../../core/util/quote.ts";
import type { RemoteHost } from "../../shell/backend.ts";
import { type FactsOptions, type First, factFinder, firstOn } from "../mounts/facts.ts";
import { type Mount, mountsOf } from "../mounts/mounts.ts";
import type { SandboxDisk } from "../mounts/sandbox-disk.ts";
import { leftRefusals, newStartUpFiles } from "../mounts/start-up-files.ts";
import { type Features, bubblewrapWords } from "../wrap/bubblewrap.ts";
import type { FarDisk, Look } from "./far-disk.ts";
import type { FarSandboxOptions } from "./options.ts";

/** How often what a command left is looked for, since what is put aside may uncover more. */
const MOST_HOLDS = 3;

/** How many views are kept on the remote system. */
const MOST_VIEWS = 20;

/** A command in its sandbox on another system, where nothing has a network. */
export const contained = (cwd: string) => ({ cwd, env: {}, isDetached: false, hasOwnNetwork: true });

/** What a command is shown: looked up once, used until a look finds that something has changed. */
export interface View {
  readonly look: Look;
  readonly mounts: readonly Mount[];
  readonly before: Before;
  /** Views are numbered; the host keeps the last ones. */
  readonly number: number;
  /** The remote file with bwrap's arguments, and code that writes it: nothing once `sent` was called. */
  readonly file: string;
  writing(): string;
  sent(): void;
}

export interface Views {
  mounts(access: SandboxAccess): Promise<(features: Features) => readonly Mount[]>;
  view(access: SandboxAccess, features: Features): Promise<View>;
  /** Forgets what was looked up, if it is still this. */
  forget(look: Look): void;
  /** Puts aside what a command left that leads other programs to programs. Resolves to what was found. */
  holdBack(before: Before): Promise<readonly Refusal[]>;
}

export interface ViewsOptions {
  readonly inner: Backend;
  readonly host: RemoteHost;
  readonly disk: FarDisk;
  readonly own: string;
  readonly folder: string;
  readonly options: FarSandboxOptions;
}

export function viewsOf({ inner, host, disk, own, folder, options }: ViewsOptions): Views {
  const { workDir, home } = inner;
  let first: First | undefined;
  let look: Look | undefined;
  const views = new Map<string, Promise<View>>();
  let count = 0;

  const given = (on: SandboxDisk): FactsOptions => ({
    ...{ workDir, home, writable: options.writable, isProtected: options.isProtected, disk: on },
    hidden: [own, ...options.hidden],
    caches: `${folder}/var-tmp`,
    temporary: [
      { at: "/tmp", from: `${folder}/tmp` },
      { at: "/var/tmp", from: `${folder}/var-tmp` },
    ].filter(({ at }) => on.isFolder(at) && on.realOf(at) === at),
  });
  /** The facts are pure but for what they note of the beginning, which counts only when all answers are there. */
  const factsOn = (on: SandboxDisk, access: SandboxAccess) => {
    const was = first ?? firstOn(on, given(on));
    const noted: First = { ...was, old: new Map(was.old) };
    const found = factFinder({ ...given(on), first: noted })(access, { reopened: [], given: [] });
    const before = found.before();
    const { gitFolders } = found.after();
    return { facts: found.facts, before, noted, left: Array.from(holdings(on, before, gitFolders)) };
  };
  const lookUp = async (access: SandboxAccess) => {
    const asked = await disk.ask((on) => factsOn(on, access), look);
    ({ look } = asked);
    first = asked.value.noted;
    return asked;
  };

  const make = async (access: SandboxAccess, features: Features): Promise<View> => {
    const { value, look: seen } = await lookUp(access);
    const mounts = mountsOf({ ...value.facts, ownProcesses: features.processes });
    const all = bubblewrapWords(features, mounts, contained(workDir));
    const words = all.toSpliced(all.indexOf("--chdir"), 2); // each command names its own folder
    const number = ++count;
    const file = `${folder}/view-${number}`;
    for (const [key, known] of views)
      void known.then((old) => old.number <= number - MOST_VIEWS && views.delete(key)).catch(() => undefined);
    const half = quoteWord(`${file}.half`);
    const begin = `umask 077; rm -f ${quoteWord(`${folder}/view-${number - MOST_VIEWS}`)};`;
    let writing = "";
    if (words.every((word) => bytesOf(word) === word)) {
      // With the first command, which may be several at once: each sees the file only when it is whole.
      const at = quoteWord(file);
      writing = `{ [ -e ${at} ] || ( ${begin} printf '%s\\0' ${quoteWords(words)} >${half}-$$ && mv ${half}-$$ ${at} ); } && `;
    } else {
      const input = Buffer.concat(words.flatMap((word) => [Buffer.from(bytesOf(word)), Buffer.from("\0")]));
      await host.askAside(`${begin} hr_file_take ${input.length} >${quoteWord(file)}`, { input });
    }
    return {
      ...{ look: seen, mounts, before: value.before, number, file },
      writing: () => writing,
      sent: () => (writing = ""),
    };
  };

  return {
    async mounts(access) {
      const { value } = await lookUp(access);
      return (features) => mountsOf({ ...value.facts, sockets: [], ownProcesses: features.processes });
    },
    async view(access, features) {
      const { write = [], read = [], readOnly = false, git = false } = access;
      const key = JSON.stringify([write, read, readOnly, git]);
      const known = views.get(key);
      if (known !== undefined && (await known).look === look) return known;
      const made = make(access, features);
      views.set(key, made);
      made.catch(() => views.delete(key));
      return made;
    },
    forget(old) {
      for (const [key, view] of views)
        void view.then((made) => made.look === old && views.get(key) === view && views.delete(key)).catch(() => {});
      if (look === old) look = undefined;
    },
    async holdBack(before) {
      const changed: string[] = [];
      const aside = new Set<string>();
      let named: readonly string[] = [];
      for (let round = 0; round < MOST_HOLDS; round++) {
        const { value, look: seen } = await disk.ask((on) => {
          const was = first ?? firstOn(on, given(on));
          const found = factFinder({ ...given(on), first: { ...was, old: new Map(was.old) } })({}, NO_EXTRAS);
          const { gitFolders, startUp } = found.after();
          const made = newStartUpFiles(on, before, startUp);
          named = made.named;
          for (const path of made.aside) aside.add(path);
          return [...holdings(on, before, gitFolders), ...made.aside.map((path): Holding => ({ path }))];
        });
        const fresh = value.filter(({ path }) => !changed.includes(path));
        if (fresh.length === 0) {
          look = seen; // of now: the next command need not look again
          break;
        }
        for (const { path, content } of fresh) {
          changed.push(path);
          if (content !== undefined) {
            const done = await inner.files.write(path, content, { real: true }).catch(() => undefined);
            if (done !== undefined) continue;
          }
          const input = Buffer.from(bytesOf(path));
          await host.askAside(`hr_aside=$(hr_file_take ${input.length}; printf x)\n${ASIDE}`, { input });
        }
      }
      return leftRefusals({ git: changed.filter((path) => !aside.has(path)), aside: [...aside], named });
    },
  };
}

const NO_EXTRAS = { reopened: [], given: [] };

/** Renames the file or folder hr_aside, or removes a link, in its real folder. */
const ASIDE = `(
hr_aside=\${hr_aside%x} hr_up=\${hr_aside%/*} hr_name=\${hr_aside##*/}
cd -P "\${hr_up:-/}" 2>/dev/null && [ "$PWD" = "\${hr_up:-/}" ] || exit 0
chmod u+wx . 2>/dev/null
if [ -L "./$hr_name" ] || { [ ! -f "./$hr_name" ] && [ ! -d "./$hr_name" ]; }; then rm -f "./$hr_name"; exit 0; fi
hr_to=$hr_name.held-back hr_count=1
while [ -e "./$hr_to" ] || [ -L "./$hr_to" ]; do hr_count=$((hr_count + 1)) hr_to=$hr_name.held-back-$hr_count; done
mv "./$hr_name" "./$hr_to"
)`;
