import { posix } from "node:path";
import type { Backend, Files } from "../../core/contract/backend.ts";
import { unknownSetting } from "../../machine/git/settings.ts";
import { LINKED } from "../../machine/git/layout.ts";
import { type PlainGit, plainGit } from "../../machine/git/plain.ts";
import { isInside } from "../../core/util/paths.ts";
import type { LookUps } from "../look-ups.ts";

/** The most bytes of a configuration that are read: 64 KiB. */
const MOST_BYTES = 65_536;

export interface GitRepository {
  readonly surroundings: PlainGit;
  /** Why git cannot safely read the workspace's repository from a real folder in it; `undefined`: it can. */
  objection(folder: string, look: LookUps): Promise<string | undefined>;
}

/** The workspace's own repository: git reads this repository wherever in the workspace it is started. */
export function gitRepository({ workDir, home, files }: Backend): GitRepository {
  const readConfig = configReader(files);
  const git = posix.join(workDir, ".git");
  /** A path with a link on the way counts as another kind of file. */
  const kindOf = (at: string, look: LookUps) =>
    look.infoAt(at).then(
      (info) => info?.kind,
      () => "link" as const,
    );

  return {
    surroundings: plainGit(workDir, home),
    async objection(folder, look) {
      if (!isInside(folder, workDir)) return "git looks only at the repository of the workspace";
      const inner = foldersBetween(folder, workDir).flatMap((each) => [`${each}/.git`, `${each}/HEAD`]);
      const linksIn = async (path: string) =>
        (await look.list(posix.join(git, path))).filter(({ kind }) => kind === "link");
      const [links, repository, common, config, ...nested] = await Promise.all([
        Promise.all(LINKED.map(linksIn)),
        kindOf(git, look),
        Promise.all(["commondir", "objects/info/alternates"].map(async (path) => kindOf(`${git}/${path}`, look))),
        readConfig(`${git}/config`).catch(() => undefined),
        ...inner.map((each) => kindOf(each, look)),
      ]);
      if (repository !== "folder" || common.some((each) => each !== undefined))
        return `${git} is not a folder with a repository of its own`;
      if (links.flat().length > 0) return `${git} has links in it: ${links.flat()[0]?.name ?? ""}`;
      if (nested.some((each) => each !== undefined)) return `${folder} may be in a repository of its own`;
      if (config === undefined) return `${git}/config cannot be read`;
      if (Buffer.byteLength(config) >= MOST_BYTES) return `${git}/config is longer than 64 KiB`;
      const unknown = unknownSetting(config);
      return unknown === undefined ? undefined : `${git}/config has settings that may start something: ${unknown}`;
    },
  };
}

/** A folder and its parents, up to `top`, which is not included. */
function foldersBetween(folder: string, top: string): readonly string[] {
  return folder === top ? [] : [folder, ...foldersBetween(posix.dirname(folder), top)];
}

/** Returns a function that reads the beginning of a file. An unchanged file is opened, but not read again. */
function configReader(files: Files): (path: string) => Promise<string> {
  let known: { readonly version: string; readonly text: string } | undefined;
  return async (path) => {
    const file = await files.open(path, { real: true });
    try {
      const { version } = file.info;
      if (known?.version !== version)
        known = { version, text: Buffer.from(await file.read(0, MOST_BYTES)).toString("utf8") };
      return known.text;
    } finally {
      file.close().catch(() => undefined); // need not be awaited
    }
  };
}
