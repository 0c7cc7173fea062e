import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { createOwnDisks, isOnOwnDisk, parseMounts } from "../../src/machine/local/own-disks.ts";
import type { Backend, Files } from "../../src/core/contract/backend.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { type Tools, toolsOn } from "./tools.ts";

/** The local backend, and a list of its file operations, in order. */
async function counted(workDir: string): Promise<{ readonly backend: Backend; readonly done: string[] }> {
  const inner = await local({ workDir, outputFolder: temporaryFolder() });
  const done: string[] = [];
  const { realPath, stat, open, write, list, remove } = inner.files;
  const files: Files = {
    realPath: (...args) => (done.push("realPath"), realPath(...args)),
    stat: (...args) => (done.push("stat"), stat(...args)),
    async open(...args) {
      done.push("open");
      const file = await open(...args);
      return {
        info: file.info,
        read: (...at) => (done.push("read"), file.read(...at)),
        close: () => (done.push("close"), file.close()),
      };
    },
    write: (...args) => (done.push("write"), write(...args)),
    list: (...args) => (done.push("list"), list(...args)),
    remove,
  };
  return { backend: { ...inner, files }, done };
}

test("read makes four file operations, ls two, and an edit follows its path once", async () => {
  const folder = await workspace({ "a.txt": "line\n".repeat(4_000), "b.txt": "one\n" });
  const { backend, done } = await counted(folder);
  const { text } = await toolsOn({}, { preset: "all", target: backend });
  const operations = async (name: string, input: unknown) => {
    await text(name, input); // the policy looks up what it remembers once
    done.length = 0;
    await text(name, input);
    return [...done];
  };
  expect(await operations("read", { path: "a.txt" })).toEqual(["realPath", "open", "read", "close"]);
  expect(await operations("ls", {})).toEqual(["realPath", "list"]);
  const edit = await operations("edit", { path: "b.txt", old_text: "one", new_text: "one" });
  expect(edit.filter((each) => each === "realPath")).toHaveLength(1);
});

test("on a local disk they do not wait for the thread pool", async ({ skip }) => {
  const tools = await toolsOn({ "a.txt": "line\n".repeat(4_000), "b.txt": "1" });
  skip(
    !(await createOwnDisks()(tools.folder)),
    "the temporary folder is on no disk that is known to be this machine's",
  );
  const waits = (name: string, input: unknown) => waitsOf(tools, name, input);
  expect(await waits("read", { path: "a.txt" })).toBe(0);
  expect(await waits("ls", {})).toBe(0);
  await tools.text("edit", { path: "b.txt", old_text: "1", new_text: "2" });
  expect(await waits("edit", { path: "b.txt", old_text: "2", new_text: "3" })).toBe(0);
});

/** Counts the file-system requests that wait for the thread pool in a repeated call. */
async function waitsOf({ text }: Tools, name: string, input: unknown): Promise<number> {
  if (name !== "edit") await text(name, input);
  let waits = 0;
  const hook = createHook({
    init(_, type) {
      if (type.startsWith("FSREQ")) waits++;
    },
  }).enable();
  try {
    expect(await text(name, input)).not.toMatch(/^Tool error/);
  } finally {
    hook.disable();
  }
  return waits;
}

const MOUNTS = parseMounts(
  [
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw",
    "23 22 0:20 / /proc rw - proc proc rw",
    "30 22 0:30 / /net\\040share rw shared:3 - nfs4 host:/x rw",
    "31 22 0:31 / /work/remote rw - fuse.sshfs host: rw",
    "32 22 0:32 / /tmp rw - tmpfs tmpfs rw",
    "33 22 0:33 / /covered rw - ext4 /dev/sdb rw",
    "34 33 0:34 / /covered rw - nfs host:/y rw",
    "",
  ].join("\n"),
);

test.for<readonly [folder: string, isOwn: boolean, why: string]>([
  ["/home/user", true, "on the disk of the root"],
  ["/tmp/x", true, "in memory"],
  ["/proc/self", false, "the kernel answers there"],
  ["/net share/x", false, "on another machine, its name with a blank"],
  ["/work/remote/x", false, "on another machine"],
  ["/work", false, "something else is mounted in it"],
  ["/work/beside", true, "that is mounted beside it"],
  ["/covered/x", false, "of two at one place the later one counts"],
])("%s is on a disk of this machine: %s (%s)", ([folder, isOwn]) => {
  expect(isOnOwnDisk(folder, MOUNTS)).toBe(isOwn);
});
