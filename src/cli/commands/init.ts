import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { PROJECT_FILE, findProjectFile } from "../../app/config/find.ts";
import { configFolder } from "../../app/config/state.ts";
import { configTemplate } from "../../app/config/template.ts";
import { codeOf } from "../../core/util/errors.ts";
import { makePrivateFolder } from "../../core/util/private-file.ts";
import type { GlobalOptions } from "../options.ts";
import { packageFile } from "../package-file.ts";
import { say } from "../say.ts";

/** The schema for editors, in a project that has Handrail as a dependency. */
const SCHEMA_OF_PROJECT = "./node_modules/handrail/handrail.schema.json";

/** Writes a configuration file in which every key is a comment. Refuses to overwrite one. */
export async function run({ io, user, workDir = "." }: GlobalOptions & { readonly user?: true }): Promise<void> {
  const folder = user ? configFolder(io.env) : resolve(io.cwd, workDir);
  const file = join(folder, user ? "config.yaml" : PROJECT_FILE);
  const above = user ? undefined : findProjectFile(workDir, io);
  const text = configTemplate(user ? "user" : "project", user ? ownSchema() : schemaIn(folder));
  if (user) await makePrivateFolder(folder);
  await writeFile(file, text, { flag: "wx", mode: user ? 0o600 : 0o644 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new Error(`${file} exists and is not changed. \`handrail doctor\` checks it`, { cause: error });
  });
  const keys = text.match(/^ *#\w+:/gm)?.length ?? 0;
  say(io, `Wrote ${file}: ${keys} keys, each as a comment that says what it does. Nothing is set yet.`);
  if (above !== undefined && dirname(above) !== folder) say(io, `In this folder it replaces ${above}.`);
  say(io, "Next: remove the # before a key, then `handrail doctor` checks the file; `handrail chat` starts.");
}

function schemaIn(folder: string): string | undefined {
  return existsSync(join(folder, SCHEMA_OF_PROJECT)) ? SCHEMA_OF_PROJECT : undefined;
}

/** The schema of this installation. */
function ownSchema(): string | undefined {
  const schema = packageFile("handrail.schema.json");
  return existsSync(schema) ? schema : undefined;
}
