// Escapes through the network, and to services of the machine through their sockets. Servers outside record visitors.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { type Escape, type Site, type User, hasLoot, lootOf, openSite, tryEscapes } from "./escapes.ts";
import { noSandbox } from "./world.ts";
import { requireProgram } from "../../support/here.ts";

/**
 * A server that sends the secret to visitors, and writes "visited" to a file. The argument of `perl` creates the
 * socket.
 */
function serving(socket: (site: Site) => string): Pick<Escape, "prepare" | "escaped"> {
  return {
    async prepare(site) {
      const { root, outside, secret, own } = site;
      const ready = join(root, "ready");
      const script = `use IO::Socket::IP; use IO::Socket::UNIX; use Socket; chdir "${outside}"; umask 0; unlink ${socketsOf(
        site,
      )
        .map((path) => JSON.stringify(path))
        .join(
          ", ",
        )}; ${socket(site)} or die "no socket: $!"; open R, ">", "${ready}.new"; print R (eval { $s->sockport } || 0); close R; rename "${ready}.new", "${ready}"; while (1) { if ($u) { $s->recv($b, 99) ; } else { $c = $s->accept; print $c "${secret}\\n"; close $c } open V, ">", "${outside}/visited"; close V }`;
      const [program, ...words] = [...own, "perl", "-e", script];
      const server = spawn(program, words, { stdio: ["ignore", "ignore", "inherit"] });
      await until("it listens", () => existsSync(ready));
      ports.set(site, Number(readFileSync(ready, "utf8")));
      return () => {
        server.kill("SIGKILL");
        // Sockets that others see are kept, without a listener: a socket that disappears during the set-up would be
        // missed.
        const unseen = socketsOf(site).filter((path) => /^\/(run|tmp)\//.test(path));
        for (const path of [ready, join(outside, "visited"), ...unseen]) rmSync(path, { force: true });
      };
    },
    escaped: async (site) => {
      await until("somebody came", () => existsSync(join(site.outside, "visited")), 300).catch(() => undefined);
      return existsSync(join(site.outside, "visited")) || hasLoot(site);
    },
  };
}

const ports = new Map<Site, number>();
/** Where the server of `serving` listens. */
const portOf = (site: Site) => ports.get(site) ?? 0;
const socketsOf = ({ mark, home, outside }: Site) => [
  `/run/handrail-${mark}.sock`,
  `/tmp/handrail-${mark}.sock`,
  join(home, "docker.sock"),
  join(outside, "near.sock"),
];

const IP4 = `$s = IO::Socket::IP->new(LocalHost => "127.0.0.1", Listen => 9)`;
const unixAt = (path: string) => `$s = IO::Socket::UNIX->new(Local => ${path}, Listen => 9)`;
const visitUnix = (path: string) =>
  `perl -e 'use IO::Socket::UNIX; $c = IO::Socket::UNIX->new(Peer => ${path}) or die "no: $!"; print <$c>' >>loot`;
const visit = (port: number, host = "127.0.0.1") =>
  `perl -e 'use IO::Socket::IP; $c = IO::Socket::IP->new(PeerHost => "${host}", PeerPort => ${port}, Timeout => 2) or die "no: $@"; print <$c>' >>loot`;

const OWN_NETWORK = "a network of its own, with nothing in it";
const COVERED = "sockets on which somebody listens are covered when the command starts";

/** With network access, which exists without the sandbox anyway. */
const granted = (
  name: string,
  network: (site: Site) => readonly string[],
  attempt: (site: Site) => string | readonly string[],
): Escape => ({
  name,
  heldBy: "the proxy, which is the only way out, lets through what was granted",
  ...serving(() => IP4),
  attempt,
  input: (site) => ({ network: network(site) }),
});

const ESCAPES: readonly Escape[] = [
  {
    name: "reaching a server of this machine by IPv4",
    heldBy: OWN_NETWORK,
    ...serving(() => IP4),
    attempt: (site) => visit(portOf(site)),
  },
  {
    name: "reaching a server of this machine by IPv6",
    heldBy: OWN_NETWORK,
    ...serving(() => `$s = IO::Socket::IP->new(LocalHost => "::1", Listen => 9)`),
    attempt: (site) => visit(portOf(site), "::1"),
  },
  {
    name: "sending by UDP",
    heldBy: OWN_NETWORK,
    ...serving(() => `$u = 1; $s = IO::Socket::IP->new(LocalHost => "127.0.0.1", Proto => "udp")`),
    attempt: (site) => `echo x >/dev/udp/127.0.0.1/${portOf(site)}`,
  },
  ...(
    [
      ["in the home, as Docker's", ({ home }) => join(home, "docker.sock")],
      ["in /run", ({ mark }) => `/run/handrail-${mark}.sock`, "root"],
      ["among the temporary files, as an ssh-agent's", ({ mark }) => `/tmp/handrail-${mark}.sock`],
    ] satisfies readonly (readonly [string, (site: Site) => string, ("root" | undefined)?])[]
  ).map(([where, path, as]: readonly [string, (site: Site) => string, "root"?]): Escape => ({
    name: `reaching a unix socket ${where}`,
    heldBy: where.startsWith("in the home") ? COVERED : "/run and /tmp are others inside",
    ...(as !== undefined && { as }),
    ...serving((site) => unixAt(`"${path(site)}"`)),
    attempt: (site) => visitUnix(`"${path(site)}"`),
  })),
  {
    name: "reaching a unix socket that was bound by a relative path",
    heldBy: COVERED,
    ...serving(() => unixAt(`"near.sock"`)),
    attempt: ({ outside }) => visitUnix(`"${outside}/near.sock"`),
  },
  {
    name: "reaching a unix socket by a link to it",
    heldBy: COVERED,
    ...serving(({ home }) => unixAt(`"${home}/docker.sock"`)),
    attempt: ({ home }) =>
      `ln -sf ${home}/docker.sock mine.sock; ${visitUnix(`"mine.sock"`)}; ln ${home}/docker.sock hard.sock; ${visitUnix(`"hard.sock"`)}; rm -f mine.sock hard.sock`,
  },
  {
    name: "reaching an abstract unix socket",
    heldBy: OWN_NETWORK,
    ...serving(({ mark }) => unixAt(`"\\0handrail-${mark}"`)),
    attempt: ({ mark }) => visitUnix(`"\\0handrail-${mark}"`),
  },
  ...(
    [
      ["a packet socket", "17, 3, 0x300"],
      ["a raw socket", "2, 3, 1"],
    ] as const
  ).map(([what, words]): Escape => ({
    name: `opening ${what}`,
    heldBy: "no capability is left, and the filter of system calls",
    as: "root",
    attempt: ({ secret }) => `perl -e 'socket(S, ${words}) and print "${secret}"' >loot`,
    escaped: hasLoot,
  })),
  {
    name: "opening a socket to the host of a virtual machine (AF_VSOCK)",
    heldBy: "the filter of system calls",
    attempt: ({ secret }) => `perl -e 'socket(S, 40, 1, 0) and print "${secret}"' >loot`,
    escaped: hasLoot,
    notOutside: "this machine may have no such sockets",
  },
  granted(
    "reaching another host than the one granted, past the proxy",
    () => ["example.org"],
    (site) => visit(portOf(site)),
  ),
  granted(
    "reaching another host than the one granted, by the proxy",
    () => ["example.org"],
    (site) =>
      `NO_PROXY= no_proxy= curl -sS http://127.0.0.1:${portOf(site)}/ >>loot; curl -sS --proxytunnel http://127.0.0.1:${portOf(site)}/ >>loot; ${visit(portOf(site))}`,
  ),
  {
    ...granted(
      "reaching a private address that was granted without being allowed",
      (site) => [`127.0.0.1:${portOf(site)}`],
      (site) =>
        `NO_PROXY= no_proxy= curl -sS --http0.9 http://127.0.0.1:${portOf(site)}/ >>loot; ${visit(portOf(site))}`,
    ),
    heldBy: "the policy, before anything runs: a private address has to be allowed by name",
  },
  granted(
    "reaching it by other spellings of its address",
    () => ["*"],
    (site) =>
      ["2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "127.1", "localhost", "0.0.0.0"]
        .map((host) => `NO_PROXY= no_proxy= curl -sS --http0.9 'http://${host}:${portOf(site)}/' >>loot`)
        .join("; "),
  ),
  granted(
    "reaching a port that no rule opens",
    () => ["allowed.test"],
    (site) =>
      `NO_PROXY= no_proxy= curl -sS --proxytunnel --http0.9 http://allowed.test:${portOf(site)}/ >>loot; ${visit(portOf(site))}`,
  ),
  {
    ...granted(
      "reaching what an earlier command was granted",
      () => [],
      () => [],
    ),
    heldBy: "each command has a proxy of its own, with what it was granted",
    attempt: (site) => visit(portOf(site)),
  },
];

export function tryNetworkEscapes(user: User): void {
  tryEscapes(user, ESCAPES);
  tryGranted(user);
}

function tryGranted(user: User): void {
  describe.skipIf(noSandbox !== undefined)(`as ${user.name}, what was granted`, () => {
    let site: Site;
    let port = 0;
    beforeAll(async () => {
      port = await freePort();
      site = openSite(user, true, { policy: { network: { allowPrivate: ["127.0.0.1"], ports: [port] } } });
    });
    afterAll(() => site.close());
    const get = () => `NO_PROXY= no_proxy= curl -sS --proxytunnel --http0.9 http://127.0.0.1:${port}/ >>loot`;

    test("reaches the one server, not another; and not from a later command, nor from one beside it", async () => {
      requireProgram("perl");
      const server = serving(() => IP4.replace("LocalHost", `LocalPort => ${port}, LocalHost`));
      const undo = (await server.prepare?.(site)) as () => void;
      const network = [`127.0.0.1:${port}`];
      const first = await site.run(get(), { network });
      expect(hasLoot(site), first.text).toBe(true);
      rmSync(lootOf(site));
      rmSync(join(site.outside, "visited"), { force: true });

      await site.run(get());
      await site.run(get(), { network: ["127.0.0.1:80"] });
      await site.run(visit(port), { network });
      expect(await server.escaped?.(site)).toBe(false);

      await site.run("env >beside; sleep 1000", { network, background: true });
      await until(
        "it runs",
        () =>
          existsSync(join(site.workDir, "beside")) &&
          readFileSync(join(site.workDir, "beside"), "utf8").includes("no_proxy"),
      );
      const bridge = /^http_proxy=(.+)$/m.exec(readFileSync(join(site.workDir, "beside"), "utf8"))?.[1] ?? "";
      expect(bridge).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const folder = join(site.home, ".local/state/handrail/sandbox");
      const socket = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((path) => /p-\w+\/s$/.test(path));
      const ran = await site.run(
        `curl -sS -x ${bridge} --http0.9 http://127.0.0.1:${port}/ >>loot; curl -sS -x ${bridge} --noproxy '' http://127.0.0.1:${port}/ >>loot; ${visitUnix(`"${folder}/${socket}"`)}; ${visitUnix('"/run/handrail-proxy"')}`,
      );
      expect(ran.text).toMatch(/no:/);
      expect(await server.escaped?.(site)).toBe(false);
      undo();
    }, 30_000);
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
