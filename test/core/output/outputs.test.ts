import { execFile } from "node:child_process";
import { lutimes, mkdir, readFile, readdir, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import type { OutputLog } from "../../../src/core/contract/backend.ts";
import { createOutputLog } from "../../../src/core/output/log.ts";
import { type OutputsOptions, type OutputsStore, createOutputs } from "../../../src/core/output/outputs.ts";
import { usedBytes } from "../../../src/core/output/remove-old.ts";
import { testFolders } from "./folder.ts";
import { until } from "../../support/until.ts";

const DAY = 24 * 60 * 60 * 1000;
const newFolder = testFolders();
const stores: OutputsStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

function newStore(options: Partial<OutputsOptions> & { folder: string }): OutputsStore {
  const store = createOutputs({ owner: "session-1", ...options });
  stores.push(store);
  return store;
}

async function contentOf(store: OutputsStore, id: string): Promise<string> {
  const file = await store.open(id);
  try {
    return new TextDecoder().decode(await file.read(0, file.info.size));
  } finally {
    await file.close();
  }
}

const unknown = /^no saved output ".*": it was removed or belongs to another session$/;

describe("saving and opening", () => {
  test("text and bytes are read back unchanged", async () => {
    const store = newStore({ folder: await newFolder() });
    const text = await store.save("naïve 😀\n");
    const bytes = await store.save(new Uint8Array([0, 255, 10]));
    const empty = await store.save("");
    expect(await contentOf(store, text)).toBe("naïve 😀\n");
    const file = await store.open(bytes);
    expect([...(await file.read(0, 10))]).toEqual([0, 255, 10]);
    await file.close();
    expect(await contentOf(store, empty)).toBe("");
  });

  test("ids have 16 unambiguous letters and digits, different each time", async () => {
    const store = newStore({ folder: await newFolder() });
    const ids = await Promise.all(Array.from({ length: 50 }, () => store.save("x")));
    for (const id of ids) expect(id).toMatch(/^[0-9abcdefghjkmnpqrstvwxyz]{16}$/);
    expect(new Set(ids).size).toBe(50);
  });

  test("ranges are read anywhere, and fewer bytes only at the end", async () => {
    const store = newStore({ folder: await newFolder() });
    const file = await store.open(await store.save("0123456789"));
    const range = async (offset: number, length: number) => new TextDecoder().decode(await file.read(offset, length));
    expect(
      await Promise.all([range(0, 3), range(7, 2), range(8, 100), range(10, 1), range(50, 5), range(0, Infinity)]),
    ).toEqual(["012", "78", "89", "", "", "0123456789"]);
    expect(file.info).toMatchObject({ kind: "file", size: 10, mode: 0o600, links: 1 });
    await file.close();
    await file.close();
    await expect(file.read(0, 1)).rejects.toThrow("this saved output was closed");
  });

  test("nothing is created before the first save, then private folders and files", async () => {
    const folder = join(await newFolder(), "state", "outputs");
    const store = newStore({ folder });
    await expect(store.open("0123456789abcdef")).rejects.toThrow(unknown);
    await expect(stat(folder)).rejects.toThrow("ENOENT");
    const id = await store.save("x");
    expect(store.folder).toBe(join(folder, "session-1"));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(store.folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(store.folder, id))).mode & 0o777).toBe(0o600);
  });

  test.each([
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "abc",
    "0123456789ABCDEF",
    "0123456789abcdei",
    "0123456789abcdef\n",
    "0123456789abcdef0",
  ])("the id %j is unknown", async (id) => {
    const store = newStore({ folder: await newFolder() });
    await store.save("x");
    await expect(store.open(id)).rejects.toThrow(unknown);
  });

  test("a long invalid id is truncated in the message", async () => {
    const store = newStore({ folder: await newFolder() });
    const failure = await store.open("x".repeat(10_000)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: "ToolFailure", hint: expect.stringContaining("Copy the id") });
    expect(String(failure).length).toBeLessThan(200);
  });

  test("another owner cannot open it; the same owner can, also later", async () => {
    const folder = await newFolder();
    const id = await newStore({ folder, owner: "one" }).save("mine");
    await expect(newStore({ folder, owner: "two" }).open(id)).rejects.toThrow(unknown);
    expect(await contentOf(newStore({ folder, owner: "one" }), id)).toBe("mine");
  });

  test.each(["", ".", "..", "a/b", "a b", "ü", "x".repeat(65)])("the owner %j is refused", async (owner) => {
    const folder = await newFolder();
    expect(() => createOutputs({ folder, owner })).toThrow(TypeError);
  });

  test("what cannot be saved is a failure with the reason, and leaves nothing behind", async () => {
    const folder = join(await newFolder(), "a-file");
    await writeFile(folder, "in the way");
    await expect(newStore({ folder }).save("x")).rejects.toThrow(/^could not save the output: E/);
    const store = newStore({ folder: await newFolder() });
    const broken: OutputLog = {
      size: 10,
      kept: 10,
      grown: async () => {},
      tail: () => Promise.reject(new Error("broken")),
      read: () => Promise.reject(new Error("broken")),
      follow: () => {
        throw new Error("broken");
      },
      dispose: () => Promise.resolve(),
    };
    await expect(store.save(broken)).rejects.toThrow("could not save the output: broken");
    expect(await readdir(store.folder)).toEqual([]);
  });

  test("a closed store neither saves nor opens, and its saved outputs are kept", async () => {
    const folder = await newFolder();
    const store = newStore({ folder });
    const saving = store.save("x".repeat(1_000_000));
    await store.close();
    const id = await saving;
    await expect(store.save("y")).rejects.toThrow("saved outputs are closed");
    await expect(store.open(id)).rejects.toThrow("saved outputs are closed");
    expect((await readFile(join(store.folder, id))).length).toBe(1_000_000);
  });
});

describe("saving a log", () => {
  const large = "0123456789abcdef".repeat(40_000);

  test("in memory writes it to a file", async () => {
    const store = newStore({ folder: await newFolder() });
    const log = createOutputLog({ folder: store.folder });
    log.write(new TextEncoder().encode("short"));
    await log.end();
    expect(await contentOf(store, await store.save(log))).toBe("short");
    await log.dispose();
  });

  test("that has ended links its file without copying, and the output survives the log", async () => {
    const store = newStore({ folder: await newFolder() });
    const log = createOutputLog({ folder: store.folder });
    log.write(new TextEncoder().encode(large));
    await log.end();
    const before = await stat((await log.file()) ?? "");
    const id = await store.save(log);
    expect((await stat(join(store.folder, id))).ino).toBe(before.ino);
    expect(await log.tail(3)).toHaveLength(3);
    await log.dispose();
    expect(await readdir(store.folder)).toEqual([id]);
    expect(await contentOf(store, id)).toBe(large);
  });

  test("that is no longer on disk copies it from the log", async () => {
    const folder = await newFolder();
    const store = newStore({ folder });
    const log = createOutputLog({ folder: store.folder });
    log.write(new TextEncoder().encode(large));
    await log.end();
    await rename((await log.file()) ?? "", join(folder, "moved"));
    expect(await contentOf(store, await store.save(log))).toBe(large);
    await log.dispose();
  });

  test("that still grows saves its current content", async () => {
    const store = newStore({ folder: await newFolder() });
    const log = createOutputLog({ folder: store.folder });
    log.write(new TextEncoder().encode(large));
    const saving = store.save(log);
    log.write(new TextEncoder().encode("later"));
    const id = await saving;
    log.write(new TextEncoder().encode("much later"));
    await log.end();
    const saved = await contentOf(store, id);
    expect([large, `${large}later`]).toContain(saved);
    await log.dispose();
  });

  test("whose file was linked counts its age from the save", async () => {
    const store = newStore({ folder: await newFolder(), now: () => Date.now() + 30 * DAY });
    const log = createOutputLog({ folder: store.folder });
    log.write(new TextEncoder().encode(large));
    await log.end();
    const id = await store.save(log);
    await store.close();
    await log.dispose();
    expect(await readdir(store.folder)).toEqual([id]);
  });
});

describe("removing old outputs", () => {
  async function old(path: string, days: number): Promise<void> {
    await writeFile(path, "old");
    const seconds = (Date.now() - days * DAY) / 1000;
    await utimes(path, seconds, seconds);
  }

  test("at the first save, removes outputs of all owners older than seven days, and empty folders", async () => {
    const folder = await newFolder();
    for (const owner of ["gone", "some", "session-1"]) await mkdir(join(folder, owner));
    await old(join(folder, "gone", "a"), 8);
    await old(join(folder, "gone", "b.log"), 9);
    await old(join(folder, "some", "a"), 7.1);
    await old(join(folder, "some", "b"), 6.9);
    await old(join(folder, "session-1", "mine"), 8);
    const store = newStore({ folder });
    const id = await store.save("new");
    await store.close();
    expect((await readdir(folder)).toSorted()).toEqual(["session-1", "some"]);
    expect(await readdir(join(folder, "some"))).toEqual(["b"]);
    expect(await readdir(store.folder)).toEqual([id]);
  });

  test("an old output is removed, and opening it says so", async () => {
    const folder = await newFolder();
    const id = await newStore({ folder }).save("x");
    const later = newStore({ folder, now: () => Date.now() + 7 * DAY + 1000 });
    expect(await contentOf(later, id)).toBe("x");
    const kept = await later.save("y");
    await later.close();
    const now = newStore({ folder });
    await expect(now.open(id)).rejects.toThrow(unknown);
    expect(await contentOf(now, kept)).toBe("y");
  });

  test("a long-lived store removes old outputs again after a day", async () => {
    const folder = await newFolder();
    let time = Date.now();
    const store = newStore({ folder, maxAgeMs: 2 * DAY, now: () => time });
    const first = await store.save("1");
    time += 2.5 * DAY;
    const second = await store.save("2");
    await store.close();
    expect(await readdir(store.folder)).toEqual([second]);
    const other = newStore({ folder, maxAgeMs: 3 * 60_000 });
    await expect(other.open(first)).rejects.toMatchObject({
      hint: expect.stringContaining(
        "Outputs are removed after 3 minutes, or when all of them exceed 2GB, the oldest first.",
      ),
    });
  });

  test("nothing else is touched: other files, deeper folders, targets of links", async () => {
    const elsewhere = await newFolder();
    const folder = await newFolder();
    await old(join(elsewhere, "precious"), 100);
    await old(join(folder, "a-file"), 100);
    await mkdir(join(folder, "one", "deeper"), { recursive: true });
    await old(join(folder, "one", "deeper", "file"), 100);
    await symlink(elsewhere, join(folder, "link"));
    await symlink(join(elsewhere, "precious"), join(folder, "one", "link"));
    await lutimes(join(folder, "one", "link"), 1, 1);
    const store = newStore({ folder });
    await store.save("x");
    await store.close();
    expect(await readdir(elsewhere)).toEqual(["precious"]);
    expect((await readdir(folder)).toSorted()).toEqual(["a-file", "link", "one", "session-1"]);
    expect((await readdir(join(folder, "one"))).toSorted()).toEqual(["deeper", "link"]);
    expect(await readdir(join(folder, "one", "deeper"))).toEqual(["file"]);
  });
});

describe("the size limit of all outputs", () => {
  const KB = 1_024;
  const sizes = async (folder: string) => {
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const found = files
      .filter((file) => file.isFile())
      .map((file) => stat(join(file.parentPath, file.name)).catch(() => ({ size: 0 })));
    return (await Promise.all(found)).reduce((sum, { size }) => sum + size, 0);
  };

  test("is enforced at saves, by removing the oldest of all owners", async () => {
    const folder = await newFolder();
    let time = Date.now();
    const options = { folder, maxBytes: 1_024 * KB, now: () => time++ };
    const [one, two] = [newStore({ ...options, owner: "one" }), newStore({ ...options, owner: "two" })];
    const ids: string[] = [];
    for (let count = 0; count < 100; count++) {
      ids.push(await one.save("1".repeat(32 * KB)), await two.save(Buffer.alloc(32 * KB)));
      if (count % 25 === 24) await until("the oldest are removed", async () => (await sizes(folder)) <= 1_024 * KB);
    }
    await Promise.all([one.close(), two.close()]);
    expect(await sizes(folder)).toBeLessThanOrEqual(1_024 * KB);
    const later = newStore({ ...options, owner: "one" });
    expect(await contentOf(later, ids.at(-2)!)).toHaveLength(32 * KB);
    await expect(later.open(ids[0]!)).rejects.toMatchObject({
      message: expect.stringMatching(unknown),
      hint: expect.stringContaining(
        "Outputs are removed after 7 days, or when all of them exceed 1MB, the oldest first.",
      ),
    });
  });

  test("never removes the newest, whatever its size, and counts small files in disk blocks", async () => {
    const folder = await newFolder();
    let time = Date.now();
    const store = newStore({ folder, maxBytes: 16 * KB, now: () => time++ });
    for (let count = 0; count < 20; count++) await store.save("small");
    await store.close();
    expect((await readdir(store.folder)).length).toBeLessThanOrEqual(4);
    const other = newStore({ folder, maxBytes: 16 * KB, now: () => time++ });
    const id = await other.save("x".repeat(100 * KB));
    await other.close();
    expect(await readdir(other.folder)).toEqual([id]);
  });

  test("neither counts nor removes files of a running process; those of a dead one are removed", async () => {
    const folder = await newFolder();
    const store = newStore({ folder, maxBytes: 300 * KB });
    const log = createOutputLog({ folder: store.folder });
    log.write(Buffer.alloc(500 * KB, "a"));
    const path = (await log.file()) ?? "";
    // over the largest PID
    const dead = join(store.folder, path.slice(path.lastIndexOf("/") + 1).replace(/^\d+-\d+/, "4194305-1"));
    await writeFile(dead, "left behind");
    const long = (Date.now() - 30 * DAY) / 1_000;
    for (const each of [path, dead]) await utimes(each, long, long);
    const id = await store.save("new");
    await store.close();
    expect((await readdir(store.folder)).toSorted()).toEqual([id, path.slice(store.folder.length + 1)].toSorted());
    expect(Buffer.from(await log.tail(3)).toString()).toBe("aaa");
    expect(await usedBytes(folder)).toEqual({ saved: 4 * KB, live: 500 * KB });
    const later = newStore({ folder, maxBytes: 300 * KB });
    await log.end();
    const adopted = await later.save(log);
    await log.dispose();
    expect(await contentOf(later, adopted)).toHaveLength(500 * KB);
    await later.close(); // the removal of what is too much has ended
    expect(await usedBytes(folder)).toEqual({ saved: 500 * KB, live: 0 });
  });

  test.each([0, -1, Number.NaN])("of %d bytes is rejected", async (maxBytes) => {
    const folder = await newFolder();
    expect(() => createOutputs({ folder, owner: "one", maxBytes })).toThrow(RangeError);
  });
});

describe("a path that somebody replaced", () => {
  const id = "0123456789abcdef";

  test("by a link in place of an output is not followed", async () => {
    const store = newStore({ folder: await newFolder() });
    await store.save("x");
    await symlink("/etc/hostname", join(store.folder, id));
    await expect(store.open(id)).rejects.toThrow(unknown);
  });

  test("by a link in place of the owner's folder is not followed", async () => {
    const elsewhere = await newFolder();
    const folder = await newFolder();
    await writeFile(join(elsewhere, id), "not ours");
    await symlink(elsewhere, join(folder, "session-1"));
    const store = newStore({ folder });
    await expect(store.open(id)).rejects.toThrow("is not a folder");
    await expect(store.save("x")).rejects.toThrow("is not a folder");
    expect(await readdir(elsewhere)).toEqual([id]);
  });

  test("by a folder or a FIFO is refused at once", async () => {
    const store = newStore({ folder: await newFolder() });
    await store.save("x");
    await mkdir(join(store.folder, id));
    await expect(store.open(id)).rejects.toThrow(`could not open the saved output "${id}": it is not a regular file`);
    await promisify(execFile)("mkfifo", [join(store.folder, "fedcba9876543210")]);
    await expect(store.open("fedcba9876543210")).rejects.toThrow("it is not a regular file");
  });
});
