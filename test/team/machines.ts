// Machines with workers (the built program, each with a state folder of its own), and callers in this process.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { type CommandLine, type Running, commandLine } from "../cli/program.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** Makes machines and callers that share this Redis server. All end with the test. */
export function machines(queue: string) {
  return {
    /** A machine with a worker, which has reported. `says`: what it writes to stderr. */
    async worker(
      url: string,
      args: readonly string[] = [],
      settings = "policy: { autonomy: full }\nundo: off\n",
      says: RegExp = /^$/,
    ) {
      const line: CommandLine = await commandLine();
      mkdirSync(join(line.configHome, "handrail"), { recursive: true });
      writeFileSync(join(line.configHome, "handrail", "config.yaml"), `store: ${url}\nqueue: ${queue}\n${settings}`);
      const running: Running = line.start(["worker", "--name", "build", ...args]);
      onTestFinished(async () => {
        running.kill("SIGTERM");
        await running.ended;
      });
      let isOver = false;
      void running.ended.then(() => (isOver = true));
      await until("the worker has reported", () => running.stdout().includes("makes calls") || isOver);
      expect(running.stderr()).toMatch(says);
      const [, id = ""] = /\((\w+)\)/.exec(running.stdout()) ?? [];
      return { ...line, id, running };
    },

    /** A toolkit whose calls the workers make, with full approval. */
    async caller(url: string, options: ToolkitOptions = {}): Promise<Toolkit> {
      const toolkit = await createToolkit({
        ...{ target: "worker:build", store: postgresStore({ url }), queue, stateDir: temporaryFolder() },
        ...{ policy: { autonomy: "full" }, preset: "all", ...options },
      });
      onTestFinished(() => toolkit.close());
      return toolkit;
    },
  };
}
