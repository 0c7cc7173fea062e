// What leaves a sandbox: well-behaved and hostile clients on the proxy's own socket, real servers on this machine
// behind it.
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../support/workspace.ts";
import { until } from "../../support/until.ts";
import { exchange, proxyWith, rawServer, talkTo, webServer } from "./way-out.ts";

const HERE: readonly LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];

/** Options of a proxy that reaches a name which is really this machine. */
const inside = (host: string, port: number) => ({
  hosts: [`${host}:${port}`],
  network: { allowPrivate: [`${host}:${port}`] },
  lookup: () => Promise.resolve(HERE),
});

const get = (url: string, ...headers: readonly string[]) =>
  `GET ${url} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join("")}Connection: close\r\n\r\n`;

describe("an allowed host is reached", () => {
  test("a plain request arrives with its path as written, its own headers, and the target's host", async () => {
    const heard: string[] = [];
    const port = await webServer((request, response) => {
      heard.push(`${request.method} ${request.url}`, ...request.rawHeaders);
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      response.end("hello");
    });
    const proxy = await proxyWith(inside("one.test", port));

    const answer = await exchange(
      proxy.socket,
      get(
        `http://one.test:${port}/@a%2fb/../c?q=1`,
        "Host: other.test",
        "X-One: 1",
        "Proxy-Authorization: Basic eA==",
        "Keep-Alive: 5",
      ),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain("hello");
    expect(answer.match(/set-cookie: \w=\d/gi)).toHaveLength(2);
    expect(heard[0]).toBe("GET /@a%2fb/../c?q=1");
    expect(heard).toContain(`one.test:${port}`);
    expect(heard.join("\n").toLowerCase()).not.toMatch(/other\.test|proxy-authorization|keep-alive/);
    expect(proxy.refused()).toEqual([]);
  });

  test("bodies are passed completely, chunked or of known length, in sequence on one connection", async () => {
    const port = await webServer((request, response) => void request.pipe(response));
    const proxy = await proxyWith(inside("one.test", port));
    const url = `http://one.test:${port}/`;
    const long = "x".repeat(3_000_000);

    const answer = await exchange(
      proxy.socket,
      `POST ${url} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n`,
      `PUT ${url} HTTP/1.1\r\nContent-Length: ${long.length}\r\n\r\n${long}`,
      `POST ${url} HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\nthird`,
    );

    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
    expect(answer).toContain("first");
    expect(answer).toContain("third");
    expect(answer.split("x").length).toBeGreaterThan(long.length);
  });

  test("a tunnel passes anything, and an end of one side leaves the other open", async () => {
    const port = await rawServer((socket) => {
      let heard = "";
      socket.setEncoding("utf8").on("data", (text: string) => (heard += text));
      socket.on("end", () => socket.end(`got ${heard}`));
    });
    const proxy = await proxyWith(inside("one.test", port));
    const client = talkTo(proxy.socket);

    client.socket.write(`CONNECT one.test:${port} HTTP/1.1\r\n\r\nsent with it,`);
    await until("the tunnel is there", () => client.heard().includes("\r\n\r\n"));
    client.socket.end(" and after");
    await once(client.socket, "close");

    expect(client.heard()).toBe("HTTP/1.1 200 Connection established\r\n\r\ngot sent with it, and after");
  });

  test("a slow reader slows down the writer, and does not fill memory", async () => {
    let written = 0;
    const port = await rawServer((socket) => {
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        while (written < 500_000_000) {
          written += chunk.length;
          if (!socket.write(chunk)) return void socket.once("drain", more);
        }
      };
      more();
    });
    const proxy = await proxyWith(inside("one.test", port));
    const client = talkTo(proxy.socket);
    client.socket.write(`CONNECT one.test:${port} HTTP/1.1\r\n\r\n`);
    await until("it flows", () => client.heard().length > 0);
    client.socket.pause();

    let before = -1;
    await until("the writer waits", async () => {
      const isStill = before === written;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return isStill;
    });
    expect(written).toBeLessThan(50_000_000);
    client.socket.destroy();
  });

  test("a connection that is aborted on one side is closed on the other", async () => {
    let outside: { readonly destroyed: boolean } | undefined;
    const port = await rawServer((socket) => {
      outside = socket.resume();
      const talking = setInterval(() => socket.write("still there?"), 20);
      socket.once("close", () => clearInterval(talking));
    });
    const proxy = await proxyWith(inside("one.test", port));
    const client = talkTo(proxy.socket);
    client.socket.write(`CONNECT one.test:${port} HTTP/1.1\r\n\r\n`);
    await until("it is joined", () => outside !== undefined && client.heard().includes("200"));
    client.socket.destroy();
    await until("the other side is closed", () => outside?.destroyed);
    expect(proxy.refused()).toEqual([]);
  });

  test("a partial response is cut off, never completed", async () => {
    const port = await rawServer((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        setTimeout(() => socket.destroy(), 50);
      });
    });
    const proxy = await proxyWith(inside("one.test", port));
    const answer = await exchange(proxy.socket, get(`http://one.test:${port}/`));
    expect(answer).toContain("hello");
    expect(answer).not.toContain("\r\n0\r\n");
  });

  test("an upgraded connection passes what follows", async () => {
    const port = await rawServer((socket) => {
      socket.once("data", (head: Buffer) => {
        expect(head.toString()).toMatch(/upgrade: websocket/i);
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst,");
        socket.on("data", (text: Buffer) => socket.end(`echo ${text.toString()}`));
      });
    });
    const proxy = await proxyWith(inside("one.test", port));
    const client = talkTo(proxy.socket);
    client.socket.write(`GET http://one.test:${port}/ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    await until("it is upgraded", () => client.heard().includes("first,"));
    client.socket.end("ping");
    await once(client.socket, "close");
    expect(client.heard()).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\n[^]*upgrade: websocket[^]*first,echo ping$/i,
    );
  });

  test("an upgrade that the server refuses gets its ordinary response", async () => {
    const port = await webServer((_request, response) => void response.end("no such thing"));
    const proxy = await proxyWith(inside("one.test", port));
    const answer = await exchange(
      proxy.socket,
      `GET http://one.test:${port}/ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain("no such thing");
  });

  test("of several addresses the one that answers is used", async () => {
    const port = await webServer((_request, response) => void response.end("here"));
    // only to find a port that is unused on 127.0.0.2
    const dead = await rawServer(() => undefined, "127.0.0.3");
    expect(dead).not.toBe(port);
    const proxy = await proxyWith({
      ...inside("one.test", port),
      lookup: () => Promise.resolve([{ address: "127.0.0.2", family: 4 }, ...HERE]),
    });
    expect(await exchange(proxy.socket, get(`http://one.test:${port}/`))).toContain("here");
  });
});

describe("a host that was not allowed is refused, in words, and recorded", () => {
  test("an empty list allows nothing, never everything", async () => {
    const lookups: string[] = [];
    const proxy = await proxyWith({ hosts: [], lookup: (name) => (lookups.push(name), Promise.resolve(HERE)) });
    const answer = await exchange(proxy.socket, "CONNECT registry.example.org:443 HTTP/1.1\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 403 Refused by Handrail\r\n/);
    expect(answer).toContain("The sandbox refused registry.example.org:443");
    expect(answer).toContain('network: ["registry.example.org"]; a person is asked');
    expect(await exchange(proxy.socket, get("http://example.org:8080/"))).toContain('network: ["example.org:8080"]');
    expect(proxy.refused()).toEqual([{ host: "registry.example.org:443" }, { host: "example.org:8080" }]);
    expect(lookups).toEqual([]);
  });

  const PUBLIC = ["allowed.example", "*.below.example", "port.example:8443"];
  test.for<[target: string, hosts: readonly string[], what: string]>([
    ["other.example:443", PUBLIC, "nobody"],
    ["below.example:443", PUBLIC, "nobody"],
    ["allowed.example:22", PUBLIC, "nobody"],
    ["allowed.example:8443", PUBLIC, "nobody"],
    ["port.example:443", PUBLIC, "nobody"],
    ["allowed.example.evil.example:443", PUBLIC, "nobody"],
    ["denied.example:443", ["*", "denied.example"], "deny_hosts"],
    ["anything.example:25", ["*"], "nobody"],
    ["127.0.0.1:443", ["*"], "loopback"],
    ["127.0.0.1:443", ["127.0.0.1"], "loopback"],
    ["127.1:443", ["*"], "loopback"],
    ["2130706433:443", ["*"], "loopback"],
    ["0x7f000001:443", ["*"], "loopback"],
    ["0177.0.0.1:443", ["*"], "loopback"],
    ["[::1]:443", ["*"], "loopback"],
    ["[::ffff:127.0.0.1]:443", ["*"], "loopback"],
    ["[::127.0.0.1]:443", ["*"], "unassigned IPv6"],
    ["169.254.169.254:80", ["*"], "link-local"],
    ["10.0.0.1:80", ["*"], "private"],
    ["0:80", ["*"], "this machine"],
    ["localhost:80", ["*"], "a local name"],
    ["metadata.google.internal:80", ["*"], "a local name"],
    ["xn--80ak6aa92e.com:443", ["*"], "looks like another name"],
    ["office.example:443", ["*"], "private address"],
    ["office.example:443", ["office.example"], "private address"],
    ["mixed.example:443", ["mixed.example"], "private address"],
    ["mine.example:443", ["*"], "private address"],
  ])("CONNECT %s with %j: %s", async ([target, hosts, what]) => {
    const addresses: { [name: string]: readonly string[] } = {
      "office.example": ["10.1.2.3"],
      "mixed.example": ["93.184.216.34", "127.0.0.1"],
      "mine.example": ["127.0.0.1"],
    };
    const proxy = await proxyWith({
      hosts,
      network: { denyHosts: ["denied.example"], allowPrivate: ["mine.example"] },
      lookup: (name) =>
        Promise.resolve((addresses[name] ?? ["93.184.216.34"]).map((address) => ({ address, family: 4 }))),
    });
    const plain = await exchange(proxy.socket, get(`http://${target}/`));
    const tunnelled = await exchange(proxy.socket, `CONNECT ${target} HTTP/1.1\r\n\r\n`);
    for (const answer of [plain, tunnelled]) {
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain(what === "nobody" ? "does not name this host" : what);
    }
    expect(proxy.refused()).toHaveLength(1);
    expect(proxy.refused()[0]?.reason === undefined).toBe(what === "nobody");
  });

  test("a name is resolved once per connection, and exactly the result is connected to", async () => {
    const good = await webServer((_request, response) => void response.end("good"));
    await webServer((_request, response) => void response.end("evil"), "127.0.0.2", good);
    let lookups = 0;
    const proxy = await proxyWith({
      ...inside("one.test", good),
      lookup: () => Promise.resolve([{ address: lookups++ === 0 ? "127.0.0.1" : "127.0.0.2", family: 4 }]),
    });
    expect(await exchange(proxy.socket, get(`http://one.test:${good}/`))).toContain("good");
    expect(lookups).toBe(1);
  });

  test("a missing name is no refusal, and the response says so", async () => {
    const proxy = await proxyWith({
      hosts: ["*"],
      lookup: () => Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })),
    });
    const answer = await exchange(proxy.socket, "CONNECT nowhere.example:443 HTTP/1.1\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 502 [^]*could not reach nowhere\.example:443: there is no such host/);
    expect(proxy.refused()).toEqual([]);
  });

  test("a port without a listener is a response too", async () => {
    const proxy = await proxyWith(inside("one.test", 9));
    expect(await exchange(proxy.socket, get("http://one.test:9/"))).toMatch(/^HTTP\/1\.1 502 [^]*ECONNREFUSED/);
  });
});

describe("hostile clients", () => {
  test("two hosts on one connection are judged separately", async () => {
    const port = await webServer((_request, response) => void response.end("allowed"));
    const proxy = await proxyWith(inside("one.test", port));
    const answer = await exchange(
      proxy.socket,
      `GET http://one.test:${port}/ HTTP/1.1\r\n\r\nGET http://two.test:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403"]);
    expect(proxy.refused()).toEqual([{ host: `two.test:${port}` }]);
  });

  test.for([
    ["two lengths", "Content-Length: 4\r\nContent-Length: 44\r\n\r\nabcd"],
    ["a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["chunks that are not the last coding", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"],
    ["a length with a sign", "Content-Length: +4\r\n\r\nabcd"],
    ["a bare line feed", "X: 1\nContent-Length: 4\n\nabcd"],
    ["a space before the colon", "Content-Length : 4\r\n\r\nabcd"],
    ["a folded header", "X: 1\r\n Content-Length: 4\r\n\r\nabcd"],
    ["a bad chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\nabcd\r\n0\r\n\r\n"],
  ])("a request with %s smuggles nothing past the first", async ([, rest]) => {
    const seen: string[] = [];
    const port = await webServer((request, response) => {
      seen.push(request.url ?? "");
      request.resume().on("end", () => response.end("x"));
    });
    const proxy = await proxyWith(inside("one.test", port));
    await exchange(
      proxy.socket,
      `POST http://one.test:${port}/outer HTTP/1.1\r\n${rest}GET /smuggled HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n`,
    );
    expect(seen).not.toContain("/smuggled");
  });

  test.for([
    "GET / HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n",
    "GET ftp://one.test/ HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET https://one.test/ HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET http://user:secret@one.test/ HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET http:/// HTTP/1.1\r\nConnection: close\r\n\r\n",
    "CONNECT one.test HTTP/1.1\r\n\r\n",
    "CONNECT one.test:99999 HTTP/1.1\r\n\r\n",
    "CONNECT http://one.test:80/ HTTP/1.1\r\n\r\n",
    "CONNECT user@one.test:80 HTTP/1.1\r\n\r\n",
    "CONNECT %6fne.test:80 HTTP/1.1\r\n\r\n",
    "nonsense\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "GET http://one.test/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nabc",
  ])("%j is answered with what is expected", async (text) => {
    const proxy = await proxyWith({ hosts: ["one.test"] });
    expect(await exchange(proxy.socket, text)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]+\.\n$/);
  });

  test("a megabyte of headers is cut off", async () => {
    const proxy = await proxyWith({ hosts: ["one.test"] });
    const answer = await exchange(proxy.socket, get("http://one.test/", `X: ${"y".repeat(1_048_576)}`));
    expect(answer).toMatch(/^HTTP\/1\.1 431 [^]*16 KiB/);
  });

  test("endless headers are cut off in time", async () => {
    const proxy = await proxyWith({ hosts: ["one.test"], headersTimeoutMs: 200 });
    const client = talkTo(proxy.socket);
    client.socket.write("GET http://one.test/ HTTP/1.1\r\n");
    const dripping = setInterval(() => client.socket.write("X: y\r\n"), 20);
    await until("it is answered", () => client.heard() !== "");
    clearInterval(dripping);
    expect(client.heard()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a tunnel requested after an unanswered request breaks nothing", async () => {
    const port = await rawServer((socket) => socket.resume());
    const proxy = await proxyWith(inside("one.test", port));
    const client = talkTo(proxy.socket);
    client.socket.write(`GET http://one.test:${port}/ HTTP/1.1\r\n\r\nCONNECT two.test:443 HTTP/1.1\r\n\r\n`);
    await until("the second is refused", () => proxy.refused().length === 1);
    client.socket.destroy();
    expect(await exchange(proxy.socket, get("http://three.test/"))).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("a response with invalid headers becomes a 502", async () => {
    const port = await rawServer((socket) => void socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9.2\r\n")));
    const proxy = await proxyWith(inside("one.test", port));
    expect(await exchange(proxy.socket, get(`http://one.test:${port}/`))).toMatch(/^HTTP\/1\.1 502 /);
  });

  test("more refused hosts than anybody reads are dropped", async () => {
    const proxy = await proxyWith({ hosts: [] });
    const requests = Array.from({ length: 150 }, (_, index) => `GET http://h${index}.example/ HTTP/1.1\r\n\r\n`);
    await exchange(proxy.socket, requests.join(""), get("http://last.example/"));
    expect(proxy.refused()).toHaveLength(100);
  });
});

describe("an upstream proxy of the user", () => {
  /** A proxy like those of offices: it requires a password, and resolves names itself. */
  const office = async () => {
    const asked: string[] = [];
    const target = await webServer((_request, response) => void response.end("outside"));
    const port = await rawServer((socket) => {
      socket.once("data", (bytes: Buffer) => {
        const text = bytes.toString();
        asked.push(text.split("\r\n")[0] ?? "", /proxy-authorization: .*/i.exec(text)?.[0] ?? "none");
        if (text.startsWith("CONNECT closed")) return void socket.end("HTTP/1.1 407 Who are you\r\n\r\n");
        if (text.startsWith("CONNECT")) socket.write("HTTP/1.1 200 Yes\r\n\r\n");
        if (text.startsWith("CONNECT")) socket.once("data", () => socket.end("tunnelled"));
        else socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nforwarded");
      });
    });
    return { asked, target, url: `http://me:s%40crit@127.0.0.1:${port}` };
  };

  test("is used for allowed names, with its password, and resolves them", async () => {
    const { asked, url } = await office();
    const proxy = await proxyWith({
      hosts: ["one.example", "closed.example"],
      lookup: () => Promise.reject(new Error("nothing is looked up here")),
      environment: { https_proxy: url, HTTP_PROXY: url },
    });
    expect(await exchange(proxy.socket, get("http://one.example/a"))).toContain("forwarded");
    expect(await exchange(proxy.socket, "CONNECT one.example:443 HTTP/1.1\r\n\r\nhello")).toContain("tunnelled");
    expect(await exchange(proxy.socket, "CONNECT closed.example:443 HTTP/1.1\r\n\r\n")).toMatch(
      /502 [^]*answered 407 Who are you/,
    );
    const authorization = `Proxy-Authorization: Basic ${Buffer.from("me:s@crit").toString("base64")}`.toLowerCase();
    expect(asked.map((line) => line.toLowerCase())).toEqual([
      "get http://one.example/a http/1.1",
      authorization,
      "connect one.example:443 http/1.1",
      authorization,
      "connect closed.example:443 http/1.1",
      authorization,
    ]);
  });

  test("gets nothing of what is refused here, including private addresses", async () => {
    const { asked, url } = await office();
    const proxy = await proxyWith({
      hosts: ["*"],
      network: { denyHosts: ["evil.example"] },
      environment: { ALL_PROXY: url },
    });
    for (const target of ["10.0.0.1:443", "evil.example:443", "intranet:443"]) {
      expect(await exchange(proxy.socket, `CONNECT ${target} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect(asked).toEqual([]);
  });

  test("is bypassed where NO_PROXY says so, and for this machine", async () => {
    const { asked, target, url } = await office();
    const names = ["one.test", "a.below.test", `port.test:${target}`, "localhost"];
    const proxy = await proxyWith({
      hosts: names,
      network: { allowPrivate: names, ports: [target] },
      lookup: () => Promise.resolve(HERE),
      environment: { HTTP_PROXY: url, NO_PROXY: `one.test, .below.test,port.test:${target}` },
    });
    for (const name of ["one.test", "a.below.test", "port.test", "localhost"]) {
      expect(await exchange(proxy.socket, get(`http://${name}:${target}/`))).toContain("outside");
    }
    expect(asked).toEqual([]);
  });

  test("that cannot be used is reported before anything runs, without its password", async () => {
    const starting = proxyWith({ hosts: ["*"], environment: { HTTPS_PROXY: "socks5://me:secret@127.0.0.1:1080" } });
    await expect(starting).rejects.toThrow(
      /HTTPS_PROXY: expected the URL of a proxy.*got "socks5:\/\/\*\*\*@127\.0\.0\.1:1080"/,
    );
  });
});

describe("the socket", () => {
  test("is private, and is removed with all connections after close", async () => {
    const folder = temporaryFolder();
    const port = await rawServer((socket) => socket.resume());
    const proxy = await proxyWith({ ...inside("one.test", port), folder });
    expect(statSync(proxy.socket).mode & 0o777).toBe(0o600);
    expect(statSync(join(proxy.socket, "..")).mode & 0o777).toBe(0o700);
    const client = talkTo(proxy.socket);
    client.socket.once("end", () => client.socket.end());
    client.socket.write(`CONNECT one.test:${port} HTTP/1.1\r\n\r\n`);
    await until("it is joined", () => client.heard().includes("200"));

    await proxy.close();
    await until("the client is hung up on", () => client.socket.destroyed);
    expect(readdirSync(folder)).toEqual([]);
    await proxy.close();
  });

  test("has a short name even if the folder's is long", async () => {
    const proxy = await proxyWith({ hosts: [], folder: join(temporaryFolder(), "x".repeat(150)) });
    expect(Buffer.byteLength(proxy.socket)).toBeLessThanOrEqual(107);
    expect(await exchange(proxy.socket, get("http://one.example/"))).toMatch(/403/);
  });

  test("an invalid rule is reported by name", async () => {
    await expect(proxyWith({ hosts: ["https://one.example/"] })).rejects.toThrow(/network: expected a host/);
  });
});
