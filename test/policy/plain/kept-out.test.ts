// Searches of whole folders exclude what the policy would ask about: compares `sensitive` with what grep and rg
// exclude.
import { execFile } from "node:child_process";
import { delimiter, dirname } from "node:path";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import { createLookUps } from "../../../src/policy/look-ups.ts";
import { pathJudge } from "../../../src/policy/paths.ts";
import { createPlainJudge } from "../../../src/policy/plain/judge.ts";
import { readPlainScript } from "../../../src/policy/plain/script.ts";
import { sensitive } from "../../../src/machine/places/keys.ts";
import { layout } from "../../support/layout.ts";

const SECRET = [
  ...[
    ".env",
    ".ENV",
    ".envrc",
    ".env.local",
    ".Env.Production",
    ".env_test",
    ".env-x",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
  ],
  ...[
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    "credentials",
    "Credentials.json",
    "credentials.yaml",
    "credentials.yml",
    "credentials.toml",
  ],
  ...[
    "credentials.csv",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_rsa.old",
  ],
  ...[
    "id_dsa",
    "a.pem",
    "B.PEM",
    "a.key",
    "a.p12",
    "a.pfx",
    "a.jks",
    "a.keystore",
    "a.kdbx",
    "kubeconfig",
    ".kube/config",
    ".docker/config.json",
  ],
  ...[".ssh/config", ".SSH/known_hosts", ".gnupg/x", ".aws/credentials", ".azure/x", ".gcloud/x"],
];
const ORDINARY = [
  ...[
    "env",
    "a.env",
    ".environment",
    ".envs",
    "npmrc",
    "my.cnf",
    "credentials.ts",
    "secrets.ts",
    "id_rsa_test.ts",
    "id_x",
  ],
  ...["pem", "a.pem.ts", "keys.ts", "monkey", "kubeconfig.ts", "config", "ssh/config", "aws/x"],
];
/** Excluded although `sensitive` accepts them: no glob makes an exception. */
const MORE = [".env.example", ".env.local.sample", "id_rsa.pub", ".docker/x", ".kube/cache"];

test.each([
  "grep -rl foo",
  "grep -rl foo . --include='*'",
  "rg -l --hidden foo .",
  "rg -l --hidden -g '*' -g '.env' foo .",
])("%s", async (text) => {
  const { workDir, home, stateDir, file, forbiddenPaths } = await layout();
  for (const [index, name] of [...SECRET, ...ORDINARY, ...MORE].entries())
    await file(`${index % 2}/${index}/${name}`, "foo\n");
  const backend = await local({ workDir, home, outputFolder: `${stateDir}/outputs` });
  const look = createLookUps(backend.files);
  const script = readPlainScript(text);
  if (typeof script === "string") throw new Error(script);
  const programFolders = [...(process.env["PATH"] ?? "").split(delimiter), dirname(rgPath)];
  const verdict = await createPlainJudge({ backend: { ...backend, programFolders } })(script, {
    cwd: workDir,
    judgePath: pathJudge({ forbiddenPaths }, backend)(look),
    look,
  });
  if (!verdict.plain) throw new Error(JSON.stringify(verdict.problems));
  const [program, ...args] = verdict.run.argv;
  const { stdout } = await promisify(execFile)(program, args, { cwd: verdict.run.cwd });
  const found = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((path) => path.replace(/^(\.\/)?\d\/\d+\//, ""));
  expect(found.sort()).toEqual(ORDINARY.toSorted());
});

test("all of these are also recognized by their paths", () => {
  expect(SECRET.filter((path) => sensitive(`/ws/${path}`) === undefined)).toEqual([]);
  expect([...ORDINARY, ...MORE].filter((path) => sensitive(`/ws/${path}`) !== undefined)).toEqual([]);
});
