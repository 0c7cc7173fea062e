import { afterAll, describe, test } from "vitest";
import { ssh } from "../../src/machine/ssh/ssh.ts";
import { backendSuite } from "../suites/index.ts";
import { mustBeHere } from "../support/here.ts";
import { type SshServerOptions, sshServer, sshdProblem } from "../support/sshd.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** A profile that prints to both streams, reads as much stdin as it can, and changes its environment. */
const NOISY = "echo welcome; echo warning >&2; read -r answer; cd /; umask 077\n";

const ACCOUNTS: readonly (readonly [title: string, options: SshServerOptions])[] = [
  ["bash", { loginShell: "bash" }],
  [
    "the ash of busybox, with a profile that prints and reads",
    { loginShell: "busybox", homeFiles: { ".profile": NOISY } },
  ],
];

for (const [title, options] of ACCOUNTS) mustBeHere(`an sshd for users of ${title}`, sshdProblem(options));

const usable = ACCOUNTS.filter(([, options]) => sshdProblem(options) === undefined);

describe.each(usable)("a host over SSH, its login shell %s", (title, options) => {
  const outputFolder = temporaryFolder();
  let started: ReturnType<typeof sshServer> | undefined;

  backendSuite(
    {
      name: `ssh (${title})`,
      async open() {
        const { target, configFile } = await (started ??= sshServer(options));
        return ssh({ target, configFile, outputFolder });
      },
      signals: "code",
      detached: true,
    },
    { describe, test, afterAll },
  );
});
