import { readFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import { createServer } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { FetchOptions, Fetcher } from "../../../src/core/contract/fetch.ts";
import type { AgentOptions } from "../../../src/machine/network/agent.ts";
import { createFetcher } from "../../../src/machine/network/fetch.ts";
import { cases } from "../../support/cases.ts";
import { listening, webServer } from "../../support/web-server.ts";

const made: Fetcher[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.close()));
});

/** A fetcher that may reach these hosts of this machine, through a user's `allow_private`. */
function fetcherTo(allowPrivate: readonly string[], options: AgentOptions = {}) {
  const fetcher = createFetcher({ ...options, network: { allowPrivate } });
  made.push(fetcher);
  const permitted: string[] = [];
  const fetch = (url: string, fetchOptions: FetchOptions = {}, signal = new AbortController().signal) =>
    fetcher.fetch(url, fetchOptions, { permit: async ({ href }) => void permitted.push(href), signal });
  return { fetch, permitted };
}

const textOf = ({ body }: { body: Uint8Array }) => Buffer.from(body).toString();

describe("redirects", () => {
  test("are followed, each after a permission, at most five, and never in a circle", async () => {
    const at = await webServer(({ url = "" }, response) => {
      const left = Number(url.slice(1));
      if (url === "/circle") response.writeHead(302, { location: "/circle" });
      else if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
      response.end(`end of ${url}`);
    });
    const { fetch, permitted } = fetcherTo([at]);
    const five = await fetch(`http://${at}/5#part`);
    expect({ url: five.url, text: textOf(five), redirects: five.redirects }).toEqual({
      url: `http://${at}/0#part`,
      text: "end of /0",
      redirects: 5,
    });
    expect(permitted).toHaveLength(6);
    await expect(fetch(`http://${at}/6`)).rejects.toThrow("there are more than 5 redirects");
    await expect(fetch(`http://${at}/circle`)).rejects.toThrow("the redirects form a circle");
    expect(await fetch(`http://${at}/1`, { maxRedirects: 0 })).toMatchObject({
      status: 302,
      headers: { location: "/0" },
    });
  });

  test("to a private address are refused before anything is sent there, in every spelling", async () => {
    let hits = 0;
    const inside = await webServer((_, response) => response.end(String(++hits)));
    const port = inside.split(":")[1];
    const targets = [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `2130706433:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      "0/",
    ];
    const at = await webServer(({ url = "" }, response) => {
      response.writeHead(302, { location: `http://${targets[Number(url.slice(1))]}/` }).end();
    });
    const { fetch } = fetcherTo([at]);
    for (const index of targets.keys())
      await expect(fetch(`http://${at}/${index}`)).rejects.toThrow("URL not allowed by security policy");
    expect(hits).toBe(0);
  });

  test("send the cookies that an earlier hop has set, to their host, path and scheme, and keep none", async () => {
    const sent: (readonly [url: string, cookie: string | undefined])[] = [];
    const serve = (
      answer: (url: string, cookie: string) => { readonly [name: string]: string | string[] } | undefined,
    ) =>
      webServer(({ url = "", headers }, response) => {
        sent.push([url, headers.cookie]);
        const redirect = answer(url, headers.cookie ?? "");
        if (redirect === undefined) response.end("the article");
        else response.writeHead(302, redirect).end();
      });
    const other = await serve((url) => (url === "/o" ? { location: `http://${first}/a/2` } : undefined));
    const first: string = await serve((url, cookie) => {
      if (url === "/article")
        return cookie.includes("seen=1") ? undefined : { location: "/article", "set-cookie": "seen=1; Path=/" };
      const cookies = [
        "all=1; path=/; Max-Age=60",
        "a=2; HttpOnly",
        "b=3; Path=/b",
        "s=4; Secure",
        "d=5; Domain=com",
        "old=6",
      ];
      if (url === "/a/1") return { location: `http://localhost:${other.split(":")[1]}/o`, "set-cookie": cookies };
      const gone = "old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
      return url === "/a/2" ? { location: "/a/3", "set-cookie": [gone, "all=7; path=/"] } : undefined;
    });
    const lookup = async () => [{ address: "127.0.0.1", family: 4 }];
    const { fetch } = fetcherTo([first, `localhost:${other.split(":")[1]}`], { lookup });
    expect(textOf(await fetch(`http://${first}/article`))).toBe("the article");
    const headers = { cookie: "own=0" };
    await fetch(`http://${first}/a/1`, { headers });
    await fetch(`http://${first}/a/3`);
    expect(sent).toEqual([
      ["/article", undefined],
      ["/article", "seen=1"],
      ["/a/1", "own=0"],
      ["/o", undefined],
      ["/a/2", "a=2; old=6; all=1"],
      ["/a/3", "a=2; all=7"],
      ["/a/3", undefined],
    ]);
  });

  test("follow an address that is written in UTF-8 or Latin-1", async () => {
    const addresses: { readonly [url: string]: Buffer } = {
      "/utf-8": Buffer.from("/caf\u00e9/\u65e5\u672c"),
      "/latin-1": Buffer.from("/caf\u00e9", "latin1"),
    };
    const at = await webServer(({ url = "", socket }, response) => {
      const location = addresses[url];
      if (location === undefined) response.end(decodeURIComponent(url));
      else
        socket.end(Buffer.concat([Buffer.from("HTTP/1.1 302 Found\r\nlocation: "), location, Buffer.from("\r\n\r\n")]));
    });
    const { fetch } = fetcherTo([at]);
    expect(textOf(await fetch(`http://${at}/utf-8`))).toBe("/caf\u00e9/\u65e5\u672c");
    expect(textOf(await fetch(`http://${at}/latin-1`))).toBe("/caf\u00e9");
  });

  test("to another origin remove credentials, and keep the rest", async () => {
    const echo = await webServer(({ headers }, response) => response.end(JSON.stringify(headers)));
    const from = await webServer((_, response) => response.writeHead(307, { location: `http://${echo}/` }).end());
    const { fetch } = fetcherTo([echo, from]);
    const headers = { Authorization: "Bearer a", COOKIE: "b=c", "x-mine": "kept" };
    const got = JSON.parse(textOf(await fetch(`http://${from}/`, { headers }))) as { [name: string]: string };
    expect([got["authorization"], got["cookie"], got["x-mine"]]).toEqual([undefined, undefined, "kept"]);
    const direct = JSON.parse(textOf(await fetch(`http://me:pass%20word@${echo}/`, {}))) as { [name: string]: string };
    expect(direct["authorization"]).toBe(`Basic ${Buffer.from("me:pass word").toString("base64")}`);
  });
});

describe("host names", () => {
  test("are resolved once per connection, which goes to the address that was judged", async () => {
    const at = await webServer((_, response) => response.end("reached"));
    const port = at.split(":")[1];
    let asked = 0;
    // A different answer to every query: there must be no second query.
    const lookup = async () => [{ address: asked++ === 0 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
    const named = fetcherTo([`rebind.example:${port}`], { lookup });
    expect(textOf(await named.fetch(`http://rebind.example:${port}/`))).toBe("reached");
    expect(asked).toBe(1);
    await expect(fetcherTo([], { lookup }).fetch("http://rebind.example/")).rejects.toThrow(
      "URL not allowed by security policy: rebind.example resolves to a private address (127.0.0.2 is a loopback",
    );
  });

  test("with one private address among public ones are refused", async () => {
    const lookup = async () => [
      { address: "93.184.215.14", family: 4 },
      { address: "::1", family: 6 },
    ];
    await expect(fetcherTo([], { lookup }).fetch("http://mixed.example/")).rejects.toThrow("private address");
  });
});

test("connections are reused", async () => {
  const ports = new Set<number | undefined>();
  const at = await webServer(({ socket }, response) => {
    ports.add(socket.remotePort);
    response.end("x");
  });
  const { fetch } = fetcherTo([at]);
  for (let count = 0; count < 5; count++) await fetch(`http://${at}/`);
  expect(ports.size).toBeLessThan(3); // the second may start before the first is free again
});

const SIZE = 40_000_000;
const zeros = Buffer.alloc(SIZE);

/** One frame of blocks that each repeat a byte 131,072 times (RFC 8878). */
function zstd(blocks: number): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
  const block = (isLast: boolean) => {
    const header = (131_072 << 3) | (1 << 1) | (isLast ? 1 : 0);
    return Buffer.from([header & 0xff, (header >> 8) & 0xff, (header >> 16) & 0xff, 0x61]);
  };
  return Buffer.concat([head, ...Array.from({ length: blocks }, (_, index) => block(index === blocks - 1))]);
}

describe("content encodings", () => {
  const bombs: { readonly [path: string]: readonly [encoding: string, body: Buffer] } = {
    "/gzip": ["gzip", gzipSync(zeros, { level: 1 })],
    "/deflate": ["deflate", deflateSync(zeros, { level: 1 })],
    "/raw": ["deflate", deflateRawSync(zeros, { level: 1 })],
    "/br": ["br", brotliCompressSync(zeros, { params: { 1: 1 } })],
    "/zstd": ["zstd", zstd(100_000)],
  };
  const serve = () =>
    webServer(({ url = "" }, response) => {
      const [encoding, body] = bombs[url] ?? ["gzip", Buffer.from("no gzip")];
      response.writeHead(200, { "content-encoding": url === "/odd" ? "gzip, br" : encoding }).end(body);
    });

  test.for(Object.keys(bombs))(
    "of a bomb in %s, no more is decoded than was wanted (url-resource-067)",
    async (path) => {
      const at = await serve();
      const before = process.memoryUsage().rss;
      const { body, truncated } = await fetcherTo([at]).fetch(`http://${at}${path}`, { maxBytes: 100_000 });
      expect({ length: body.length, truncated }).toEqual({ length: 100_000, truncated: true });
      expect(process.memoryUsage().rss - before).toBeLessThan(SIZE);
    },
  );

  test("are decoded unless they are bombs, and named if they are unknown or wrong", async () => {
    const text = "words and more words ".repeat(cases(50));
    const bodies: { readonly [encoding: string]: Buffer } = {
      gzip: gzipSync(text),
      deflate: deflateRawSync(text),
      br: brotliCompressSync(text),
    };
    const at = await webServer(({ url = "" }, response) => {
      const encoding = url.slice(1);
      response.writeHead(200, { "content-encoding": encoding }).end(bodies[encoding]);
    });
    const { fetch } = fetcherTo([at]);
    for (const encoding of Object.keys(bodies)) expect(textOf(await fetch(`http://${at}/${encoding}`))).toBe(text);
    const other = await serve();
    const hostile = fetcherTo([other]);
    await expect(hostile.fetch(`http://${other}/none`)).rejects.toThrow("is not valid gzip");
    await expect(hostile.fetch(`http://${other}/odd`)).rejects.toThrow('has the content encoding "gzip, br"; expected');
  });
});

describe("a body that ends early", () => {
  const text = Array.from({ length: 30_000 }, (_, row) => `row ${(row * 7_919) % 10_007}`).join("\n");
  const inTwo = Buffer.concat([gzipSync(text.slice(0, 100_000)), gzipSync(text.slice(100_000))]);
  const half = (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length / 2));
  const table: readonly (readonly [encoding: string, whole: Buffer, part: Buffer, plain: string])[] = [
    ["gzip", gzipSync(text), half(gzipSync(text)), text],
    ["gzip", inTwo, inTwo.subarray(0, -3), text],
    ["deflate", deflateSync(text), half(deflateSync(text)), text],
    ["deflate", deflateRawSync(text), half(deflateRawSync(text)), text],
    ["br", brotliCompressSync(text), half(brotliCompressSync(text)), text],
    ["zstd", zstd(4), half(zstd(4)), "a".repeat(4 * 131_072)],
  ];

  test.each(table)("in %s is what arrived, and says so; a whole one is whole", async (encoding, whole, part, plain) => {
    const at = await webServer(({ url }, response) => {
      response.writeHead(200, { "content-encoding": encoding }).end(url === "/" ? whole : part);
    });
    const { fetch } = fetcherTo([at]);
    const complete = await fetch(`http://${at}/`);
    expect([textOf(complete) === plain, complete.incomplete]).toEqual([true, undefined]);
    const partial = await fetch(`http://${at}/part`);
    expect(partial.incomplete).toBe(`the body ends in the middle of its ${encoding}, its content encoding`);
    expect([partial.body.length > 0, plain.startsWith(textOf(partial))]).toEqual([true, true]);
  });

  test("with its connection, or has not ended in time, is what arrived; without a byte it fails", async () => {
    const at = await webServer(({ url }, response) => {
      response.writeHead(200, url === "/cut" || url === "/none" ? { "content-length": 100 } : {});
      if (url !== "/none" && url !== "/silent") response.write("its beginning");
      if (url === "/cut" || url === "/none") response.flushHeaders();
      if (url === "/cut" || url === "/none") setImmediate(() => response.destroy());
      else response.flushHeaders();
    });
    const { fetch } = fetcherTo([at]);
    const [cut, endless] = [await fetch(`http://${at}/cut`), await fetch(`http://${at}/endless`, { timeoutMs: 300 })];
    expect([textOf(cut), textOf(endless)]).toEqual(["its beginning", "its beginning"]);
    expect(cut.incomplete).toBe(`${at} closed the connection before its response was complete`);
    expect(endless.incomplete).toBe(`http://${at}/endless did not answer completely within 0.3 s`);
    await expect(fetch(`http://${at}/none`)).rejects.toThrow("closed the connection before");
    await expect(fetch(`http://${at}/silent`, { timeoutMs: 300 })).rejects.toThrow("did not answer completely");
  });

  test("as a stream of events is what arrived soon, and says that it does not end; one that ends is whole", async () => {
    const at = await webServer(({ url }, response) => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      response.write("data: one\n\n");
      if (url === "/ends") response.end();
    });
    const { fetch } = fetcherTo([at]);
    const [endless, ended] = await Promise.all([fetch(`http://${at}/endless`), fetch(`http://${at}/ends`)]);
    expect([textOf(endless), textOf(ended), ended.incomplete]).toEqual(["data: one\n\n", "data: one\n\n", undefined]);
    expect(endless.incomplete).toBe(
      `http://${at}/endless is a stream of events that does not end; it was read for 2 s`,
    );
  });

  test.each(["gzip", "deflate", "br", "zstd"])("and has no byte is empty, whatever %s is", async (encoding) => {
    const at = await webServer((_, response) => void response.writeHead(200, { "content-encoding": encoding }).end());
    expect(await fetcherTo([at]).fetch(`http://${at}/`)).toMatchObject({ status: 200, body: { length: 0 } });
  });

  test("and is no zstd at all fails", async () => {
    const at = await webServer(({ url = "" }, response) => {
      response.writeHead(200, { "content-encoding": "zstd" }).end(url === "/x" ? "x" : "<p>plain text, not zstd");
    });
    const { fetch } = fetcherTo([at]);
    await expect(fetch(`http://${at}/x`)).rejects.toThrow("the body ends in the middle of its zstd");
    await expect(fetch(`http://${at}/text`)).rejects.toThrow("the body is not valid zstd");
  });
});

describe("a hostile server", () => {
  test("that never ends its body, or its headers, is cut off", async () => {
    const endless = await webServer((_, response) => {
      const more = (): void =>
        void (
          response.destroyed || (response.write("x".repeat(10_000)) ? setImmediate(more) : response.once("drain", more))
        );
      more();
    });
    const cut = await fetcherTo([endless]).fetch(`http://${endless}/`, { maxBytes: 1_000_000 });
    expect({ length: cut.body.length, truncated: cut.truncated }).toEqual({ length: 1_000_000, truncated: true });
    const slow = await listening(
      createServer((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        const drip = setInterval(() => socket.write("a"), 20);
        socket.once("close", () => clearInterval(drip));
      }),
    );
    const url = `http://${slow}/`;
    await expect(fetcherTo([slow]).fetch(url, { timeoutMs: 300 })).rejects.toThrow(
      `${url} did not answer completely within 0.3 s`,
    );
  });

  test("with huge headers, without HTTP, or that hangs up is described as such", async () => {
    const raw = (text: string) => listening(createServer((socket) => void socket.end(text)));
    const huge = await raw(`HTTP/1.1 200 OK\r\nx-big: ${"y".repeat(20_000)}\r\n\r\n`);
    await expect(fetcherTo([huge]).fetch(`http://${huge}/`)).rejects.toThrow("sent headers of more than 16KB");
    const other = await raw("220 mail.example ESMTP\r\n");
    await expect(fetcherTo([other]).fetch(`http://${other}/`)).rejects.toThrow("does not speak HTTP");
    const short = await raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n");
    await expect(fetcherTo([short]).fetch(`http://${short}/`)).rejects.toThrow("closed the connection before");
  });

  test("with a self-signed certificate gets nothing", async () => {
    const pem = (name: string) => readFileSync(new URL(`../../fixtures/web/${name}.pem`, import.meta.url));
    let hits = 0;
    const at = await listening(
      createTlsServer({ key: pem("key"), cert: pem("certificate") }, (_, response) => response.end(String(++hits))),
    );
    await expect(fetcherTo([at]).fetch(`https://${at}/`)).rejects.toThrow("its certificate is self-signed");
    expect(hits).toBe(0);
  });

  test("is disconnected when the call is stopped", async () => {
    const at = await webServer(() => undefined);
    const stop = new AbortController();
    const fetching = fetcherTo([at]).fetch(`http://${at}/`, {}, stop.signal);
    stop.abort(new Error("stopped by a test"));
    await expect(fetching).rejects.toThrow("stopped by a test");
  });
});
