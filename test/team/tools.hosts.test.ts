// The tests of the tools, with two workers that make the calls: a file may be read on one and written on the other.
import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { twoWorkers } from "../support/workers.ts";
import { toolsAt } from "../tools/tools.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

/** The files whose tests all call tools through `toolsOn`. */
const FILES = [
  ...["bash", "edit", "edit-bytes", "file-operations", "files-bounded", "ls", "not-found", "read", "read-encodings"],
  ...["read-pictures", "run-shell", "shell", "tool-names", "write", "write-kept"],
];

const NO_DIFFERENCE =
  "the difference is shown only by the worker that has seen the file; the other one asks to read it";

/** What is different with workers, by the titles of the tests. */
const DIFFERENT: { readonly [title: string]: string } = {
  "but only its background child: the call ends, and the child ends with the toolkit": "it ends with the worker",
  "is what a terminal would show at the end, and the saved output keeps all": "ids of jobs begin with their worker's",
  "in results: a job, without it": "its id begins with that of its worker",
  "is not replaced: the difference is shown, and the next write replaces it": NO_DIFFERENCE,
  'shell {"command":"npm test"} with {"autonomy":"supervised"}: Security policy violation: Medium-risk command requires approval':
    "a worker refuses what nobody can be asked about, in its own words",
  "is noticed whether a read, a write or an edit saw it, and whether a person or a command changed it": NO_DIFFERENCE,
  "and that was seen whole before a part of it was, is compared with the whole": NO_DIFFERENCE,
  "in another encoding is compared as text; one that became binary must be read": NO_DIFFERENCE,
  "when a file was touched, or written with the same content": NO_DIFFERENCE,
  "simultaneous edits and writes of one file wait for each other, and none is lost": "they have no order",
  "on a local disk they do not wait for the thread pool": "the disk is that of the workers",
};

describe.skipIf(problem !== undefined)("with two workers", async () => {
  if (problem !== undefined) return;
  const servers = { postgres: await postgresServer(), redis: await redisServer() };
  beforeAll(() => {
    toolsAt(async (folder, { approver: _, sandbox = "off", workDir = folder, ...options }) => {
      return await twoWorkers(servers, "tools", { ...options, sandbox, workDir });
    });
  });
  afterAll(() => toolsAt(undefined));
  beforeEach(({ task, skip }) => skip(task.name in DIFFERENT, DIFFERENT[task.name]));
  // A query makes a module of its own of a file that this process may have run already.
  for (const file of FILES)
    describe(file, async () => void (await import(/* @vite-ignore */ `../tools/${file}.test.ts?on=workers`)));
});
