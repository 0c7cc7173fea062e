import { afterEach, describe, expect, test } from "vitest";
import { sshTransport } from "../../src/backends/ssh/transport.ts";
import { reasonIn } from "../../src/backends/ssh/reasons.ts";
import { sshVersion } from "../../src/backends/ssh/version.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { requireProgram } from "../support/here.ts";

const PATH = process.env["PATH"];
afterEach(() => void (process.env["PATH"] = PATH));

describe("without a host", () => {
  // Faults that no test server can produce; the texts are those of OpenSSH 9.2.
  test.each([
    ["ssh: connect to host db port 22: No route to host", /^db cannot be reached on port 22: No route to host/, true],
    [
      "ssh: connect to host db port 22: Connection timed out",
      /^db cannot be reached on port 22: Connection timed out/,
      true,
    ],
    [
      "ssh: connect to host db port 22: Network is unreachable",
      /^db cannot be reached on port 22: Network is unreachable/,
      true,
    ],
    [
      "ssh: Could not resolve hostname db: Temporary failure in name resolution",
      /^the name db cannot be looked up/,
      true,
    ],
    ["ssh: Could not resolve hostname db: Name or service not known", /^there is no host db/, false],
    [
      "kex_exchange_identification: read: Connection reset by peer",
      /closed the connection before any key was exchanged/,
      true,
    ],
    [
      "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures",
      /was offered too many keys/,
      false,
    ],
    ["client_loop: send disconnect: Broken pipe", /^the connection to me@db was lost/, true],
    ["Connection to db closed by remote host.", /^the connection to me@db was lost/, true],
    [
      "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa",
      /no matching host key type/,
      false,
    ],
  ])("%s", (words, message, mayPass) => {
    const why = reasonIn({ target: "me@db", byHand: "ssh me@db" }, words);
    expect(why?.message).toMatch(message);
    expect(why?.mayPass).toBe(mayPass);
    expect(why?.hint).toBeTruthy();
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
