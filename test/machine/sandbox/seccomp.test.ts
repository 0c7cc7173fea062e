import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seccompFilter } from "../../../src/machine/sandbox/wrap/seccomp/filter.ts";
import {
  type Condition,
  type RefusedCalls,
  NEWEST_CALL,
  REFUSED,
} from "../../../src/machine/sandbox/wrap/seccomp/refused.ts";
import { installed, mustBeHere, programProblem } from "../../support/here.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { CONTAINED, bubblewrapProblem, run } from "./contained.ts";

const ARCHITECTURES = [
  { architecture: "x64", audit: 0xc000003e, column: 0, header: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h" },
  { architecture: "arm64", audit: 0xc00000b7, column: 1, header: "/usr/include/asm-generic/unistd.h" },
] as const;
const ERRORS = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
const ALLOW = 0x7fff0000;
const FAIL = 0x00050000;

interface Call {
  readonly name: string;
  readonly number: number;
  readonly group: RefusedCalls;
}

/** Returns every call of the table that an architecture has. */
function callsOf(column: 0 | 1): readonly Call[] {
  return REFUSED.flatMap((group) =>
    Object.entries(group.calls).flatMap(([name, numbers]) => {
      const number = numbers[column];
      return number === undefined ? [] : [{ name, number, group }];
    }),
  );
}

describe("the table of refused calls", () => {
  for (const { architecture, header } of ARCHITECTURES) {
    mustBeHere(
      `the kernel's header for ${architecture}`,
      existsSync(header) ? undefined : `${header} is missing (linux-libc-dev)`,
    );
  }

  test.for(ARCHITECTURES.filter(({ header }) => existsSync(header)))(
    "has the numbers that the kernel's header has for $architecture",
    ({ column, header }) => {
      const numbers = new Map<string, number>();
      for (const [, name = "", number] of readFileSync(header, "utf8").matchAll(/#define __NR_(\w+)\s+(\d+)/g)) {
        numbers.set(name, Number(number));
      }
      const known = callsOf(column).filter(({ name }) => numbers.has(name));
      expect(known.map(({ name, number }) => [name, number])).toEqual(
        known.map(({ name }) => [name, numbers.get(name)]),
      );
      // Headers may be older than the newest calls here, and asm-generic has no calls of only one architecture.
      expect(known.length).toBeGreaterThan(callsOf(column).length - 4);
    },
  );

  test("names every call once, and none newer than the filter's declared version", () => {
    for (const { column } of ARCHITECTURES) {
      const numbers = callsOf(column).map(({ number }) => number);
      expect(new Set(numbers).size).toBe(numbers.length);
      expect(Math.max(...numbers)).toBeLessThanOrEqual(NEWEST_CALL);
    }
  });
});

describe("the filter, interpreted", () => {
  test.each(ARCHITECTURES)("handles any call on $architecture as in the table", ({ architecture, audit, column }) => {
    const program = seccompFilter(architecture)!;
    const calls = callsOf(column);
    const word = fc.oneof(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.integer({ min: 0, max: 45 }),
      fc.constantFrom(
        0x5412,
        0x541c,
        0x5413,
        0x80,
        0x10000000,
        0x3d0f00,
        0x1200011,
        0xffffffff,
        0x40000,
        0x400000,
        0o101,
        0o20000002,
        0o4755,
        0o2755,
        0o1777,
      ),
    );
    const anyCall = fc.oneof(
      fc.constantFrom(...calls.map(({ number }) => number)),
      fc.integer({ min: 0, max: NEWEST_CALL + 100 }),
      fc.integer({ min: 0, max: 0xffffffff }),
    );
    const anyArguments = fc.array(fc.tuple(word, word), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(anyCall, anyArguments, (number, args) => {
        const found = interpret(program, { number, audit, args });
        expect(found).toBe(number > NEWEST_CALL ? FAIL | ERRORS.ENOSYS : expected(calls, number, args));
      }),
      { numRuns: 5_000 },
    );
  });

  test.each(ARCHITECTURES)(
    "answers ENOSYS to every call of another architecture than $architecture",
    ({ architecture, audit }) => {
      const program = seccompFilter(architecture)!;
      const other = fc
        .constantFrom(0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0, 0xffffffff)
        .filter((each) => each !== audit);
      fc.assert(
        fc.property(other, fc.integer({ min: 0, max: 600 }), (foreign, number) => {
          expect(interpret(program, { number, audit: foreign, args: [] })).toBe(FAIL | ERRORS.ENOSYS);
        }),
      );
    },
  );

  test("does not exist for an unknown architecture", () => {
    expect(seccompFilter("riscv64")).toBeUndefined();
    expect(seccompFilter("toString")).toBeUndefined();
  });

  test.each(ARCHITECTURES)("every jump on $architecture leads to an instruction behind it", ({ architecture }) => {
    const program = seccompFilter(architecture)!;
    const jumps = Array.from({ length: program.length / 8 }, (_, at) =>
      Math.max(program[8 * at + 2]!, program[8 * at + 3]!),
    );
    expect(jumps.filter((skipped, at) => at + skipped + 1 >= jumps.length && at + 1 < jumps.length)).toEqual([]);
    expect(program[program.length - 8]).toBe(0x06); // the last one is a verdict
  });
});

const filter = seccompFilter();
const problem = filter === undefined ? `no filter for ${process.arch}` : bubblewrapProblem();
const PERL = installed("perl");
const CC = installed("cc");

mustBeHere("the filter in the kernel", problem ?? programProblem("perl"));
mustBeHere("the filter under programs in C", programProblem("cc"));

const AS_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const WHO =
  process.getuid?.() === 0
    ? [
        { who: "root", as: [] },
        { who: "an ordinary user", as: AS_USER },
      ]
    : [{ who: "this user", as: [] }];

describe.skipIf(problem !== undefined || PERL === undefined)("the filter, in the kernel", () => {
  const { column } = ARCHITECTURES.find(({ architecture }) => architecture === process.arch)!;
  const calls = callsOf(column);

  test.each(WHO)(
    "every call of the table fails for $who as listed, and nearly none does for root without the filter",
    ({ who, as }) => {
      // Arguments that the kernel itself would reject, so that calls that get through have no effect.
      const lines = calls.map(({ number, group }) => [number, ...argumentsFor(group)]);
      const answers = calls.map(({ group }) => ERRORS[group.answer]);
      const errors = errorsOf([...as, ...CONTAINED], lines, true);
      expect(named(errors)).toEqual(named(answers));
      const unfiltered = errorsOf([...as, ...CONTAINED], lines, false);
      const same = calls.filter((_, index) => unfiltered[index] === answers[index]).map(({ name }) => name);
      // Calls that this kernel lacks, or forbids to everybody, prove nothing.
      if (who === "root") expect(same.length, String(same)).toBeLessThan(calls.length / 6);
    },
  );

  const named = (errors: readonly number[]) => calls.map(({ name }, index) => `${name}: ${errors[index]}`);
  const errno = (...call: readonly number[]) => errorsOf(CONTAINED, [call], true)[0];
  const numberOf = (name: string) => calls.find((call) => call.name === name)!.number;

  test("bits that the kernel ignores do not bypass the filter", () => {
    const beyond = 2 ** 32;
    expect(errno(numberOf("ioctl"), 0, 0x5412 + beyond, 0)).toBe(ERRORS.EPERM);
    expect(errno(numberOf("unshare"), 0x10000000 + beyond)).toBe(ERRORS.EPERM);
    expect(errno(numberOf("socket"), 40 + beyond, 1, 0)).toBe(ERRORS.EAFNOSUPPORT);
  });

  test("allowed calls similar to refused ones still work", () => {
    expect(errno(numberOf("socket"), 1, 1, 0)).toBe(0); // a unix socket
    expect(errno(numberOf("socket"), 2, 1, 0)).toBe(0); // TCP, in its own network
    expect(errno(numberOf("socket"), 16, 3, 0)).toBe(0); // netlink, which lists addresses
    expect(errno(numberOf("unshare"), 0x200)).toBe(0); // CLONE_FS
    expect(errno(numberOf("fchmod"), 2, 0o2700)).not.toBe(ERRORS.EPERM); // a setgid bit, as on shared folders
    expect(errno(numberOf("personality"), 0xffffffff)).toBe(0); // queries the current value
    expect(errno(numberOf("personality"), 0x40000)).toBe(0); // no address randomisation
    expect(errno(numberOf("ioctl"), 0, 0x541b, 0)).not.toBe(ERRORS.EPERM); // FIONREAD
  });

  // Where a file would be made, and of what name: -100 is AT_FDCWD.
  const MADE = [
    { call: "open", before: [], flags: [0o101], needs: "x64" },
    { call: "open", before: [], flags: [0o20200002], needs: "x64" }, // O_TMPFILE
    { call: "creat", before: [], flags: [], needs: "x64" },
    { call: "mknod", before: [], flags: [], needs: "x64" },
    { call: "mknodat", before: [-100], flags: [] },
    { call: "openat", before: [-100], flags: [0o101] },
  ] as const;

  test.each(MADE.filter((each) => !("needs" in each) || each.needs === process.arch))(
    "$call makes no setuid and no setgid file, and every other (flags $flags)",
    ({ call, before, flags }) => {
      const isTemporary = flags[0] === 0o20200002;
      const script = `
        my ($bits, $count) = (0, 0);
        for my $mode (0755, 01644, 04755, 02755, 06711) {
          my $name = ($ARGV[0] ? "/tmp" : "/tmp/file") . ($ARGV[0] ? "" : $count++);
          my $made = syscall(${[numberOf(call), ...before].join(", ")}, $name, ${flags.map((each) => `${each}, `).join("")}$mode);
          print($made == -1 ? "refused " . ($! + 0) : sprintf("%o", (stat($ARGV[0] ? "/proc/self/fd/$made" : $name))[2] & 07777), "\\n");
        }`;
      const command = [PERL!, "-e", script, isTemporary ? "1" : ""];
      const refused = `refused ${ERRORS.EPERM}`;
      expect(
        run([...CONTAINED, ...command])
          .stdout.split("\n")
          .slice(0, 5),
      ).toEqual(["755", "1644", "4755", "2755", "6711"]);
      expect(filtered(CONTAINED, command).stdout.split("\n").slice(0, 5)).toEqual([
        "755",
        "1644",
        refused,
        refused,
        refused,
      ]);
    },
  );

  test("a mode is ignored if no file is created, and openat2 reports that the call does not exist", () => {
    const script = `my $name = "/etc/passwd"; print syscall(${numberOf("openat")}, -100, $name, 0, 06777) == -1 ? "refused" : "open"`;
    expect(filtered(CONTAINED, [PERL!, "-e", script]).stdout).toBe("open");
    expect(errno(437, -100, 0, 0, 24)).toBe(ERRORS.ENOSYS);
  });

  test("the calls of x32 and of future kernels report that the call does not exist", () => {
    expect(errno(0x40000000 + 39)).toBe(ERRORS.ENOSYS);
    expect(errno(NEWEST_CALL + 1)).toBe(ERRORS.ENOSYS);
  });

  test.each(WHO)("no namespace can be created or entered, nothing mounted, by $who", ({ as }) => {
    for (const script of [
      "unshare --user true",
      "unshare --mount true",
      "nsenter --net=/proc/self/ns/net true",
      "mount --bind /tmp /mnt",
      "umount /tmp",
    ]) {
      const { status, stderr } = filtered([...as, ...CONTAINED], ["sh", "-c", script]);
      expect([script, status !== 0, /not permitted|must be superuser|denied/i.test(stderr)]).toEqual([
        script,
        true,
        true,
      ]);
    }
  });

  test.skipIf(CC === undefined || process.arch !== "x64")(
    "a 32 bit call of a 64 bit program reports that the call does not exist",
    () => {
      const folder = compiled(`
      #include <stdio.h>
      int main(void) { int result; __asm__ volatile("int $0x80" : "=a"(result) : "a"(20)); printf("%d", result); return 0; }
    `);
      expect(Number(run([join(folder, "a")]).stdout)).toBeGreaterThan(0);
      expect(filtered([...CONTAINED, "--ro-bind", folder, "/mnt"], ["/mnt/a"]).stdout).toBe(`-${ERRORS.ENOSYS}`);
    },
  );

  test.skipIf(CC === undefined)("a C library creates threads and children without clone3", () => {
    const folder = compiled(`
      #include <pthread.h>
      #include <spawn.h>
      #include <stdio.h>
      #include <sys/wait.h>
      extern char **environ;
      static void *work(void *x) { return x; }
      int main(void) {
        pthread_t thread; pid_t child; int status; char *argv[] = {"true", 0};
        if (pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0)) return 1;
        if (posix_spawnp(&child, "true", 0, 0, argv, environ) || waitpid(child, &status, 0) != child) return 2;
        puts("both");
        return status;
      }
    `);
    expect(filtered([...CONTAINED, "--ro-bind", folder, "/mnt"], ["/mnt/a"])).toMatchObject({
      status: 0,
      stdout: "both\n",
    });
  });

  const EVERYDAY: readonly { readonly needs: readonly string[]; readonly script: string }[] = [
    {
      needs: ["node"],
      script: `node -e 'const { execSync } = require("child_process"); const { Worker } = require("worker_threads"); new Worker("", { eval: true }).on("exit", () => console.log(String(execSync("echo child")), Object.keys(require("os").networkInterfaces()))); require("fs").promises.readFile("/bin/sh").then((text) => console.log(text.length))'`,
    },
    {
      needs: ["git"],
      script: `cd /tmp && git init -q r && cd r && echo a > a && git add a && git -c user.name=T -c user.email=t@example.org commit -qm m --date=2020-01-01 && git log --format=%s && git gc -q && git status --short`,
    },
    {
      needs: ["python3"],
      script: `python3 -c 'import subprocess, threading, multiprocessing, socket; p = multiprocessing.Pool(2); print(p.map(abs, [-1, -2])); p.close(); print(subprocess.check_output(["echo", "child"])); socket.socketpair(); socket.socket(socket.AF_INET6); t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()'`,
    },
    {
      needs: ["gcc", "make"],
      script: `cd /tmp && printf '#include <stdio.h>\\nint main(void) { puts("built"); return 0; }\\n' > a.c && printf 'all: a b\\n%%: a.c\\n\\tgcc -O2 -fsanitize=undefined -o $@ a.c\\n' > Makefile && make -s -j2 && ./a && ./b`,
    },
    {
      needs: ["tar", "gzip"],
      script: `cd /tmp && mkdir t && seq 1000 > t/a && ln -s a t/b && tar czf t.tgz t && tar tzf t.tgz`,
    },
    { needs: ["sort"], script: `seq 200000 | sort -rn --parallel=2 -S 1M | head -2` },
    { needs: ["setarch"], script: `setarch -R sh -c 'echo without randomisation'` },
    { needs: ["strace"], script: `strace -f -o /tmp/trace -e trace=execve true && grep -c execve /tmp/trace` },
    {
      needs: ["gdb"],
      script: `gdb -q -batch -ex 'break main' -ex run -ex 'info inferiors' true 2>&1 | grep -c 'exited\\|process'`,
    },
    { needs: ["perl"], script: `perl -e 'if (fork) { wait; print "parent\\n" } else { print "child\\n" }'` },
  ];

  describe.each(WHO)("as $who", ({ as }) => {
    test.for(EVERYDAY.map((each) => ({ ...each, title: each.needs.join(" and ") })))(
      "$title: as without the filter",
      ({ needs, script }, { skip }) => {
        const missing = needs.filter(
          (program) => run([...as, "sh", "-c", `command -v ${program} && ${program} --version`]).status !== 0,
        );
        skip(missing.length > 0, `${missing.join(", ")} cannot be used here: not tried`);
        const without = run([...as, ...CONTAINED, "--unshare-net", "env", "HOME=/tmp", "sh", "-c", script]);
        const within = filtered([...as, ...CONTAINED, "--unshare-net"], ["env", "HOME=/tmp", "sh", "-c", script]);
        expect(without).toMatchObject({ status: 0, stdout: expect.stringMatching(/./) });
        expect([within.status, within.stdout, within.stderr]).toEqual([0, without.stdout, without.stderr]);
      },
    );
  });

  const filterFile = join(temporaryFolder(), "filter");
  writeFileSync(filterFile, filter!);

  function filtered(contained: readonly string[], command: readonly string[], input = "") {
    const [program = "", ...args] = [...contained, "--seccomp", "3", "--", ...command];
    const file = openSync(filterFile, "r");
    try {
      const stdio = ["pipe", "pipe", "pipe", file] as const;
      return spawnSync(program, args, { encoding: "utf8", input, timeout: 60_000, stdio: [...stdio] });
    } finally {
      closeSync(file);
    }
  }

  /** Returns the error of each call (its number, then its arguments); 0 if it succeeded. */
  function errorsOf(
    contained: readonly string[],
    lines: readonly (readonly number[])[],
    isFiltered: boolean,
  ): readonly number[] {
    const script = `while (<STDIN>) { my @call = map { $_ + 0 } split; $! = 0; my $result = syscall($call[0], @call[1 .. $#call]); print(($result == -1 ? $! + 0 : 0), "\\n") }`;
    const input = lines.map((line) => line.join(" ")).join("\n");
    const command = [PERL!, "-e", script];
    const { stdout, stderr } = isFiltered
      ? filtered(contained, command, input)
      : run([...contained, ...command], input);
    const errors = stdout.split("\n").slice(0, -1).map(Number);
    expect(errors.length, stderr).toBe(lines.length);
    return errors;
  }

  /** The folder of the program "a". */
  function compiled(source: string): string {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.c"), source);
    const { status, stderr } = run([CC!, "-pthread", "-o", join(folder, "a"), join(folder, "a.c")]);
    expect(status, stderr).toBe(0);
    return folder;
  }
});

function argumentsFor({ when }: RefusedCalls): readonly number[] {
  const args = [-1, -1, -1, -1, -1, -1];
  if (when === undefined) return args;
  if ("all" in when) {
    const bits = new Map(when.all.map(({ argument, hasAnyBit }) => [argument, hasAnyBit]));
    return args.map((each, index) => bits.get(index) ?? each);
  }
  // A bit of a namespace, or of a mode the one there is.
  const refused = "hasAnyBit" in when ? when.hasAnyBit & 0x10000000 || when.hasAnyBit : "is" in when ? when.is[0]! : 40;
  return args.map((each, index) => (index === when.argument ? refused : each));
}

function expected(
  calls: readonly Call[],
  number: number,
  args: readonly (readonly [low: number, high: number])[],
): number {
  const call = calls.find((each) => each.number === number);
  if (call === undefined) return ALLOW;
  const { when, answer } = call.group;
  return when === undefined || holds(when, (argument) => args[argument]![0]) ? FAIL | ERRORS[answer] : ALLOW;
}

function holds(condition: Condition, valueOf: (argument: number) => number): boolean {
  if ("all" in condition) return condition.all.every((each) => holds(each, valueOf));
  const value = valueOf(condition.argument);
  if ("is" in condition) return condition.is.includes(value);
  if ("isNot" in condition) return !condition.isNot.includes(value);
  return (BigInt(value) & BigInt(condition.hasAnyBit)) !== 0n && !(condition.unless ?? []).includes(value);
}

/** Interprets classic BPF like the kernel, as far as seccomp uses it (net/core/filter.c, kernel/seccomp.c). */
function interpret(
  program: Uint8Array,
  call: {
    readonly number: number;
    readonly audit: number;
    readonly args: readonly (readonly [low: number, high: number])[];
  },
): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call.number, true);
  data.setUint32(4, call.audit, true);
  for (const [index, [low, high]] of call.args.entries()) {
    data.setUint32(16 + 8 * index, low, true);
    data.setUint32(20 + 8 * index, high, true);
  }
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  let accumulator = 0;
  for (let at = 0; at < program.byteLength; at += 8) {
    const [code, goTo, elseGoTo, k] = [
      view.getUint16(at, true),
      view.getUint8(at + 2),
      view.getUint8(at + 3),
      view.getUint32(at + 4, true),
    ];
    const jump = (taken: boolean) => void (at += 8 * (taken ? goTo : elseGoTo));
    if (code === 0x06) return k;
    if (code === 0x20) accumulator = data.getUint32(k, true);
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x25) jump(accumulator > k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else throw new Error(`no such instruction: ${code}`);
  }
  throw new Error("ran past the end");
}
