import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import type { TargetKind } from "../../src/core/contract/target.ts";
import { Unreachable } from "../../src/core/contract/failure.ts";
import { type RemoteOptions, remote } from "../../src/machine/shell/backend.ts";
import { loginScript, startLine, untilReady } from "../../src/machine/shell/login-shell.ts";
import { type Line, type Transport, howOf } from "../../src/machine/shell/transport.ts";

/** The client of Kubernetes. */
const KUBECTL = "kubectl";

/** Pods of Kubernetes: "k8s:web". All that a new kind of target needs when a shell reaches it. */
export const kubernetes: TargetKind = {
  schemes: ["k8s"],
  address: "POD",
  open: async ({ address }, options) => pod(address, options),
  commandLine: {
    flag: "--pod <name>",
    description: "work in a pod of Kubernetes",
    use: "work in a pod with --pod name",
    program: "kubectl",
    package: "kubernetes-client",
    look: async () => ({ works: (await phaseOf("")) !== undefined, detail: "kubectl" }),
    fix: ({ address }) => `kubectl get pod ${address}`,
  },
};

/** Opens a running pod as a backend. @throws Unreachable if it does not run. */
export const pod = async (name: string, options: RemoteOptions) => remote(podTransport(name), options);

/** The transport into a pod: each line is an exec of its own, and all end with the first one. */
function podTransport(name: string): Transport {
  const alive = new Set<Line>();
  let first: Line | undefined;

  const explain: Transport["explain"] = async (end) => {
    const phase = await phaseOf(name);
    if (phase === "Running") {
      const hint = "The next call opens a new shell.";
      return new Unreachable(`the shell in pod ${name} has ended (${howOf(end)}): ${end.message}`, {
        hint,
        mayPass: true,
      });
    }
    const hint = `Run \`kubectl get pod ${name}\` to see why.`;
    return new Unreachable(`pod ${name} is ${phase ?? "gone"}`, { hint, mayPass: phase === "Pending" });
  };

  return {
    name: `k8s:${name}`,
    place: `pod ${name}`,
    access: { program: ["kubectl", "exec", "-it", name, "--"], options: ["--pod", name] },
    async open(which) {
      if (which === "further" && first === undefined)
        throw new Unreachable(`the connection to pod ${name} was lost`, { mayPass: true });
      const held = first;
      const secret = randomBytes(16).toString("hex");
      const script = loginScript({ secret, profile: "sh", keepPath: true });
      const line = await startLine({ argv: [KUBECTL, "exec", "-i", name, "--", "/bin/sh", "-c", script] });
      alive.add(line);
      void line.ended.then(() => alive.delete(line));
      if (which === "further") {
        if (first !== held) line.kill(); // the first line has ended meanwhile
        return line;
      }
      const readiness = await untilReady(line, secret);
      if (readiness.is === "ended") throw await explain(readiness.end);
      if (readiness.is === "hung") throw new Unreachable(`pod ${name} starts no shell`, { mayPass: false });
      first = line;
      void line.ended.then(() => {
        first = undefined;
        for (const each of alive) each.kill();
      });
      return line;
    },
    explain,
    async close() {
      const lines = [...alive];
      for (const line of lines) line.kill();
      await Promise.all(lines.map((line) => line.ended));
    },
  };
}

/** The phase of a pod as kubectl reports it: "Running", "Pending"; `undefined` if there is none. */
function phaseOf(name: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const words = ["get", "pod", name, "-o", "jsonpath={.status.phase}"];
    execFile(KUBECTL, words, (error, stdout) => resolve(error === null ? stdout.trim() : undefined));
  });
}
