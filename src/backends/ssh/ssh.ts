import type { Backend } from "../../contract/backend.ts";
import { type RemoteOptions, remote } from "../remote/backend.ts";
import { type SshReachOptions, sshReach } from "./reach.ts";

export interface SshOptions extends RemoteOptions, SshReachOptions {}

/**
 * A host over SSH as a backend, named `ssh:TARGET`: the system's ssh with the user's configuration, one connection for everything, nobody asked anything. Work
 * begins in the folder in which a login there begins, with the environment of one.
 *
 * @throws ToolFailure when the target makes no sense, when the host cannot be reached (with what to do), or the working directory is not there.
 */
export async function ssh(options: SshOptions): Promise<Backend> {
  const reach = await sshReach(options);
  try {
    return await remote(reach, options);
  } catch (error) {
    await reach.close();
    throw error;
  }
}
