// Ideas of an attacker for the places between the parts: a name that is judged in one form and opened in another. Each
// row must not run unasked.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import { local } from "../../../src/machine/local/backend.ts";
import { judged as judgedTyping, plain } from "../typing.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";
import { worldFolder } from "../../machine/sandbox/world.ts";

const root = worldFolder();
const [home, ws] = [join(root, "home"), join(root, "ws")];
let toolkit: Toolkit;

beforeAll(async () => {
  for (const path of ["home/.ssh", "home/.aws", "home/.config/handrail", "ws/sub/deep", "ws/.vscode", "ws/.git"])
    mkdirSync(join(root, path), { recursive: true });
  for (const path of ["home/.ssh/id_rsa", "home/.aws/credentials", "home/.netrc", "home/.bashrc", "ws/.env"])
    writeFileSync(join(root, path), "mine\n");
  symlinkSync("../home", join(ws, "up"));
  symlinkSync("../home/.ssh", join(ws, "sub/keys"));
  symlinkSync("/", join(ws, "root"));
  symlinkSync("root", join(ws, "again"));
  symlinkSync(".vscode", join(ws, "settings"));
  const inner = await local({ workDir: ws, home, outputFolder: temporaryFolder() });
  const state = async () => ({ works: true, missing: [] }) as const;
  const hidden = [join(home, ".ssh"), join(home, ".aws"), join(home, ".netrc")];
  toolkit = await toolkitWith({
    preset: "all",
    target: {
      ...inner,
      sandbox: { required: true, hidden, temporary: [], isTemporary: () => false, state },
    },
    policy: { workspaceOnly: false, forbiddenPaths: [] },
  });
});

const KEYS = `
  ~/.ssh/id_rsa  ~/.ssh//id_rsa  ~/./.ssh/id_rsa  ~/x/../.ssh/id_rsa  HOME/.ssh/id_rsa  //HOME/.ssh/id_rsa
  up/.ssh/id_rsa  ./up/./.ssh/id_rsa  sub/keys/id_rsa  sub/deep/../keys/id_rsa  sub/../up/.ssh/id_rsa
  rootHOME/.ssh/id_rsa  againHOME/.ssh/id_rsa  root/proc/self/rootHOME/.ssh/id_rsa  /proc/self/rootHOME/.ssh/id_rsa
  /proc/self/cwd/../home/.ssh/id_rsa  ../home/.ssh/id_rsa  ../ws/../home/.ssh/id_rsa  ../ws/up/.aws/credentials
  ~/.aws/credentials  ~/.AWS/credentials  ~/.netrc  up/.netrc  ~/.ssh  ~/.ssh/  up/.ssh/.  ~/.ssh/new  sub/keys
  ~/.ssh/id_rsa.bak  ~/.config/../.ssh/id_rsa  ~/.bashrc/../.ssh/id_rsa  .env  ./.env  sub/../.env  up/../ws/.env
  root/ROOT/ws/.env  .ENV  .Env.local  sub/.env.production  x.PEM  id_RSA  ID_ED25519  sub/deep/../../.env
`;
const START_UP = `
  ~/.bashrc  ~/.BASHRC  up/.bashrc  rootHOME/.bashrc  /proc/self/rootHOME/.profile  ~/./.zshrc  ../home/.bash_profile
  .vscode/tasks.json  .VSCODE/tasks.json  .VsCode/a/../tasks.json  settings/tasks.json  ./settings/new  sub/.vscode/x
  .git/config  .GIT/config  .Git/hooks/pre-commit  sub/.git  .git/../.git/config  root/ROOT/ws/.git/config  .envrc
  .ENVRC  sub/deep/.envrc  .husky/pre-commit  .huskyrc  .huskyrc.json  lefthook.yml  .lefthook-local.toml  .ripgreprc
  .claude/settings.json  .Claude/settings.json  sub/.mcp.json  mcp.json  .qwen/a  .amp/a  .kiro/hooks/a  .roo/mcp.json
  .npmrc  .yarnrc.yml  .pnpmfile.cjs  .cargo/config  rust-toolchain  mise.toml  .tool-versions  handrail.yaml
  HANDRAIL.YML  sub/handrail.yaml  .devcontainer.json  a.code-workspace  .gitmodules  .hg/hgrc  opencode.json
`;
const rows = (text: string) =>
  text
    .trim()
    .split(/\s+/)
    .map((row) => row.replace("HOME", home).replace("ROOT", root));

describe("a path is judged by where it leads and by what it is, in every form", () => {
  test.each(rows(KEYS))("a key is not read or written unasked: %s", async (path) => {
    const real = await toolkit.backend.files.realPath(path).catch(() => undefined);
    const exists = real !== undefined && (await toolkit.backend.files.stat(path).catch(() => undefined)) !== undefined;
    const verdicts = [
      (await toolkit.judge([{ kind: "write", path }])).verdict,
      (await toolkit.judge([{ kind: "exec", command: "true", within: { read: [path] } }])).verdict,
      // A secret of the workspace that is not there protects nobody.
      ...(exists ? [(await toolkit.judge([{ kind: "read", path }])).verdict] : []),
      ...(exists ? [(await toolkit.judge([{ kind: "exec", command: `cat ${path}` }])).verdict] : []),
    ];
    expect(verdicts).not.toContain("allow");
  });

  test.each(rows(START_UP))("a start-up file is not written unasked: %s", async (path) => {
    const verdicts = await Promise.all([
      toolkit.judge([{ kind: "write", path }]),
      toolkit.judge([{ kind: "exec", command: `echo x > ${path}` }]),
      toolkit.judge([{ kind: "exec", command: `cp a ${path}` }]),
      toolkit.judge([{ kind: "exec", command: "make", within: { write: [path] } }]),
    ]);
    expect(verdicts.map(({ verdict }) => verdict)).not.toContain("allow");
  });
});

const NAMED = "see https://x.example/p?q=1 and https://bücher.example/a";
const URLS = `
  https://user:stolen@x.example/p?q=1  https://stolen@x.example/p?q=1  https://:stolen@x.example/p?q=1
  https://stolen.x.example/p?q=1  https://x.example.evil.example/  https://x.example@evil.example/p?q=1
  https://x.example%2eevil.example/p  https://evil.example/https://x.example/p?q=1  https://evil.example?https://x.example
  https://evil.example\\x.example/p  https://evil.example#x.example  https://xn--bcher-kva.evil.example/
  https://docs.python.org@evil.example/  https://docs.python.org.evil.example/  https://docs.python.org:8443/
  https://github.com:22/  https://pages.github.com/  https://gist.githubusercontent.com/me/  https://me.github.io/
  https://me.readthedocs.io/  https://127.0.0.1/  https://0x7f.1/  https://2130706433/  https://[::1]/  https://127.1/
  https://[::ffff:127.0.0.1]/  https://localhost./  https://a.localhost/  http://169.254.169.254/  https://１２７.0.0.1/
  http://metadata.google.internal/  file:///etc/passwd  data:text/plain,x  javascript:alert(1)  ftp://x.example/p?q=1
  gopher://x.example/  https://x.example:22/p?q=1  https://x.example:6379/p?q=1  https:///evil.example/
  https://x.example/9f86d081884c7d659a2feaa0c55ad015  https://x.example/?d=c3RvbGVuIGRhdGEgaGVyZQ
  https://x.example/9f-86-d0-81-88-4c-7d-65-9a-2f  https://x.example/9f86%64081884c7d659a2feaa0c55ad015
  https://x.example/p?q=1#9f86d081884c7d659a2feaa0c55ad015  https://x.example/LONG  https://docs.rs/LONGLONGLONGLONG
  https://LABEL.x.example/  https://xn--stolen-data.example/
`;

describe("a URL tells its host nothing unasked, in every form", () => {
  const long = "word-".repeat(420);
  const urls = URLS.trim()
    .split(/\s+/)
    .map((url) => url.replaceAll("LONG", long).replace("LABEL", "a".repeat(63)));
  test.each(urls.map((url) => [url.slice(0, 80), url] as const))("%s", async (_, url) => {
    const one = toolkit.with({ thread: `of ${url.slice(0, 200)}` });
    one.hear(NAMED);
    expect((await one.judge([{ kind: "fetch", url, method: "GET" }])).verdict).not.toBe("allow");
  });
});

describe("what is typed is judged as the terminal reads it", () => {
  test.each([
    { types: "shut\bdown\r" }, // deleted again by the terminal
    { types: "\u001b[200~reboot\u001b[201~\r" },
    { types: "x\u001b[201~\rreboot\r" },
    { types: "ls\u0003reboot\n" },
    { types: "ls\u0015reboot\n" },
    { types: "ls\u000creboot\n" },
    { types: "ls\nreboot" },
    { types: "ls\r\nreboot\r\n" },
    { types: "ls\u0085reboot\n" },
    { types: "ls;reboot\n" },
    { types: "ls & reboot\n" },
    { types: "ls | sudo tee x\n" },
    { types: "ls\u000breboot\n" },
    { types: "reboot\u0004" },
    { types: "reboot C-m" },
    { keys: ["reboot", "Enter"] },
    { keys: ["reboot\n"] },
    { keys: ["r", "e", "b", "o", "o", "t", "C-j"] },
    { keys: ["r", "e", "b", "o", "o", "t", "C-M"] },
    { keys: ["r", "e", "b", "o", "o", "t", "c-m"] },
    { keys: ["M-x", "r", "Enter"] },
    { keys: ["C-r", "r", "e", "Enter"] },
    { keys: ["Up", "Enter"] },
    { keys: ["C-p", "C-m"] },
    { keys: ["C-x", "C-e"] },
    { keys: ["Escape", "Escape"] },
    { keys: ["Tab"] },
    { keys: ["C-d"] },
    { keys: ["Space"] },
    { keys: ["F1"] },
    { keys: ["0x72", "0xd"] },
    { keys: ["User0"] },
    { keys: ["-X", "cancel"] },
    { keys: ["-l", "reboot", "Enter"] },
    { keys: ["PPage", "KPEnter"] },
    { keys: ["Any"] },
    { keys: ["MouseDown1Pane"] },
    { keys: ["C-b", ":", "k", "Enter"] },
    { keys: ["C-\\\\"] },
    { keys: ["C-y"] },
    { keys: ["M-."] },
    { keys: ["C-v", "C-m"] },
  ])("%j", async (effect) => {
    expect((await judgedTyping(plain, effect)).verdict).not.toBe("allow");
  });
});
