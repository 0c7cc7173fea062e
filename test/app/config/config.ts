import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ConfigError } from "../../../src/app/config/problem.ts";
import { type FileSettings, readSettings } from "../../../src/app/config/read-settings.ts";
import type { Given } from "../../../src/app/config/settings.ts";
import { ROW_OF } from "../../../src/app/config/rows.ts";
import { type Trust, createTrust } from "../../../src/app/config/trust.ts";
import { temporaryFolder } from "../../support/workspace.ts";

/** A user's file and a project's, as real files, with their own state folder. */
export interface Files {
  readonly user?: string;
  readonly named?: string;
  readonly project?: string;
}

export interface Place {
  readonly root: string;
  /** `root/home/config.yaml` */
  readonly user: string;
  /** `root/project/agent.yaml` */
  readonly named: string;
  /** `root/project`, with `src` in it */
  readonly folder: string;
  /** `root/project/handrail.yaml` */
  readonly project: string;
  readonly trust: Trust;
  /** Writes these files and reads them all. */
  read(files: Files, env?: NodeJS.ProcessEnv, flags?: Given): Promise<FileSettings>;
  /** Returns the problems of these files as shown to people, without the folders of the names. */
  problems(files: Files, env?: NodeJS.ProcessEnv): Promise<readonly string[]>;
}

/** The keys of a file, without what is below them, as messages list them. */
export const GROUPS = [...new Set(Object.keys(ROW_OF).map((key) => key.split(".")[0]))].join(", ");

export async function place(): Promise<Place> {
  const root = temporaryFolder();
  const folder = join(root, "project");
  const paths = {
    user: join(root, "home/config.yaml"),
    named: join(folder, "agent.yaml"),
    project: join(folder, "handrail.yaml"),
  };
  await mkdir(join(folder, "src"), { recursive: true });
  const trust = createTrust(join(root, "state"));

  const read = async (files: Files, env: NodeJS.ProcessEnv = {}, flags: Given = {}) => {
    const there: { user?: string; named?: string; project?: string } = {};
    for (const kind of ["user", "named", "project"] as const) {
      const text = files[kind];
      if (text === undefined) continue;
      await mkdir(dirname(paths[kind]), { recursive: true });
      await writeFile(paths[kind], text);
      there[kind] = paths[kind];
    }
    return await readSettings(there, { trust, env, flags });
  };

  return {
    root,
    folder,
    ...paths,
    trust,
    read,
    async problems(files, env) {
      const error = await read(files, env).then(
        ({ warnings }) => (warnings.length === 0 ? undefined : new ConfigError(warnings)),
        (thrown: unknown) => thrown,
      );
      if (!(error instanceof ConfigError)) throw new Error("expected a ConfigError", { cause: error });
      return error.message
        .split("\n")
        .slice(1)
        .map((line) => line.replace(/^\/[^:]*\/(?=[\w.]+\.yaml:)/, ""));
    },
  };
}

/** Does the work as a user with limited permissions: as nobody if the tests run as root. */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return await work();
  process.seteuid?.("nobody");
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
