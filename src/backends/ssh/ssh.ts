import type { Backend } from "../../contract/backend.ts";
import { type RemoteOptions, remote } from "../remote/backend.ts";
import { type SshTransportOptions, sshTransport } from "./transport.ts";

export interface SshOptions extends RemoteOptions, SshTransportOptions {}

/**
 * A host over SSH as a backend, named `ssh:TARGET`: the system's ssh with the user's configuration, one connection for everything, nobody asked anything. Work
 * begins in the folder in which a login there begins, with the environment of one.
 *
 * @throws ToolFailure when the target makes no sense, when the host cannot be reached (with what to do), or the working directory is not there.
 */
export async function ssh(options: SshOptions): Promise<Backend> {
  const transport = await sshTransport(options);
  try {
    return await remote(transport, options);
  } catch (error) {
    await transport.close();
    throw error;
  }
}
