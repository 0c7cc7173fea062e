import { afterEach, describe, expect, test } from "vitest";
import { type Pool, type PoolOptions, createPool } from "../../src/machine/shell/pool.ts";
import { type Shell, speakWith } from "../../src/machine/shell/shell.ts";
import { ToolFailure, Unreachable } from "../../src/core/contract/failure.ts";
import { localTransport } from "../support/local-transport.ts";
import { until } from "../support/until.ts";
import { within } from "./elsewhere.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const CLOSED = new ToolFailure("it is closed");

interface Counted {
  readonly pool: Pool;
  /** The shells that were opened, and those that have ended. */
  readonly opened: Shell[];
  readonly ended: Set<Shell>;
}

/** Creates a pool of local shells. `refuse` returns why none can be opened at the moment. */
function poolOf(options: Partial<PoolOptions> = {}, refuse: () => Error | undefined = () => undefined): Counted {
  const opened: Shell[] = [];
  const ended = new Set<Shell>();
  const pool = createPool({
    place: "here",
    isConnected: () => true,
    async open() {
      const why = refuse();
      if (why !== undefined) throw why;
      const shell = await speakWith(await localTransport(["sh"]).open("further"), "");
      opened.push(shell);
      void shell.ended.then(() => ended.add(shell));
      return shell;
    },
    ...options,
  });
  cleanups.push(() => pool.close(CLOSED));
  return { pool, opened, ended };
}

const answerOf = async (shell: Shell) => (await shell.ask("echo here")).out.toString();

/** Acquires this many shells, one by one. */
async function takeAll(pool: Pool, many: number): Promise<readonly Shell[]> {
  const taken: Shell[] = [];
  for (let count = 0; count < many; count++) taken.push(await pool.take());
  return taken;
}

describe("the shells of a backend", () => {
  test("callers do not wait for others who never release what they acquired", async () => {
    const { pool } = poolOf();
    const taken = await within("taking", Promise.all(Array.from({ length: 30 }, () => pool.take())));
    expect(new Set(taken).size).toBe(30);
    expect(await Promise.all(taken.map(answerOf))).toEqual(Array.from({ length: 30 }, () => "here\n"));
  });

  test("a burst of short uses shares a few shells", async () => {
    const { pool, opened } = poolOf();
    const short = async () => {
      const shell = await pool.take();
      const answer = await answerOf(shell);
      pool.giveBack(shell);
      return answer;
    };
    expect(await Promise.all(Array.from({ length: 200 }, short))).toEqual(Array.from({ length: 200 }, () => "here\n"));
    expect(opened.length).toBeLessThanOrEqual(40); // eight, except on machines that pause for a moment
  });

  test("a released shell is used again, unless it has ended, and releasing twice counts once", async () => {
    const { pool, opened } = poolOf();
    const first = await pool.take();
    pool.giveBack(first);
    pool.giveBack(first);
    const [again, other] = [await pool.take(), await pool.take()];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    first.kill();
    await first.ended;
    pool.giveBack(first);
    expect(await pool.take()).not.toBe(first);
    expect(opened.length).toBe(3);
  });

  test("at the maximum number, a caller waits until a shell is released", async () => {
    const { pool } = poolOf({ mostInUse: 3 });
    const [one] = await takeAll(pool, 3);
    if (one === undefined) throw new Error("three were taken");
    const fourth = pool.take();
    pool.giveBack(one);
    expect(await fourth).toBe(one);
  });

  test("a caller that waits too long gets the reason and the next step, as do those behind it", async () => {
    const { pool } = poolOf({ mostInUse: 2, longestWaitMs: 300 });
    const [one] = await takeAll(pool, 2);
    if (one === undefined) throw new Error("two were taken");
    for (const failed of await Promise.allSettled([pool.take(), pool.take()])) {
      expect(failed).toMatchObject({
        status: "rejected",
        reason: {
          message: "here takes no more work: 2 commands or reads are in progress on it",
          hint: "Wait until one ends, or stop one.",
        },
      });
    }
    pool.giveBack(one);
    expect(await pool.take()).toBe(one);
  });

  test("when no more can be opened next to others, a caller waits for one of them", async () => {
    let refused = 0;
    let mayOpen = true;
    const refuse = () => {
      if (mayOpen) return undefined;
      refused++;
      return new Unreachable("no more sessions", { mayPass: true });
    };
    const { pool } = poolOf({}, refuse);
    const [one] = await takeAll(pool, 2);
    if (one === undefined) throw new Error("two were taken");
    mayOpen = false;
    const waiting = [pool.take(), pool.take()] as const;
    await until("one was refused", () => refused > 0);
    expect(await answerOf(one)).toBe("here\n");
    pool.giveBack(one);
    const next = await Promise.race(waiting);
    expect(next).toBe(one);
    pool.giveBack(next);
    expect(await Promise.all(waiting)).toEqual([one, one]);
    expect(refused).toBeLessThan(10);
  });

  test("a caller that is refused for long gets the host's message; a single caller gets it at once", async () => {
    let mayOpen = true;
    const why = new Unreachable("no more sessions", { mayPass: true });
    const { pool } = poolOf({ longestWaitMs: 300 }, () => (mayOpen ? undefined : why));
    const [one] = await takeAll(pool, 1);
    if (one === undefined) throw new Error("one was taken");
    mayOpen = false;
    await expect(pool.take()).rejects.toMatchObject({
      message: "here takes no more work: 1 commands or reads are in progress on it; no more sessions",
      hint: "Wait until one ends, or stop one.",
    });
    one.end();
    pool.giveBack(one);
    await expect(pool.take()).rejects.toBe(why);
    mayOpen = true;
    expect(await answerOf(await pool.take())).toBe("here\n");
  });

  test("without any connection nobody waits", async () => {
    let mayOpen = true;
    const why = new Unreachable("nobody is there", { mayPass: true });
    const { pool } = poolOf({ isConnected: () => false }, () => (mayOpen ? undefined : why));
    await takeAll(pool, 2);
    mayOpen = false;
    await expect(pool.take()).rejects.toBe(why);
  });

  test("closing ends all shells, rejects waiting callers, and ends shells that are being opened", async () => {
    const { pool, opened, ended } = poolOf({ mostInUse: 3 });
    const [one] = await takeAll(pool, 2);
    const [third, fourth] = await Promise.allSettled([pool.take(), pool.take(), (async () => pool.close(CLOSED))()]);
    expect([third, fourth]).toMatchObject([
      { status: "rejected", reason: CLOSED },
      { status: "rejected", reason: CLOSED },
    ]);
    await until("all have ended", () => ended.size === opened.length);
    expect(opened.length).toBe(3);
    if (one !== undefined) pool.giveBack(one);
    await expect(pool.take()).rejects.toBe(CLOSED);
  });
});
