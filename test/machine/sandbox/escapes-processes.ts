// Escapes through processes: touching those of the machine, outliving the call, gaining rights, exhausting resources.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive, until } from "../../support/until.ts";
import { type Escape, type Site, type User, hasLoot, openSite, stealing, tryEscapes } from "./escapes.ts";
import { noSandbox } from "./world.ts";
import { requireProgram, requireRoot } from "../../support/here.ts";

const OWN_PROCESSES = "processes of the machine have no number inside";

/** A process of the same user, with the secret in its variables, its memory and an open file. */
const victims = new Map<Site, number>();
const victimOf = (site: Site) => victims.get(site) ?? 0;

async function victim(site: Site): Promise<() => void> {
  const { mark, secret, root, outside, own } = site;
  const [ready, signaled] = [join(root, `ready-${mark}`), join(outside, "signaled")];
  const script = `open F, "<", "${outside}/file"; $SIG{USR1} = sub { open O, ">", "${signaled}" }; $s = $ENV{SECRET}; open R, ">", "${ready}"; sleep 1 while 1`;
  const [program, ...words] = [...own, "perl", "-e", script];
  const child = spawn(program, words, { cwd: outside, stdio: "ignore", env: { ...process.env, SECRET: secret } });
  await until("it runs", () => existsSync(ready));
  victims.set(site, child.pid ?? 0);
  return () => {
    child.kill("SIGKILL");
    for (const path of [ready, signaled]) rmSync(path, { force: true });
  };
}

const spying = (name: string, script: (pid: number, site: Site) => string): Escape => ({
  name,
  heldBy: OWN_PROCESSES,
  prepare: victim,
  attempt: (site) => script(victimOf(site), site),
  escaped: hasLoot,
});

const beats = ({ workDir }: Site) => (existsSync(join(workDir, "beats")) ? statSync(join(workDir, "beats")).size : 0);
const BEATING = "while :; do echo x >>beats; sleep 0.02; done";

/** A process that continues after its call. */
const outliving = (name: string, script: string): Escape => ({
  name: `outliving the call by ${name}`,
  heldBy: "with the first process of its namespace all others end",
  attempt: () => `${script} & until [ -s beats ]; do sleep 0.01; done`,
  escaped: goesOn,
  prepare: (site) => () => {
    killThoseIn(site.workDir);
    rmSync(join(site.workDir, "beats"), { force: true });
  },
});

async function goesOn(site: Site): Promise<boolean> {
  const before = beats(site);
  await until("it goes on", () => beats(site) > before, 500).catch(() => undefined);
  return beats(site) > before;
}

/** Ends the processes in a folder of ours. */
function killThoseIn(folder: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (
        readlinkSync(`/proc/${pid}/cwd`) === folder &&
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("beats")
      )
        process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** Detects what is only visible with its own namespace, or with a right of root. */
const gaining = (name: string, script: (site: Site) => string, more: Partial<Escape> = {}): Escape => ({
  name,
  heldBy: "no new privileges, no capability, and the filter of system calls",
  attempt: script,
  escaped: hasLoot,
  ...more,
});

const ESCAPES: readonly Escape[] = [
  spying(
    "reading another process's variables",
    (pid) => `cat /proc/${pid}/environ >>loot; cat /proc/[0-9]*/environ >>loot`,
  ),
  spying("reading a file by another process's root", (pid, { home }) => stealing(`/proc/${pid}/root${home}/.netrc`)),
  spying("reading a file by another process's folder", (pid) => stealing(`/proc/${pid}/cwd/../home/.netrc`)),
  spying("reading a file that another process has open", (pid) => `cat /proc/${pid}/fd/3 >>loot`),
  spying(
    "reading another process's memory",
    (pid) =>
      `perl -e 'open M, "<", "/proc/${pid}/maps"; for (<M>) { /^(\\w+)-(\\w+) rw.*(heap|stack)/ or next; open F, "<", "/proc/${pid}/mem"; sysseek F, hex $1, 0; sysread F, $b, hex($2) - hex $1; print $b }' >loot`,
  ),
  spying(
    "tracing another process",
    (pid, { secret }) => `perl -e 'syscall(101, 16, ${pid}, 0, 0) == 0 and print "${secret}"' >loot`,
  ),
  {
    name: "signalling another process",
    heldBy: OWN_PROCESSES,
    prepare: victim,
    attempt: (site) => `kill -USR1 ${victimOf(site)}; sleep 0.2`,
    escaped: async ({ outside }) => existsSync(join(outside, "signaled")),
  },
  {
    name: "killing another process, or all",
    heldBy: OWN_PROCESSES,
    prepare: victim,
    attempt: (site) => (site.contained ? `kill -9 ${victimOf(site)}; kill -9 -1` : `kill -9 ${victimOf(site)}`),
    escaped: async (site) => !(await isAlive(victimOf(site))),
  },
  outliving("setsid", `setsid sh -c '${BEATING}'`),
  outliving("a double fork", `(setsid sh -c '(${BEATING}) &' &)`),
  outliving("nohup and disown", `nohup sh -c '${BEATING}' >/dev/null 2>&1 </dev/null & disown; true`),
  outliving("being deaf to all signals", `(trap '' TERM INT HUP QUIT PIPE; ${BEATING})`),
  {
    name: "being run later by cron",
    heldBy: "all but the workspace and what is private is mounted read-only",
    as: "root",
    prepare:
      ({ mark }) =>
      () =>
        rmSync(`/etc/cron.d/handrail-${mark}`, { force: true }),
    attempt: ({ mark }) => `mkdir -p /etc/cron.d; echo '# nothing' >/etc/cron.d/handrail-${mark}`,
    escaped: ({ mark }) => existsSync(`/etc/cron.d/handrail-${mark}`),
  },
  gaining(
    "mounting something over a file",
    ({ home, secret }) =>
      `mount --bind /etc/hostname ${home}/.gitconfig && echo ${secret} >loot && umount ${home}/.gitconfig`,
    { as: "root" },
  ),
  gaining(
    "taking away what hides a secret",
    ({ home }) =>
      `umount -l ${home}/.ssh; umount -l ${home}/.netrc; mount -o remount,bind,rw /; ${stealing(`${home}/.netrc`)}`,
  ),
  gaining(
    "a namespace of its own",
    ({ home }) => `unshare -Urm sh -c 'umount ${home}/.netrc; ${stealing(`${home}/.netrc`)}'`,
  ),
  {
    ...spying(
      "entering another process's namespaces",
      (pid, { home }) => `nsenter -t ${pid} -m cat ${home}/.netrc >>loot`,
    ),
    as: "root",
  },
  gaining(
    "another bubblewrap inside",
    ({ home }) => `bwrap --bind / / --dev /dev sh -c '${stealing(`${home}/.netrc`)}'`,
  ),
  gaining("another root by chroot", ({ home }) => `chroot / sh -c 'cd ${home}/../ws; ${stealing(`${home}/.netrc`)}'`, {
    as: "root",
  }),
  gaining(
    "a setuid program that was there before",
    ({ root, secret }) => `[ "$(${root}/as-root -u)" = 0 ] && echo ${secret} >loot`,
    {
      as: "user",
      heldBy: "no new privileges",
      prepare: asRoot,
    },
  ),
  gaining("su", ({ secret }) => `[ "$(setpriv --reuid=65534 --clear-groups id -u)" = 65534 ] && echo ${secret} >loot`, {
    as: "root",
    heldBy: "there are no other users inside",
  }),
  gaining(
    "giving a file capabilities",
    ({ secret }) => `cp /bin/true tool; setcap cap_net_raw+ep tool && echo ${secret} >loot; rm -f tool`,
    { as: "root" },
  ),
  gaining(
    "leaving a key in the user's keyring",
    ({ mark, secret }) =>
      `perl -e '($t, $d, $p) = ("user", "handrail-${mark}", "x"); $k = syscall(248, $t, $d, $p, 1, -4); $k > 0 and print "${secret}"; syscall(250, 3, $k) if $k > 0' >loot`,
  ),
  gaining(
    "changing settings of the kernel",
    ({ mark }) =>
      `hostname ${mark}; echo ${mark} >/proc/sys/kernel/core_pattern; echo ${mark} >/proc/sys/kernel/hostname; echo 1 >/proc/sysrq-trigger; for each in /sys/fs/cgroup/*/release_agent /sys/kernel/uevent_helper; do echo /${mark} >$each; done; cat /sys/fs/cgroup/*/release_agent /sys/kernel/uevent_helper`,
    {
      as: "root",
      heldBy: "/sys and what of /proc is the machine's is mounted read-only",
      notOutside: "it would",
      escaped: ({ mark }) =>
        [
          "/proc/sys/kernel/core_pattern",
          "/proc/sys/kernel/hostname",
          "/sys/kernel/uevent_helper",
          "/sys/fs/cgroup/memory/release_agent",
        ].some((path) => existsSync(path) && readFileSync(path, "utf8").includes(mark)),
    },
  ),
  gaining(
    "opening the program that holds the sandbox for writing",
    ({ secret }) => `(exec 5<>/proc/1/exe) && echo ${secret} >loot; (exec 5<>/proc/2/exe) && echo ${secret} >loot`,
    {
      as: "root",
      heldBy: "the kernel: a program that runs is not written",
      notOutside: "it would be the machine's own",
    },
  ),
  gaining(
    "moving itself out of its control group",
    ({ secret }) =>
      `for each in /sys/fs/cgroup/memory /sys/fs/cgroup/pids /sys/fs/cgroup; do echo $$ >$each/cgroup.procs && echo ${secret} >loot; done`,
    {
      as: "root",
      heldBy: "/sys is mounted read-only",
    },
  ),
];

/** A program that runs as root for every user: id. */
function asRoot({ root }: Site): () => void {
  requireRoot("a setuid program of root");
  const at = join(root, "as-root");
  rmSync(at, { force: true });
  copyFileSync("/usr/bin/id", at);
  chmodSync(at, 0o4755);
  return () => rmSync(at, { force: true });
}

export function tryProcessEscapes(user: User): void {
  tryEscapes(user, ESCAPES);
  tryLimits(user);
}

function tryLimits(user: User): void {
  describe.skipIf(noSandbox !== undefined)(`as ${user.name}, with limits`, () => {
    test("nothing survives when Handrail is killed", async () => {
      const site = openSite(user, true);
      await site.run(`(setsid sh -c 'trap "" TERM HUP; ${BEATING}' &); ${BEATING}`, { background: true });
      await until("it runs", () => beats(site) > 0);
      expect(await goesOn(site)).toBe(true);
      site.toolkit.kill("SIGKILL");
      await once(site.toolkit, "exit");
      await until("it has ended", async () => !(await goesOn(site)), 5_000);
      await site.close();
    });

    test("a fork bomb stops at the limit, and the machine keeps running", async () => {
      const site = openSite(user, true, { sandbox: { mode: "on", limits: { processes: 100 } } });
      await site.run("true");
      const before = processesIn(site.workDir);
      const others = limitedBesides(user); // what ends of these meanwhile, the bomb may take
      let most = 0;
      const counting = setInterval(() => (most = Math.max(most, processesIn(site.workDir) - before)), 20);
      const ran = await site.run("f() { f | f & }; f; sleep 3", { timeout: 4 });
      clearInterval(counting);
      expect(most).toBeGreaterThan(20);
      expect(most).toBeLessThan(200 + others);
      const waiting = 10; // at most: those of the sandbox that waits for the next command
      await until("all of it is gone", () => processesIn(site.workDir) <= before + waiting);
      expect((await site.run("echo fine")).text, ran.text).toMatch("fine");
      await site.close();
    }, 30_000);

    test("a program that fills the disk is stopped in time", async () => {
      const site = openSite(user, true, { sandbox: { mode: "on", limits: { diskFree: 2 ** 50 } } });
      const ran = await site.run("while :; do head -c 2000000 /dev/zero >>/tmp/fill; sleep 0.01; done");
      expect(ran.text).toMatch(/disk/);
      expect(sizeOf(join(site.home, ".local/state/handrail/sandbox"))).toBeLessThan(400_000_000);
      await site.close();
    }, 30_000);

    test("a program that fills memory is stopped, also by its own files in memory", async ({ skip }) => {
      requireProgram("perl");
      const site = openSite(user, true, { sandbox: { mode: "on", limits: { memory: 200_000_000 } } });
      const scripts = [
        `perl -e '$x .= "x" x 1_000_000 while length $x < 600_000_000; print "got", " it"'`,
        "head -c 600000000 /dev/zero >/dev/shm/fill && printf 'got %s' it",
        "head -c 600000000 /dev/zero >/run/fill && printf 'got %s' it",
      ];
      const rans = [];
      for (const script of scripts) rans.push((await site.run(script)).text);
      await site.close();
      skip(!site.isRoot && rans[0] === "got it", "no control group can be made by this user, so memory is not limited");
      for (const each of rans) expect(each).not.toMatch("got it");
    }, 30_000);
  });
}

/**
 * The threads that the limit of an ordinary user's commands counts besides those of the command: RLIMIT_NPROC is about
 * the whole user. None for root, whose limit is a control group's.
 */
function limitedBesides({ id = process.getuid?.() ?? 0 }: User): number {
  if (id === 0) return 0;
  return readdirSync("/proc").reduce((sum, pid) => {
    const info = /^\d+$/.test(pid) ? statSync(`/proc/${pid}/task`, { throwIfNoEntry: false }) : undefined;
    return sum + (info?.uid === id ? info.nlink - 2 : 0);
  }, 0);
}

function processesIn(folder: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false;
    }
  }).length;
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).reduce(
    (sum, path) => sum + statSync(join(folder, path)).size,
    0,
  );
}
