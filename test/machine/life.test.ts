import { describe, expect, test } from "vitest";
import { type LifeEvent, STARTED, exitOf, lived, phaseOf } from "../../src/machine/process/life.ts";
import type { Exit } from "../../src/core/contract/backend.ts";

const EXITED: LifeEvent = { is: "ended", how: { how: "exited", code: 3 } };
const TERMINATED: LifeEvent = { is: "ended", how: { how: "code", code: 143 } };
const LOST: LifeEvent = { is: "ended", how: { how: "lost", reason: "the connection was lost" } };
const KILL: LifeEvent = { is: "stop", as: undefined };
const ABORT: LifeEvent = { is: "stop", as: { how: "aborted" } };
const LATE: LifeEvent = { is: "stop", as: { how: "timed-out", afterMs: 5 } };
const ALL: LifeEvent = { is: "stopped", what: "all" };
const LEFT: LifeEvent = { is: "stopped", what: "left" };
const NONE: LifeEvent = { is: "stopped", what: "none" };
const unstoppable = expect.stringMatching(/^it could not be stopped/) as string;

describe("the life of a process", () => {
  test.each<[string, readonly LifeEvent[], Exit]>([
    ["it exits by itself", [EXITED], { how: "exited", code: 3 }],
    ["a code over 128 is no signal if nobody stopped it", [TERMINATED], { how: "exited", code: 143 }],
    ["a code over 128 is a signal if it was stopped", [KILL, ALL, TERMINATED], { how: "signaled", signal: "SIGTERM" }],
    ["the first reason to stop is reported", [LATE, ABORT, TERMINATED, ALL], { how: "timed-out", afterMs: 5 }],
    ["the first end counts", [EXITED, TERMINATED], { how: "exited", code: 3 }],
    ["a stop after the end changes nothing", [EXITED, ABORT, ALL], { how: "exited", code: 3 }],
    ["it ended before the stop reached it", [ABORT, EXITED, NONE], { how: "exited", code: 3 }],
    ["it was lost", [LOST], { how: "lost", reason: "the connection was lost" }],
    ["it was lost while it was out of reach", [ABORT, LOST, NONE], { how: "lost", reason: "the connection was lost" }],
    ["what watched it was ended with it", [KILL, LOST, ALL], { how: "aborted" }],
    ["nothing can end it: its end is not waited for", [ABORT, LEFT], { how: "lost", reason: unstoppable }],
  ])("%s", (_, events, exit) => {
    const life = events.reduce(lived, STARTED);
    expect(phaseOf(life)).toBe("completes");
    expect(exitOf(life)).toEqual(exit);
    expect(phaseOf(lived(life, { is: "complete" }))).toBe("over");
  });

  test("its output is not read to the end before what it started is ended", () => {
    expect(phaseOf([KILL, EXITED].reduce(lived, STARTED))).toBe("runs");
  });
});
