import { spawn, spawnSync } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Database, openDatabase } from "../../../src/record/db/database.ts";
import {
  type DatabaseConnection,
  type Engine,
  libsqlEngine,
  nodeEngine,
  notLoaded,
} from "../../../src/record/db/driver.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const newFile = () => join(temporaryFolder(), "handrail.db");

/** Every engine that this Node can have. The database must be the same with each. */
const engines: readonly (readonly [name: string, engine: Engine])[] = [
  ["libsql", await libsqlEngine()],
  ...(nodeEngine() === undefined ? [] : [["node:sqlite", nodeEngine() as Engine] as const]),
];

test("libsql without the package of its binary (npm ci --omit=optional) is a sentence with the remedy", async () => {
  const folder = temporaryFolder();
  for (const name of ["libsql", "@neon-rs/load", "detect-libc"])
    await cp(
      fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url)),
      join(folder, "node_modules", name),
      {
        recursive: true,
      },
    );
  const error: unknown = await import(join(folder, "node_modules/libsql/index.js")).catch((reason: unknown) => reason);
  expect(notLoaded(error).message).toMatch(
    /^no SQLite engine: .* does not load \(Cannot find module '@libsql\/.*'\)\. Use a newer Node, or .*--include=optional$/,
  );
});

describe.each(engines)("a database with %s", (_, engine) => {
  async function open(file = newFile()): Promise<Database> {
    const database = await openDatabase({ file, engine, patienceMs: 100 });
    onTestFinished(() => database.close());
    return database;
  }

  const addChore = (connection: DatabaseConnection, name: string) =>
    connection.run("INSERT INTO chores (name, begun_at) VALUES (?, 1)", [name]).changes;
  const names = ({ connection }: Database) =>
    connection.all<{ name: string }>("SELECT name FROM chores ORDER BY name").map(({ name }) => name);

  test("has tables and write-ahead logging, and returns its free pages", async () => {
    const { connection } = await open();
    const pragma = (name: string) => Object.values(connection.all<object>(`PRAGMA ${name}`)[0] ?? {})[0] as unknown;
    expect(pragma("journal_mode")).toBe("wal");
    expect(pragma("auto_vacuum")).toBe(2); // incremental
    expect(pragma("foreign_keys")).toBe(1);
    expect(pragma("user_version")).toBeGreaterThan(0);
  });

  test("is written completely or not at all", async () => {
    const database = await open();
    expect(database.transaction((connection) => addChore(connection, "one"))).toBe(1);
    expect(() =>
      database.transaction((connection) => {
        addChore(connection, "two");
        throw new Error("changed my mind");
      }),
    ).toThrow("changed my mind");
    expect(() => database.transaction((connection) => addChore(connection, "one"))).toThrow("UNIQUE");
    expect(names(database)).toEqual(["one"]);
    database.transaction((connection) => addChore(connection, "three"), { durable: true });
    expect(names(database)).toEqual(["one", "three"]);
  });

  test("reads what another connection writes, and detects that it has written", async () => {
    const file = newFile();
    const [one, other] = [await open(file), await open(file)];
    const before = one.dataVersion();
    one.transaction((connection) => addChore(connection, "mine"));
    expect(one.dataVersion()).toBe(before);
    other.transaction((connection) => addChore(connection, "theirs"));
    expect(one.dataVersion()).not.toBe(before);
    expect(names(one)).toEqual(["mine", "theirs"]);
  });

  test("that is locked is retried until it is free, or for the given time", async () => {
    const file = newFile();
    const [one, other] = [await open(file), await open(file)];
    one.connection.exec("BEGIN IMMEDIATE");
    let attempts = 0;
    const write = () =>
      other.patiently(() => {
        attempts += 1;
        return other.transaction((connection) => addChore(connection, `number ${attempts}`));
      });
    await expect(write()).rejects.toThrow(`${file} is locked by another process (for 0.`);
    attempts = 0;
    const second = write();
    one.connection.exec("COMMIT");
    expect(await second).toBe(1);
    expect(attempts).toBeGreaterThan(1);
  });

  test("stores texts, numbers and null unchanged", async () => {
    const { connection } = await open();
    const [row] = connection.all("SELECT ? AS text, ? AS big, ? AS part, ? AS none", [
      "é\u{1F600}'--",
      2 ** 52,
      1.5,
      null,
    ]);
    expect({ ...(row as object) }).toEqual({ text: "é\u{1F600}'--", big: 2 ** 52, part: 1.5, none: null });
  });
});

test("several processes that create and open one file at the same time all succeed", async () => {
  const program = fileURLToPath(new URL("../../fixtures/activity/calls.mjs", import.meta.url));
  const file = join(temporaryFolder(), "deeper", "still", "handrail.db");
  const children = Array.from({ length: 8 }, (_, number) => {
    const child = spawn(process.execPath, [program, file, `p${number}`, "1"], { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  });
  const said = await Promise.all(
    children.map(
      (child) =>
        new Promise<string>((resolve) => {
          child.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString().split("\n")[0] ?? ""));
          child.stderr.on("data", (bytes: Buffer) => resolve(bytes.toString()));
        }),
    ),
  );
  expect(said).toEqual(children.map((_, number) => `p${number}-0-0 approved`));
});

test("the built store is opened by node:sqlite if Node has it (22.13 and newer), otherwise by libsql", () => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const program = `
    import { sqliteStore } from ${JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href)};
    const store = sqliteStore({ file: ${JSON.stringify(newFile())} });
    for await (const event of store.events()) console.error(event);
    await store.close();
    process.report.excludeNetwork = true;
    const { sharedObjects } = process.report.getReport();
    const nodes = process.moduleLoadList.includes("NativeModule sqlite");
    console.log(JSON.stringify({ nodes, libsqls: sharedObjects.some((path) => path.includes("libsql")) }));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  const nodes = major > 22 || (major === 22 && minor >= 13);
  expect({ stderr, engine: JSON.parse(stdout) as unknown }).toEqual({ stderr: "", engine: { nodes, libsqls: !nodes } });
});
