// Delayed escapes: through what a person, who is not contained, later runs or follows. A person's `git status` runs
// outside.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Escape, type Site, type User, tryEscapes } from "./escapes.ts";

const PROTECTED = "what leads programs to other programs is mounted read-only, the folders above it cannot be renamed";
const MADE_LATER = "what of a new repository leads to programs is held back when the command ends";
const IN_PACKAGES = `${MADE_LATER}, in installed packages too`;

/** The command of a trap: it creates a file outside. */
const trap = ({ outside }: Site) => `touch ${outside}/trapped`;
const trapped = ({ outside }: Site) => existsSync(join(outside, "trapped"));

const git = (
  name: string,
  attempt: (site: Site) => string | readonly string[],
  more: Partial<Escape> & { readonly look?: string } = {},
): Escape => {
  const { look = "git status; git add -A; git commit -qm again --allow-empty; git checkout -q -b other", ...rest } =
    more;
  return {
    name,
    heldBy: PROTECTED,
    prepare: (site) => {
      cleared(site);
      site.person("git init -q . && echo x >tracked && git add tracked && git commit -qm first");
      return () => cleared(site);
    },
    attempt,
    escaped: (site) => {
      site.person(look);
      return trapped(site);
    },
    ...rest,
  };
};

const bare = (site: Site) => {
  cleared(site);
  return () => cleared(site);
};

/** Empty again. */
function cleared({ workDir, outside }: Site): void {
  for (const folder of [workDir, outside])
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

const hookScript = (site: Site, name: string) => `printf '#!/bin/sh\n${trap(site)}\n' >${name}; chmod +x ${name}`;

/** An existing file that some program runs or obeys. It must not change. */
const keeping = (path: string, script = `mkdir -p "$(dirname ${path})"; echo changed >${path}`): Escape => ({
  name: `changing ${path} (${script.includes("mv") ? "by renaming" : "as it is"})`,
  heldBy: PROTECTED,
  prepare: (site) => {
    site.file(join("ws", path), "as it was\n");
    return () => rmSync(join(site.workDir, path.split("/")[0] ?? ""), { recursive: true, force: true });
  },
  attempt: () => script,
  escaped: ({ workDir }) =>
    !existsSync(join(workDir, path)) || readFileSync(join(workDir, path), "utf8") !== "as it was\n",
});

const ESCAPES: readonly Escape[] = [
  git("a hook", (site) =>
    ["pre-commit", "post-checkout", "post-index-change"]
      .map((name) => hookScript(site, `.git/hooks/${name}`))
      .join("; "),
  ),
  git(
    "a hook, the folder of hooks made anew",
    (site) => `mv .git/hooks h; rm -rf .git/hooks; mkdir .git/hooks; ${hookScript(site, ".git/hooks/post-checkout")}`,
  ),
  git(
    "a hook, the repository's folder made anew",
    (site) => `mv .git g; rm -rf .git; cp -r g .git; ${hookScript(site, ".git/hooks/post-checkout")}`,
  ),
  git(
    "git's monitor",
    (site) =>
      `git config core.fsmonitor '${trap(site)}; :'; printf '[core]\nfsmonitor = ${trap(site)}\n' >>.git/config`,
  ),
  git(
    "git's folder of hooks",
    (site) =>
      `mkdir h; ${hookScript(site, "h/post-checkout")}; git config core.hooksPath h; printf '[core]\nhooksPath = h\n' >>.git/config`,
  ),
  git(
    "a configuration in the place of the repository's",
    (site) =>
      `cp .git/config c; printf '[core]\nfsmonitor = ${trap(site)}; :\n' >>c; mv -f c .git/config || ln -sf ../c .git/config`,
  ),
  git(
    "a second configuration of the work tree",
    (site) => `printf '[core]\nfsmonitor = ${trap(site)}; :\n' >.git/config.worktree`,
    {
      prepare: (site) => {
        cleared(site);
        site.person(
          "git init -q . && git config extensions.worktreeConfig true && echo x >tracked && git add tracked && git commit -qm first",
        );
        return () => cleared(site);
      },
    },
  ),
  git(
    "another common folder",
    (site) =>
      `cp -r .git evil; printf '[core]\nfsmonitor = ${trap(site)}; :\n' >>evil/config; echo ../evil >.git/commondir`,
  ),
  git("hooks where the person keeps them in the project", (site) => hookScript(site, ".githooks/post-checkout"), {
    prepare: (site) => {
      cleared(site);
      site.file("ws/.githooks/post-checkout", "#!/bin/sh\n", 0o755);
      site.person(
        "git init -q . && git config core.hooksPath .githooks && echo x >tracked && git add tracked && git commit -qm first",
      );
      return () => cleared(site);
    },
  }),
  git(
    "a file that the person's configuration includes",
    (site) => `printf '[core]\nfsmonitor = ${trap(site)}; :\n' >shared.config`,
    {
      prepare: (site) => {
        cleared(site);
        site.file("ws/shared.config", "[core]\n");
        site.person(
          "git init -q . && git config include.path ../shared.config && echo x >tracked && git add tracked && git commit -qm first",
        );
        return () => cleared(site);
      },
    },
  ),
  ...["sub", "a/b/c/d/e/f/g/sub", "node_modules/sub"].map((folder) =>
    git(
      `a new repository at ${folder}, as a submodule`,
      (site) =>
        `git init -q ${folder} && cd ${folder} && echo x >x && git add x && git commit -qm x && git config core.fsmonitor '${trap(site)}; :' && cd "$OLDPWD" && git add -f ${folder}`,
      {
        look: "git status",
        heldBy: MADE_LATER,
      },
    ),
  ),
  git(
    "a submodule whose repository lies elsewhere",
    (site) =>
      `git init -q sub && cd sub && echo x >x && git add x && git commit -qm x && git config core.fsmonitor '${trap(site)}; :' && mv .git ../evil && echo 'gitdir: ../evil' >.git && cd .. && git add -f sub`,
    {
      look: "git status",
      heldBy: MADE_LATER,
    },
  ),
  git(
    "a new repository where there is none",
    (site) =>
      `git init -q . && echo x >x && git add x && git config core.fsmonitor '${trap(site)}; :'; ${hookScript(site, ".git/hooks/post-checkout")}`,
    { prepare: bare, heldBy: MADE_LATER },
  ),
  git(
    "hooks of a new repository",
    (site) =>
      `git init -q sub; mkdir sub/h; ${hookScript(site, "sub/h/pre-commit")}; ${hookScript(site, "sub/.git/hooks/post-index-change")}; git -C sub config core.hooksPath h`,
    {
      prepare: bare,
      look: "cd sub; echo x >y; git add y; git commit -qm y",
      heldBy: MADE_LATER,
    },
  ),
  git(
    "a file that leads to a repository, where there is none",
    (site) =>
      `git init -q --separate-git-dir=evil . && echo x >x && git add x && git config core.fsmonitor '${trap(site)}; :'`,
    { prepare: bare, heldBy: MADE_LATER },
  ),
  git(
    "a folder that is itself a repository",
    (site) =>
      `git init -q --bare sub && cd sub && git config core.bare false && git config core.worktree "$PWD" && git config core.fsmonitor '${trap(site)}; :'`,
    {
      prepare: bare,
      look: "cd sub; git status",
      heldBy: MADE_LATER,
    },
  ),
  ...["node_modules/x", "app/node_modules/a/node_modules/b/lib", "node_modules/@scope/x", "node_modules"].map(
    (folder) =>
      git(
        `a new repository in an installed package, at ${folder}`,
        (site) => `git init -q ${folder} && git -C ${folder} config core.fsmonitor '${trap(site)}; :'`,
        { prepare: bare, look: `cd ${folder}; git status`, heldBy: IN_PACKAGES },
      ),
  ),
  git(
    "a file in an installed package that leads to a repository in another one",
    (site) =>
      `mkdir -p node_modules/y && git init -q --separate-git-dir=node_modules/y/store node_modules/x && git -C node_modules/x config core.fsmonitor '${trap(site)}; :'`,
    { prepare: bare, look: "cd node_modules/x; git status", heldBy: MADE_LATER },
  ),
  git(
    "a repository in an installed package that was there before",
    (site) => `printf '[core]\nfsmonitor = ${trap(site)}; :\n' >>node_modules/x/.git/config`,
    {
      prepare: (site) => {
        cleared(site);
        site.person("git init -q node_modules/x");
        return () => cleared(site);
      },
      look: "cd node_modules/x; git status",
    },
  ),
  git(
    "an `include` in a new repository, and odd spellings",
    (site) =>
      `printf '[CORE]FSMonitor = ${trap(site)}; :\n' >evil; git init -q .; echo x >x; git add x; printf '[include]path=../evil\n[remote "x"]\nurl = a\\\\\\\\\n[core]fsMonitor=${trap(site)}; :\n[remote "y"]\nurl = b # c \\\\\n[core] fsmonitor = ${trap(site)}; :\n' >>.git/config`,
    {
      prepare: bare,
      heldBy: MADE_LATER,
    },
  ),
  ...[
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".envrc",
    "handrail.yaml",
    ".mcp.json",
    ".npmrc",
    ".mvn/jvm.config",
    "rust-toolchain.toml",
    "packages/app/.vscode/tasks.json",
  ].map((path) => keeping(path)),
  keeping(
    "packages/app/.husky/pre-commit",
    "mv packages p; mkdir -p packages/app/.husky; echo changed >packages/app/.husky/pre-commit",
  ),
  keeping(".claude/settings.json", "mv .claude c; mkdir .claude; echo changed >.claude/settings.json"),
  ...[
    ".bashrc",
    ".profile",
    ".gitconfig",
    ".config/handrail/config.yaml",
    ".local/state/handrail/grants/all",
    ".local/bin/git",
    ".ssh/authorized_keys",
    ".config/autostart/x.desktop",
  ].map((path): Escape => ({
    name: `leaving something in ~/${path}`,
    heldBy: "all but the workspace and what is private is mounted read-only",
    prepare: ({ home }) => {
      const at = join(home, path);
      const before = existsSync(at) ? readFileSync(at) : undefined;
      return () => (before === undefined ? rmSync(at, { force: true }) : writeFileSync(at, before));
    },
    attempt: ({ home, secret }) => `mkdir -p "$(dirname ${home}/${path})"; echo '# ${secret}' >>${home}/${path}`,
    escaped: ({ home, secret }) =>
      existsSync(join(home, path)) && readFileSync(join(home, path), "utf8").includes(secret),
  })),
  ...(
    [
      ["a cache, for the next command", "$XDG_CACHE_HOME"],
      ["a cache of a package manager, for the next command", "$npm_config_cache"],
      ["a temporary folder, for the next command", "$TMPDIR/mine"],
    ] as const
  ).map(([what, folder]): Escape => ({
    name: `a link in the place of ${what}`,
    heldBy: "a link is followed inside alone, where what it leads to is read-only",
    prepare: (site) => () => rmSync(join(site.outside, "new"), { force: true }),
    attempt: ({ outside }) => [
      `: "\${TMPDIR:=$PWD}"; d=${folder}; d=\${d:-$PWD/cache}; rm -rf "$d"; ln -s ${outside} "$d"; echo x >"$d/new"`,
      `: "\${TMPDIR:=$PWD}"; d=${folder}; d=\${d:-$PWD/cache}; mkdir -p "$d"; echo x >"$d/new"; rm -f "$PWD/cache"`,
    ],
    escaped: ({ outside }) => existsSync(join(outside, "new")),
  })),
  {
    name: "a link in the place of the folder that the person works in",
    notOutside: "Handrail runs no command in a folder whose place a link has taken",
    heldBy: "the workspace and the folders that may be written are mounts, which cannot be renamed",
    prepare: (site) => () => rmSync(join(site.outside, "new"), { force: true }),
    attempt: ({ outside, workDir }) => [
      `mkdir part; cd ..; mv ws w || rmdir ws; ln -s ${outside} ws; cd ${workDir}; mv part p; ln -s ${outside} part`,
      "echo x >part/new; rm -rf part p",
    ],
    escaped: ({ outside }) => existsSync(join(outside, "new")),
  },
];

export const tryLaterEscapes = (user: User): void => tryEscapes(user, ESCAPES);
