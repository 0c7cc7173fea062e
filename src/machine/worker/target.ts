import type { TargetKind } from "../../core/contract/target.ts";

/**
 * Workers by name: "worker:build", or one of them: "worker:build#abcd". Their calls are delivered to them
 * (`src/team/`).
 */
export const workerTarget: TargetKind = {
  schemes: ["worker"],
  address: "NAME[#ID]",
  contains: "itself",
  open: async ({ address }, options) => (await import("./worker.ts")).worker(address, options),
  commandLine: {
    flag: "--worker <name>",
    description: "let a worker of this name make the calls: handrail worker --name NAME runs on its machine",
    use: "let workers make calls with --worker NAME and queue: redis://…",
    program: "bullmq",
    package: "redis-server",
    async look() {
      const [queue, client] = await Promise.allSettled([import("bullmq"), import("ioredis")]);
      const works = queue.status === "fulfilled" && client.status === "fulfilled";
      return {
        works,
        detail: works ? "installed, with ioredis" : "not installed: workers are then woken by the store alone",
        fix: "npm install bullmq ioredis",
      };
    },
    fix: () => "handrail workers",
  },
};
