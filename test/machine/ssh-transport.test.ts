import { afterEach, describe, expect, test } from "vitest";
import { sshTransport } from "../../src/machine/ssh/transport.ts";
import { whyNotOpened } from "../../src/machine/ssh/failures.ts";
import { sshVersion } from "../../src/machine/ssh/version.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { requireProgram } from "../support/here.ts";

const PATH = process.env["PATH"];
afterEach(() => void (process.env["PATH"] = PATH));

describe("without a host", () => {
  // Faults that no test server can produce; the texts are those of OpenSSH 9.2.
  test.each([
    ["ssh: connect to host db port 22: No route to host", true],
    ["ssh: Could not resolve hostname db: Temporary failure in name resolution", true],
    ["ssh: Could not resolve hostname db: Name or service not known", false],
    ["kex_exchange_identification: read: Connection reset by peer", true],
    ["Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa", false],
  ])("%s: it is quoted, and whether it may pass is known: %j", (words, mayPass) => {
    const host = { target: "me@db", byHand: "ssh me@db" };
    const why = whyNotOpened(host, { is: "ended", began: false, end: { code: 255, signal: null, message: words } });
    expect(why).toMatchObject({
      message: `no connection to me@db could be opened: ${words}`,
      hint: "Run `ssh me@db true` to see the error.",
      mayPass,
    });
  });

  test.each(["", "-oProxyCommand=id", "a b", "a\nb", "user@-x", "ssh://-x", "host;id", "$(id)", "a\0b", "`id`"])(
    "%j is refused as a target",
    async (target) => {
      await expect(sshTransport({ target })).rejects.toThrow(/not an SSH target.*expected a host as ssh takes it/);
    },
  );

  test.each(["host", "me@host.example.org", "ssh://me@host:2222", "me@[fe80::1%eth0]", "DOMAIN\\me@host", "host_1"])(
    "%j is rejected as a target",
    async (target) => {
      requireProgram("ssh");
      const transport = await sshTransport({ target });
      expect(transport.name).toBe(`ssh:${target}`);
      await transport.close();
    },
  );

  test("when no ssh is installed, the error names what to install", async () => {
    process.env["PATH"] = temporaryFolder();
    expect(await sshVersion()).toBeUndefined();
    await expect(sshTransport({ target: "host" })).rejects.toMatchObject({
      message: "there is no ssh on the PATH here",
      hint: expect.stringMatching(/Install the OpenSSH client/) as string,
    });
  });
});
