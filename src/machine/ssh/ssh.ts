import type { Backend } from "../../core/contract/backend.ts";
import { type RemoteOptions, remote } from "../shell/backend.ts";
import { type SshTransportOptions, sshTransport } from "./transport.ts";

export interface SshOptions extends RemoteOptions, SshTransportOptions {}

/**
 * Opens a host over SSH as a backend, named `ssh:TARGET`. Uses the system's ssh with the user's configuration, one
 * connection, and no prompts. Commands start in the login folder, with a login's environment.
 *
 * @throws ToolFailure for an invalid target, if the host cannot be reached (with what to do), or if the working
 * directory does not exist.
 */
export async function ssh(options: SshOptions): Promise<Backend> {
  return remote(await sshTransport(options), options);
}
