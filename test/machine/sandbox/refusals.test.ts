import { describe, expect, test } from "vitest";
import { refusalsIn } from "../../../src/machine/sandbox/wrap/refusals.ts";
import type { Exit } from "../../../src/core/contract/backend.ts";
import type { Refusal } from "../../../src/core/contract/containment.ts";

const FAILED: Exit = { how: "exited", code: 1 };
const HIDDEN = ["/home/me/.ssh", "/srv/ws/.env"];

const refusals = (output: string, exit: Exit = FAILED) =>
  refusalsIn({ exit, output, hidden: HIDDEN, cwd: "/srv/ws", home: "/home/me" });

const LIKELY: { readonly [what in Extract<Refusal, { kind: "likely" }>["what"]]: readonly string[] } = {
  write: [
    "touch: cannot touch '/etc/x': Read-only file system",
    "npm error EROFS: read-only file system, mkdir '/etc/x'",
    "OSError: [Errno 30] Read-only file system: '/etc/x'",
    "open /etc/x: read-only file system",
    "error: failed to open: /opt/x\n\nCaused by:\n  Read-only file system (os error 30)",
    "error: could not write config file .git/config: Device or resource busy",
  ],
  network: [
    "curl: (6) Could not resolve host: registry.example.org",
    "wget: unable to resolve host address ‘registry.example.org’",
    "W: Failed to fetch http://registry.example.org/InRelease  Temporary failure resolving 'registry.example.org'",
    "npm error code EAI_AGAIN",
    "    [cause]: Error: getaddrinfo ENOTFOUND registry.example.org",
    "NameResolutionError: Failed to resolve 'registry.example.org' ([Errno -3] Temporary failure in name resolution)",
    "socket.gaierror: [Errno -2] Name or service not known",
    "dial tcp: lookup registry.example.org on 10.0.0.2:53: dial udp 10.0.0.2:53: connect: network is unreachable",
    "Caused by: java.net.UnknownHostException: registry.example.org",
    "dns error: failed to lookup address information",
    "ssh: Could not resolve hostname registry.example.org: Temporary failure in name resolution",
  ],
  temporary: [
    "cat: /tmp/upload.log: No such file or directory",
    "Error: ENOENT: no such file or directory, open '/tmp/upload.log'",
  ],
  signing: [
    "error: gpg failed to sign the data\nfatal: failed to write commit object",
    "error: Couldn't load public key /home/me/keys/id.pub: No such file or directory?\n\nfatal: failed to write commit object",
    "error: gpg failed to sign the data\nerror: unable to sign the tag",
  ],
  "system-call": [
    "Bad system call (core dumped)",
    "audit: type=1326 audit(1700000000.000:1): auid=0 uid=0 gid=0 pid=1 comm=x sig=31 syscall=250",
    "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted",
    "unshare: unshare failed: Operation not permitted",
    "mount: /mnt: permission denied.",
    "bwrap: No permissions to create new namespace",
  ],
};

describe.each(Object.entries(LIKELY))("the probable cause is %s", (what, outputs) => {
  test.each(outputs)("%s", (output) => {
    expect(refusals(`before\n${output}\nafter\n`)).toEqual([{ kind: "likely", what }]);
    expect(refusals(output, { how: "exited", code: 0 })).toEqual([]);
  });
});

test.each([
  "bash: fork: retry: Resource temporarily unavailable",
  "sh: 1: Cannot fork",
  "Error: spawn sh EAGAIN",
  "RuntimeError: can't start new thread",
  "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory",
  "runtime: failed to create new OS thread (have 5 already; errno=11)",
])("the limit on processes was reached: %s", (output) => {
  expect(refusals(output)).toEqual([{ kind: "limit", what: "processes" }]);
});

test.each<[string, string]>([
  ["cat: /home/me/.ssh/id_rsa: Permission denied", "/home/me/.ssh"],
  ["Error: ENOENT: no such file or directory, open '~/.ssh/id_rsa'", "/home/me/.ssh"],
  ["Error: Cannot find module '/home/me/.ssh/server.mjs'", "/home/me/.ssh"],
  ["cat: .env: Permission denied", "/srv/ws/.env"],
])("a hidden path is reported: %s", (output, path) => {
  expect(refusals(output)).toEqual([{ kind: "read", path } satisfies Refusal]);
});

test.each([
  "Error: connect ECONNREFUSED 127.0.0.1:3000",
  "HTTPSConnectionPool(host='one.example.org', port=443): Read timed out.",
  '✘ [ERROR] Could not resolve "lodash.merge"',
  "npm error Could not resolve dependency: peer react@18",
  "cat: /etc/shadow: Permission denied",
  "cat: missing.txt: No such file or directory",
  "BlockingIOError: [Errno 11] Resource temporarily unavailable",
  "Error: ENOSPC: no space left on device, watch '/srv/ws'",
  "checking for seccomp... no",
  "chown: changing ownership of 'x': Operation not permitted",
  "AssertionError: expected 403 to equal 200",
])("is an ordinary failure: %s", (output) => {
  expect(refusals(output)).toEqual([]);
});

test("each kind is reported once, also for a stopped command", () => {
  const output = Object.values(LIKELY).flat().join("\n").repeat(3);
  expect(refusals(output, { how: "timed-out", afterMs: 5 })).toEqual(
    Object.keys(LIKELY).map((what) => ({ kind: "likely", what })),
  );
});
