import { probeEngines } from "../../backends/container/engine.ts";
import { sshVersion } from "../../backends/ssh/version.ts";
import type { Check } from "./check.ts";
import { installCommand } from "./program.ts";

/** What reaches other hosts. */
export const sshClient: Check = {
  name: "ssh",
  required: false,
  fix: installCommand("openssh-client"),
  async run() {
    const version = await sshVersion();
    if (version === undefined)
      return { status: "missing", detail: "not on the PATH", fix: installCommand("openssh-client") };
    return { status: "ok", detail: `${version}: work on a host with --ssh user@host` };
  },
};

/** What containers are reached with. */
export const containers: Check = {
  name: "containers",
  required: false,
  fix: installCommand("podman"),
  async run() {
    const engines = await probeEngines();
    const works = engines.filter(({ problem }) => problem === undefined);
    const said = engines.map(
      ({ engine, version, problem }) =>
        `${engine} ${version ?? ""}`.trim() + (problem === undefined ? "" : `: ${problem}`),
    );
    if (works.length > 0)
      return { status: "ok", detail: `${said.join("; ")}: work in a container with --container name` };
    if (engines.length === 0)
      return { status: "missing", detail: "neither docker nor podman is on the PATH", fix: installCommand("podman") };
    return {
      status: "missing",
      detail: said.join("; "),
      fix: engines.find(({ hint }) => hint !== undefined)?.hint ?? installCommand("podman"),
    };
  },
};
