import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Exit } from "../../src/contract/backend.ts";
import { type CommandContext, mostSpecific, refusalsIn } from "../../src/backends/sandbox/refusals.ts";
import {
  DISK,
  HOSTS,
  NETWORK,
  PROCESSES,
  PROXY,
  READ,
  SYSTEM_CALL,
  WRITE,
} from "../../src/backends/sandbox/refusal-wordings.ts";
import { cases } from "../support/cases.ts";

const FAILED: Exit = { how: "exited", code: 1 };

const at = (changed: Partial<CommandContext> = {}): CommandContext => ({
  exit: FAILED,
  networked: false,
  isWritable: (path) =>
    (path.startsWith("/srv/ws/") || path.startsWith("/tmp/")) && !path.startsWith("/srv/ws/.git/config"),
  isHidden: (path) => path.startsWith("/home/me/.ssh"),
  workDir: "/srv/ws",
  home: "/home/me",
  ...changed,
});

describe("what programs say of the sandbox is understood", () => {
  test.for(WRITE.examples)("a write: %s", (line) => {
    expect(refusalsIn(`before\n${line}\nbehind\n`, at())).toEqual([{ kind: "write", path: "/etc/x" }]);
  });

  test.for(READ.examples)("a hidden path: %s", (line) => {
    const path = line.includes("directory '") ? "/home/me/.ssh" : "/home/me/.ssh/id_rsa";
    expect(refusalsIn(line, at())).toEqual([{ kind: "read", path }]);
  });

  test.for(HOSTS.flatMap(({ examples }) => examples))("a host: %s", (line) => {
    const [first, ...others] = refusalsIn(line, at());
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      kind: "host",
      host: expect.stringMatching(/^registry\.example\.org(?::443)?$/) as string,
    });
    expect(first).not.toHaveProperty("reason");
  });

  test.for(HOSTS.flatMap(({ pattern, examples }) => examples.map((line) => [pattern, line] as const)))(
    "%s finds its own example",
    ([pattern, line]) => {
      expect([...line.matchAll(pattern)].map((match) => match[1])).toContain("registry.example.org");
    },
  );

  test.for(NETWORK.examples)("the network: %s", (line) => {
    expect(refusalsIn(line, at())).toEqual([{ kind: "network" }]);
  });

  test.for(PROXY.examples)("the proxy: %s", (line) => {
    expect(refusalsIn(line, at({ networked: true }))).toEqual([{ kind: "network" }]);
    expect(refusalsIn(line, at())).toEqual([]);
  });

  test.for(SYSTEM_CALL.examples)("a system call: %s", (line) => {
    expect(refusalsIn(line, at())).toEqual([{ kind: "system-call", what: line }]);
  });

  test.for(PROCESSES.examples)("too many processes: %s", (line) => {
    expect(refusalsIn(line, at())).toEqual([{ kind: "limit", what: "processes" }]);
  });

  test.for(DISK.examples)("a full disk: %s", (line) => {
    expect(refusalsIn(line, at())).toEqual([{ kind: "limit", what: "disk" }]);
  });

  test.for<[string, string]>([
    ["touch: cannot touch '../x': Read-only file system", "/srv/x"],
    ["touch: cannot touch '~/x': Read-only file system", "/home/me/x"],
    ["error: could not write config file .git/config: Device or resource busy", "/srv/ws/.git/config"],
    ["error: could not lock config file .git/config: Read-only file system", "/srv/ws/.git/config"],
    ["open /opt/my files/x: read-only file system", "/opt/my files/x"],
    [
      "error: failed to open: /opt/cargo/.package-cache\n\nCaused by:\n  Read-only file system (os error 30)",
      "/opt/cargo/.package-cache",
    ],
    [
      "error: failed to create directory `/opt/cargo`\n\nCaused by:\n  Read-only file system (os error 30)",
      "/opt/cargo",
    ],
    ["\x1b[31mmkdir: cannot create directory '/etc/x'\x1b[0m: Read-only file system", "/etc/x"],
  ])("%j is about %s", ([output, path]) => {
    expect(refusalsIn(output, at())).toEqual([{ kind: "write", path }]);
  });

  test.for<[string, string]>([
    ["ping: one.example.org: Temporary failure in name resolution", "one.example.org"],
    ["x from central (https://one.example.org/maven2): Network is unreachable", "one.example.org:443"],
    [
      "error sending request for url (http://one.example.org:81/x): dns error: failed to lookup address information",
      "one.example.org:81",
    ],
    ["Error: connect ENETUNREACH 2606:4700::1111:443 - Local (:::0)", "2606:4700::1111:443"],
  ])("%j is about %s", ([line, host]) => {
    expect(refusalsIn(line, at())).toEqual([{ kind: "host", host }]);
  });

  test.for<[Exit]>([[{ how: "exited", code: 159 }], [{ how: "signaled", signal: "SIGSYS" }]])(
    "the end %j is a system call's, whatever was written",
    ([exit]) => {
      expect(refusalsIn("", at({ exit }))).toEqual([{ kind: "system-call", what: "Bad system call (SIGSYS)" }]);
      expect(refusalsIn("Bad system call\n", at({ exit }))).toEqual([{ kind: "system-call", what: "Bad system call" }]);
    },
  );

  test("a program that goes to the network by itself is told that the proxy is the only way", () => {
    expect(refusalsIn("Error: getaddrinfo ENOTFOUND one.example.org", at({ networked: true }))).toEqual([
      { kind: "host", host: "one.example.org", reason: expect.stringContaining("HTTPS_PROXY") as string },
    ]);
    expect(
      refusalsIn(
        "fatal: unable to access 'https://one.example.org/x/': CONNECT tunnel failed, response 403",
        at({ networked: true }),
      ),
    ).toEqual([{ kind: "host", host: "one.example.org:443" }]);
  });

  test("a command that was stopped says what it waited for", () => {
    const exit: Exit = { how: "timed-out", afterMs: 5 };
    expect(refusalsIn("curl: (6) Could not resolve host: one.example.org", at({ exit }))).toHaveLength(1);
  });
});

describe("ordinary failures are none of the sandbox's", () => {
  test.for([
    "Error: connect ECONNREFUSED 127.0.0.1:3000",
    "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server",
    "curl: (7) Failed to connect to 127.0.0.1 port 3000 after 0 ms: Couldn't connect to server",
    "HTTPConnectionPool(host='localhost', port=80): Max retries exceeded (Caused by NewConnectionError: [Errno 111] Connection refused)",
    "HTTPSConnectionPool(host='one.example.org', port=443): Read timed out.",
    "Error: getaddrinfo ENOTFOUND does-not-exist.invalid",
    '✘ [ERROR] Could not resolve "lodash.merge"',
    "npm error Could not resolve dependency: peer react@18",
    "error: could not lock config file .git/config.x: File exists",
    "touch: cannot touch 'sub/x': Read-only file system", // a file system of its own in the workspace
    "/bin/cp: cannot create regular file 'x': Read-only file system",
    "cat: /etc/shadow: Permission denied",
    "cat: missing.txt: No such file or directory",
    "rm: cannot remove 'mnt': Device or resource busy",
    "BlockingIOError: [Errno 11] Resource temporarily unavailable",
    "Error: ENOSPC: System limit for number of file watchers reached, watch '/srv/ws'",
    "Error: ENOSPC: no space left on device, watch '/srv/ws'",
    "checking for seccomp... no",
    "chown: changing ownership of 'x': Operation not permitted",
    "AssertionError: expected 403 to equal 200",
    "Read-only file system",
    "FAILED tests/test_x.py::test_network - assert 1 == 2",
  ])("%s", (line) => {
    expect(refusalsIn(line, at())).toEqual([]);
  });

  test("nor is anything that a successful command writes", () => {
    const everything = [WRITE, READ, ...HOSTS, NETWORK, SYSTEM_CALL, DISK]
      .flatMap(({ examples }) => examples)
      .join("\n");
    expect(refusalsIn(everything, at({ exit: { how: "exited", code: 0 } }))).toEqual([]);
    expect(refusalsIn(everything, at()).length).toBeGreaterThan(1);
  });
});

describe("the list is short", () => {
  test("each is told once, and ten at most", () => {
    const lines = Array.from(
      { length: 40 },
      (_, index) => `touch: cannot touch '/etc/${index % 15}': Read-only file system`,
    );
    const found = refusalsIn(lines.join("\n"), at());
    expect(found).toHaveLength(10);
    expect(new Set(found.map((each) => JSON.stringify(each)))).toHaveLength(10);
  });

  test("a host stands for the network, and with its port for itself", () => {
    expect(
      mostSpecific([
        { kind: "network" },
        { kind: "host", host: "one.example" },
        { kind: "host", host: "one.example:443" },
        { kind: "host", host: "two.example" },
        { kind: "host", host: "two.example" },
        { kind: "host", host: "one.example:8443" },
      ]),
    ).toEqual([
      { kind: "host", host: "one.example:443" },
      { kind: "host", host: "two.example" },
      { kind: "host", host: "one.example:8443" },
    ]);
  });
});

describe("hostile output", () => {
  const words = [WRITE, READ, ...HOSTS, NETWORK, PROXY, SYSTEM_CALL, PROCESSES, DISK].flatMap(
    ({ examples }) => examples,
  );

  test("never throws, whatever it is made of", () => {
    const piece = fc.oneof(
      fc.constantFrom(...words),
      fc.string({ unit: "binary" }),
      fc.constantFrom("'", ": ", "/", "~", "\0", "\n", " -> '"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, networked) => {
        const found = refusalsIn(pieces.join(""), at({ networked }));
        expect(found.length).toBeLessThanOrEqual(10);
      }),
      { numRuns: cases(150) },
    );
  });

  test("takes time in proportion to its length", () => {
    const shapes = [
      "'\n",
      "x\n",
      "'",
      "((((: ",
      "a.",
      "connect to a",
      "fork ",
      ": /",
      "lookup a",
      "seccomp ",
      "EROFS'",
      "https://a",
    ];
    const texts = [...shapes, ...words.map((line) => `${line} `), ...words.map((line) => `${line}\n`)];
    const spent = (length: number) =>
      texts.reduce((sum, text) => {
        const output = text.repeat(Math.ceil(length / text.length)).slice(0, length);
        return sum + timed(() => refusalsIn(output, at({ networked: true })));
      }, 0);
    spent(4_096);
    // Eight times as long; 64 times as slow would be quadratic.
    expect(spent(65_536) / spent(8_192)).toBeLessThan(32);
  });
});

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}
