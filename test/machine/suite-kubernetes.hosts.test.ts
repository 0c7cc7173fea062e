// A new kind of target that a shell reaches is one file, `test/support/kubernetes.ts`; the suite proves it.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backendSuite } from "../suites/index.ts";
import { kubernetes, pod } from "../support/kubernetes.ts";
import { temporaryFolder } from "../support/workspace.ts";

/**
 * A kubectl for pods that are folders of this machine, with the same words, streams and exit codes. `phase` beside a
 * pod's folder is its phase.
 */
const KUBECTL = `#!/bin/sh
pods=$(dirname "$0")/pods
case $1 in
get)
  cat "$pods/$3.phase" 2>/dev/null || { echo "Error from server (NotFound): pods \\"$3\\" not found" >&2; exit 1; } ;;
exec)
  name=$3
  shift 4
  [ "$(cat "$pods/$name.phase" 2>/dev/null)" = Running ] || { echo "error: cannot exec into $name" >&2; exit 1; }
  cd "$pods/$name" && exec env -i HOME="$pods/$name" PATH="$PATH" TMPDIR="\${TMPDIR:-/tmp}" "$@" ;;
esac
`;

const folder = temporaryFolder();
const pods = join(folder, "pods");
const outputFolder = temporaryFolder();
const path = process.env["PATH"];

beforeAll(() => {
  mkdirSync(join(pods, "web"), { recursive: true });
  writeFileSync(join(pods, "web.phase"), "Running");
  writeFileSync(join(folder, "kubectl"), KUBECTL);
  chmodSync(join(folder, "kubectl"), 0o755);
  process.env["PATH"] = `${folder}:${path}`;
});
afterAll(() => {
  process.env["PATH"] = path;
});

backendSuite(
  { name: "a pod", open: () => pod("web", { outputFolder }), signals: "code", detached: true },
  { describe, test, afterAll },
);

describe("a pod", () => {
  test("that is missing or was evicted is reported, with what to do", async () => {
    await expect(pod("db", { outputFolder })).rejects.toMatchObject({
      message: "pod db is gone",
      hint: "Run `kubectl get pod db` to see why.",
    });
    const backend = await kubernetes.open({ scheme: "k8s", address: "web" }, { outputFolder, detachedOwner: "tests" });
    rmSync(join(pods, "web.phase"));
    await backend.close();
    await expect(pod("web", { outputFolder })).rejects.toThrow("pod web is gone");
  });
});
