import type { TargetAddress, TargetKind } from "../../core/contract/target.ts";
import { quoteWord } from "../../core/util/quote.ts";

/** Running containers: "docker:web", "podman:web", or "container:web" for the engine that has such a container. */
export const containerTarget: TargetKind = {
  schemes: ["container", "docker", "podman"],
  address: "NAME",
  contains: "by-shell",
  open: async (target, options) =>
    (await import("./container.ts")).container({ ...options, container: nameOf(target) }),
  commandLine: {
    flag: "--container <name>",
    description: "work in a running container of docker or podman",
    use: "work in a container with --container name",
    program: "containers",
    package: "podman",
    async look() {
      const engines = await (await import("./engine.ts")).probeEngines();
      const hint = engines.find((engine) => engine.hint !== undefined)?.hint;
      return {
        works: engines.some(({ problem }) => problem === undefined),
        detail:
          engines
            .map(({ engine, version = "", problem }) => `${engine} ${version}`.trim() + (problem ? `: ${problem}` : ""))
            .join("; ") || "neither docker nor podman is on the PATH",
        ...(hint !== undefined && { fix: hint }),
      };
    },
    fix: ({ scheme, address }) => `${scheme === "podman" ? "podman" : "docker"} inspect ${quoteWord(address)}`,
  },
};

/** The container's name, with its engine if the target names one. */
function nameOf({ scheme, address }: TargetAddress): string {
  return scheme === "container" ? address : `${scheme}:${address}`;
}
