import type { Backend } from "../../contract/backend.ts";
import { type RemoteOptions, remote } from "../remote/backend.ts";
import { type ContainerTransportOptions, containerTransport } from "./transport.ts";

export interface ContainerOptions extends RemoteOptions, ContainerTransportOptions {}

/**
 * A running container as a backend, named `docker:NAME` or `podman:NAME`, by the engine's own client (so DOCKER_HOST, DOCKER_CONTEXT and the like count). Work
 * begins in the image's working directory, with the container's environment and what a login's profile adds to it.
 *
 * @throws ToolFailure when the name makes no sense, when no engine can be asked, when there is no such container or it does not run (with what to do), or the
 *   working directory is not there.
 */
export async function container(options: ContainerOptions): Promise<Backend> {
  const transport = await containerTransport(options);
  try {
    return await remote(transport, options);
  } catch (error) {
    await transport.close();
    throw error;
  }
}
