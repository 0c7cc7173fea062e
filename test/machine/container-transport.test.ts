import { afterEach, describe, expect, test } from "vitest";
import { probeEngines } from "../../src/machine/container/engine.ts";
import { containerTransport } from "../../src/machine/container/transport.ts";
import { temporaryFolder } from "../support/workspace.ts";

const PATH = process.env["PATH"];
afterEach(() => void (process.env["PATH"] = PATH));

describe("without a container", () => {
  test.each(["", "-x", "--help", "a b", "podman:", "web;id", "a\nb", "docker:-x", "../x", "crio:web"])(
    "%j is rejected as a name",
    async (given) => {
      await expect(containerTransport({ container: given })).rejects.toThrow(
        /is not a container name: expected a name or id of letters/,
      );
    },
  );

  test("when no engine is installed, the error names what to install", async () => {
    process.env["PATH"] = temporaryFolder();
    const opened = async (container: string) => (await containerTransport({ container })).open("first");
    const start = "cannot look for container web: docker is not installed";
    await expect(opened("web")).rejects.toThrow(`${start}; podman is not installed`);
    await expect(opened("docker:web")).rejects.toThrow(start);
    expect(await probeEngines()).toEqual([
      { engine: "docker", problem: "docker is not installed", hint: "Install docker, or put it on the PATH." },
      { engine: "podman", problem: "podman is not installed", hint: "Install podman, or put it on the PATH." },
    ]);
  });
});
