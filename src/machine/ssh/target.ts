import type { TargetAddress, TargetKind } from "../../core/contract/target.ts";
import { messageOf } from "../../core/util/errors.ts";
import { quoteWord } from "../../core/util/quote.ts";

/** Hosts over SSH: "ssh:deploy@host", "ssh://deploy@host:2222", or "ssh:" and a Host of ssh_config(5). */
export const sshTarget: TargetKind = {
  schemes: ["ssh"],
  address: "[USER@]HOST",
  contains: "by-shell",
  open: async (target, options) => (await import("./ssh.ts")).ssh({ ...options, target: hostOf(target) }),
  commandLine: {
    flag: "--ssh <target>",
    description: "work on a host over SSH: user@host, or a Host of ~/.ssh/config",
    use: "work on a host with --ssh user@host",
    program: "ssh",
    package: "openssh-client",
    async look() {
      const { sshVersion } = await import("./version.ts");
      try {
        const version = await sshVersion();
        return { works: version !== undefined, detail: version ?? "not on the PATH" };
      } catch (error) {
        return { works: false, detail: messageOf(error) };
      }
    },
    fix: (target) => `ssh ${quoteWord(hostOf(target))} true`,
  },
};

/** The host as ssh(1) accepts it. */
function hostOf({ address }: TargetAddress): string {
  return address.startsWith("//") ? `ssh:${address}` : address;
}
