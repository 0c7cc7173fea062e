import type { Backend } from "../../core/contract/backend.ts";
import { type RemoteOptions, remote } from "../shell/backend.ts";
import { type ContainerTransportOptions, containerTransport } from "./transport.ts";

export interface ContainerOptions extends RemoteOptions, ContainerTransportOptions {}

/**
 * Opens a running container as a backend, named `docker:NAME` or `podman:NAME`, through the engine's own client (so
 * DOCKER_HOST, DOCKER_CONTEXT and similar variables apply). Commands start in the image's working directory, with the
 * environment of the container and of a login's profile.
 *
 * @throws ToolFailure for an invalid name, if no engine answers, if the container does not exist or does not run (with
 * what to do), or if the working directory does not exist.
 */
export async function container(options: ContainerOptions): Promise<Backend> {
  return remote(await containerTransport(options), options);
}
