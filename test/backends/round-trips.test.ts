import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { remote } from "../../src/backends/shell/backend.ts";
import { type FarTransport, farTransport } from "../support/far-transport.ts";
import { localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Hands, handsOn } from "./elsewhere.ts";

/** The round-trip time of the link, in milliseconds. */
const ROUND_TRIP_MS = 50;

/**
 * A machine that pauses for longer than a round trip may count one twice, so a call is repeated up to this many times.
 */
const MOST_CALLS = 8;

/** How many round trips a call of each tool takes in total. */
const CALLS: readonly (readonly [tool: string, input: (round: number) => object, trips: number])[] = [
  ["bash", () => ({ command: "true" }), 1],
  ["read", () => ({ path: "a.txt" }), 2],
  ["ls", () => ({ path: "folder" }), 2],
  ["grep", () => ({ pattern: "needle", path: "folder" }), 2],
  ["find", () => ({ pattern: "*.txt", path: "folder" }), 2],
  ["write", (round) => ({ path: "written.txt", content: `content ${round}\n` }), 3],
  ["edit", (round) => ({ path: "edited.txt", old_text: `line ${round}\n`, new_text: `line ${round + 1}\n` }), 4],
];

describe("on a distant host, from the beginning of a call to its end", () => {
  let hands: Hands;
  let transport: FarTransport;

  beforeAll(async () => {
    const workDir = temporaryFolder();
    mkdirSync(join(workDir, "folder"));
    for (const path of ["a.txt", "written.txt", "folder/b.txt"]) writeFileSync(join(workDir, path), "a needle\n");
    writeFileSync(join(workDir, "edited.txt"), "line 0\n");
    transport = farTransport(localTransport(["sh"]), ROUND_TRIP_MS);
    const backend = await remote(transport, { workDir });
    hands = await handsOn(backend, { preset: "workspace", policy: {} });
  });
  afterAll(() => hands.toolkit.close());

  test.each(CALLS)("%s takes only the expected round trips", async (tool, input, trips) => {
    let fewest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < MOST_CALLS && fewest > trips; round++) {
      const counted = transport.count();
      expect(await hands.call(tool, input(round))).not.toMatch(/^Tool error/);
      fewest = Math.min(fewest, counted());
    }
    expect(fewest).toBe(trips);
  });
});
