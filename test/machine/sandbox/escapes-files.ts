// Escapes through files: writing outside, reading what is hidden, creating what would be dangerous outside.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Escape, SECRETS, type Site, type User, hasLoot, stealing, tryEscapes } from "./escapes.ts";

/** A file that must not appear in any way. */
const writing = (
  name: string,
  path: (site: Site) => string,
  script: (path: string, site: Site) => string,
  more: Partial<Escape> = {},
): Escape => ({
  name,
  heldBy: "all but the workspace and what is private is mounted read-only",
  attempt: (site) => script(path(site), site),
  escaped: (site) => existsSync(path(site)),
  prepare: (site) => () => rmSync(path(site), { force: true }),
  ...more,
});

const reading = (
  name: string,
  script: (site: Site) => string | readonly string[],
  more: Partial<Escape> = {},
): Escape => ({
  name,
  heldBy: "an empty folder or file is mounted over it",
  attempt: script,
  escaped: hasLoot,
  ...more,
});

const beside = ({ outside }: Site) => join(outside, "new");

const ESCAPES: readonly Escape[] = [
  writing(
    "writing to the home",
    ({ home }) => join(home, "new"),
    (path) => `echo x >${path}`,
  ),
  writing("writing to another project", beside, (path) => `echo x >${path}`),
  writing(
    "writing to /usr",
    ({ mark }) => `/usr/local/handrail-${mark}`,
    (path) => `echo x >${path}`,
    { as: "root" },
  ),
  writing(
    "writing to /etc",
    ({ mark }) => `/etc/handrail-${mark}`,
    (path) => `echo x >${path}`,
    { as: "root" },
  ),
  writing(
    "writing through a link made inside",
    beside,
    (path, { mark }) => `ln -s / root-${mark}; echo x >root-${mark}${path}`,
  ),
  writing("writing through `..`", beside, () => "cd ..; cd outside; echo x >../outside/./new"),
  writing(
    "writing through /proc/self/root",
    beside,
    (path) => `echo x >/proc/self/root${path}; echo x >/proc/$PPID/root${path}; echo x >/proc/1/root${path}`,
  ),
  writing(
    "writing through /proc/self/cwd",
    beside,
    () => "echo x >/proc/self/cwd/../outside/new; echo x >/proc/1/cwd/../outside/new",
  ),
  writing(
    "writing through an open folder in /dev/fd",
    beside,
    ({ length: _ }, { outside }) => `exec 5<${outside}; echo x >/dev/fd/5/new; echo x >/proc/self/fd/5/new`,
  ),
  writing("moving a file out", beside, (path) => `echo x >mine; mv mine ${path}`),
  writing(
    "making a folder outside into a link, by tar",
    beside,
    (_, { outside }) =>
      `mkdir t; echo x >t/new; ln -s ${outside} way; tar cf a.tar way; tar rf a.tar --transform s/^t/way/ t/new; rm way; tar xPf a.tar`,
  ),
  {
    name: "writing to a file outside by a hard link made to it",
    heldBy: "no link leads from one mount to another",
    attempt: ({ outside }) =>
      `ln ${outside}/file mine && echo changed >mine; ln -L /proc/self/root${outside}/file mine2 && echo changed >mine2`,
    prepare: (site) => site.file("outside/file", `${site.secret}\n`),
    escaped: ({ outside, secret }) => readFileSync(join(outside, "file"), "utf8") !== `${secret}\n`,
  },
  {
    name: "removing what is outside",
    heldBy: "all but the workspace and what is private is mounted read-only",
    prepare: (site) => site.file("outside/gone/file"),
    attempt: ({ outside }) => `rm -rf ${outside}/gone; perl -e 'rename "${outside}/gone", "mine"'`,
    escaped: ({ outside }) => !existsSync(join(outside, "gone/file")),
  },
  {
    name: "changing mode and time of what is outside",
    heldBy: "all but the workspace and what is private is mounted read-only",
    prepare: (site) => site.file("outside/file", `${site.secret}\n`),
    attempt: ({ outside }) => `chmod 777 ${outside}/file; touch -d 2001-01-01 ${outside}/file`,
    escaped: ({ outside }) =>
      (statSync(join(outside, "file")).mode & 0o777) !== 0o644 ||
      statSync(join(outside, "file")).mtime.getFullYear() === 2001,
  },
  ...SECRETS.map((path) => reading(`reading ~/${path}`, ({ home }) => stealing(join(home, path)))),
  reading("reading a secret by a link made inside", ({ home }) => `ln -sf ${home}/.ssh s; ${stealing("s/id_ed25519")}`),
  reading(
    "reading a secret by /proc/…/root",
    ({ home }) => `for each in self 1 2 $PPID; do ${stealing(`/proc/$each/root${home}/.ssh/id_ed25519`)}; done`,
  ),
  reading("reading a secret by a hard link to it", ({ home }) => `ln ${home}/.netrc mine; ${stealing("mine")}`),
  reading(
    "reading a secret by changing its folder's mode",
    ({ home }) =>
      `chmod -R 777 ${home}/.ssh; ${stealing(`${home}/.ssh/id_ed25519`)}; cp -a ${home}/.ssh mine; cat mine/* >>loot`,
  ),
  reading(
    "reading secrets by walking about",
    ({ root }) =>
      `grep -rs swordfish ${root}/home >>loot; tar cf - ${root}/home 2>/dev/null | grep -a swordfish >>loot`,
  ),
  reading("reading a forbidden path of the workspace", () => stealing("conf/secret"), { prepare: hiddenInWorkspace }),
  reading(
    "reading a forbidden path of the workspace after its folder was renamed",
    () => ["mv conf other", `${stealing("other/secret")}; mv other conf`],
    {
      prepare: hiddenInWorkspace,
      heldBy: "the folders above what is hidden are mounts, which cannot be renamed",
    },
  ),
  reading(
    "reading a forbidden path of the workspace after a link was put in its folder's place",
    () => ["mv conf other && ln -s other conf", `${stealing("other/secret")}; ${stealing("conf/secret")}`],
    {
      prepare: hiddenInWorkspace,
      heldBy: "the folders above what is hidden are mounts, which cannot be renamed",
    },
  ),
  reading("reading the machine's passwords", ({ secret }) => `grep -q ^root: /etc/shadow && echo ${secret} >loot`, {
    as: "root",
  }),
  reading(
    "opening a device of the machine",
    ({ secret }) => `(exec 5</dev/loop-control || exec 5</dev/kmsg) && echo ${secret} >loot`,
    {
      as: "root",
      heldBy: "there are no devices but the harmless ones",
    },
  ),
  {
    name: "making a device for a disk",
    heldBy: "no capability is left, and devices of the workspace do not open",
    as: "root",
    attempt: () => "mknod disk b 7 0",
    prepare: () => undefined,
    escaped: ({ workDir }) => existsSync(join(workDir, "disk")),
  },
  ...[
    { by: "chmod", script: "chmod 4755 tool" },
    { by: "chmod in perl", script: "perl -e 'chmod 06755, \"tool\"'" },
    { by: "install", script: "install -m 4755 /bin/true tool" },
    { by: "fchmodat", script: `perl -e '$f = "tool"; syscall(268, -100, $f, 04755)'` },
    { by: "fchmodat2", script: `perl -e '$f = "tool"; syscall(452, -100, $f, 04755, 0)'` },
    { by: "open", script: `rm tool; perl -e '$f = "tool"; syscall(2, $f, 0101, 04755)'` },
    { by: "openat", script: `rm tool; perl -e '$f = "tool"; syscall(257, -100, $f, 0101, 02755)'` },
    {
      by: "openat2",
      script: `rm tool; perl -e '$f = "tool"; $how = pack("QQQ", 0101, 04755, 0); syscall(437, -100, $f, $how, 24)'`,
    },
    { by: "creat", script: `rm tool; perl -e '$f = "tool"; syscall(85, $f, 04755)'` },
    { by: "mknod", script: `rm tool; perl -e '$f = "tool"; syscall(133, $f, 0104755, 0)'` },
    { by: "mknodat", script: `rm tool; perl -e '$f = "tool"; syscall(259, -100, $f, 0102755, 0)'` },
    {
      by: "a nameless file that is linked",
      script: `rm tool; perl -e '$f = "."; $t = "tool"; $fd = syscall(257, -100, $f, 020200002, 04755); $p = "/proc/self/fd/$fd"; syscall(265, -100, $p, -100, $t, 02000) if $fd >= 0'`,
    },
  ].map(({ by, script }): Escape => ({
    name: `making a program that runs as its owner or group, by ${by}`,
    heldBy: "the filter of system calls: no chmod to setuid, and no file made setuid or setgid",
    prepare: (site) => () => rmSync(join(site.workDir, "tool"), { force: true }),
    attempt: () => `cp /bin/true tool; ${script}`,
    escaped: ({ workDir }) => ((statSync(join(workDir, "tool"), { throwIfNoEntry: false })?.mode ?? 0) & 0o6000) !== 0,
  })),
];

export const tryFileEscapes = (user: User): void => tryEscapes(user, ESCAPES);

function hiddenInWorkspace({ file, secret, workDir }: Site): () => void {
  mkdirSync(workDir, { recursive: true });
  file("ws/conf/secret", `${secret}\n`);
  return () => ["conf", "other"].forEach((name) => rmSync(join(workDir, name), { recursive: true, force: true }));
}
