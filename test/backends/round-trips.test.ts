import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { remote } from "../../src/backends/remote/backend.ts";
import { farTransport } from "../support/far-transport.ts";
import { localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Hands, handsOn } from "./elsewhere.ts";

/** Of the link. The work itself takes a small part of it. */
const ROUND_TRIP_MS = 200;

/** A machine that is busy with something else makes a call slower: it is made so often at most. */
const MOST_CALLS = 8;

/** How many round trips a call of each tool may take, from its beginning to its end. */
const CALLS: readonly (readonly [tool: string, input: (round: number) => object, most: number])[] = [
  ["bash", () => ({ command: "true" }), 1.2],
  ["read", () => ({ path: "a.txt" }), 2.2],
  ["ls", () => ({ path: "folder" }), 2.2],
  ["grep", () => ({ pattern: "needle", path: "folder" }), 2.2],
  ["find", () => ({ pattern: "*.txt", path: "folder" }), 2.2],
  ["write", (round) => ({ path: "written.txt", content: `content ${round}\n` }), 3.2],
  ["edit", (round) => ({ path: "edited.txt", old_text: `line ${round}\n`, new_text: `line ${round + 1}\n` }), 4.2],
];

describe("on a host that is far away, from the beginning of a call to its end", () => {
  let hands: Hands;

  beforeAll(async () => {
    const workDir = temporaryFolder();
    mkdirSync(join(workDir, "folder"));
    for (const path of ["a.txt", "written.txt", "folder/b.txt"]) writeFileSync(join(workDir, path), "a needle\n");
    writeFileSync(join(workDir, "edited.txt"), "line 0\n");
    const backend = await remote(farTransport(localTransport(["sh"]), ROUND_TRIP_MS), { workDir });
    hands = await handsOn(backend, { preset: "workspace", policy: {} });
  });
  afterAll(() => hands.toolkit.close());

  test.each(CALLS)("%s takes its round trips and no more", async (tool, input, most) => {
    let fewest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < MOST_CALLS && fewest > most; round++) {
      const beganMs = performance.now();
      expect(await hands.call(tool, input(round))).not.toMatch(/^Tool error/);
      fewest = Math.min(fewest, (performance.now() - beganMs) / ROUND_TRIP_MS);
    }
    expect(fewest).toBeLessThanOrEqual(most);
  });
});
