import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeAddress, judgeHost } from "../../../src/machine/network/address.ts";
import { hostRule } from "../../../src/machine/network/hosts.ts";
import type { NetworkSettings } from "../../../src/machine/network/network-settings.ts";
import { urlJudge } from "../../../src/machine/network/url.ts";

const judgeUrl = (url: string, settings: NetworkSettings = {}) => urlJudge(settings)(url);
const verdict = (url: string, settings?: NetworkSettings) => judgeUrl(url, settings).verdict;

const reason = (url: string, settings?: NetworkSettings) => {
  const judged = judgeUrl(url, settings);
  return judged.verdict === "refused" ? `${judged.rule}: ${judged.reason}` : judged.verdict;
};

describe("an address is public or refused", () => {
  test.for([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:82a::200e",
    "::ffff:8.8.8.8",
  ])("%s is public", (address) => {
    expect(judgeAddress(address)).toBeUndefined();
  });

  test.for([
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["0.0.0.0", "this machine"],
    ["0.1.2.3", "this machine"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["169.254.169.254", "link-local"],
    ["100.64.0.1", "provider"],
    ["100.100.100.200", "provider"],
    ["168.63.129.16", "cloud"],
    ["::ffff:168.63.129.16", "cloud"],
    ["192.0.0.192", "reserved"],
    ["192.0.2.1", "reserved"],
    ["198.18.0.1", "reserved"],
    ["198.51.100.1", "reserved"],
    ["203.0.113.1", "reserved"],
    ["224.0.0.1", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "broadcast"],
    ["::", "this machine"],
    ["::1", "loopback"],
    ["::127.0.0.1", "unassigned IPv6"],
    ["::a00:1", "unassigned IPv6"],
    ["::8.8.8.8", "unassigned IPv6"],
    ["::ffff:10.0.0.1%eth0", "private"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:0:127.0.0.1", "translator"],
    ["64:ff9b::7f00:1", "NAT64"],
    ["64:ff9b:1::a00:1", "NAT64"],
    ["2002:7f00:1::", "6to4"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fec0::1", "private"],
    ["fc00::1", "private"],
    ["fd00:ec2::254", "private"],
    ["ff02::1", "multicast"],
    ["100::1", "reserved"],
    ["2001:db8::1", "reserved"],
    ["3fff::1", "reserved"],
    ["5f00::1", "special use"],
    ["4000::1", "unassigned IPv6"],
    ["example.org", "no address"],
    ["", "no address"],
    ["1.2.3.4.5", "no address"],
  ] as const)("%s is not, and it is said why: %s", ([address, why]) => {
    expect(judgeAddress(address)).toContain(why);
  });

  test("a name with an address that is not public is refused, and so is one without addresses", () => {
    expect(judgeHost(["1.1.1.1", "2606:4700:4700::1111"])).toBeUndefined();
    expect(judgeHost(["1.1.1.1", "127.0.0.1"])).toBe("127.0.0.1 is a loopback address, this machine itself");
    expect(judgeHost([])).toBe("it has no address");
  });
});

describe("a URL", () => {
  test.for([
    "https://example.com/",
    "http://example.com",
    "https://api.github.com/search?q=a+b#x",
    "https://8.8.8.8/",
    "https://EXAMPLE.com./",
  ])("%s is reachable", (url) => {
    expect(verdict(url)).toBe("reachable");
  });

  test.for([
    [
      "ftp://example.org/",
      "url: URL not allowed by security policy: ftp: is not supported. Use a URL that starts with https:// or http://",
    ],
    [
      "example.org",
      'url: URL not allowed by security policy: "example.org" is not a URL. Use one that starts with https:// or http://',
    ],
    [
      "http://example.org:25/",
      'port: URL not allowed by security policy: port 25 is not allowed (only 80, 443). To allow it, add "example.org:25" to allow_hosts.',
    ],
    [
      "http://[::1]:3000/",
      'private_address: URL not allowed by security policy: ::1 is a loopback address, this machine itself, and only public hosts are allowed. To allow it, add "[::1]:3000" to allow_private.',
    ],
    [
      "http://router/",
      'private_address: URL not allowed by security policy: router has no dot in it, so it is a local name, and only public hosts are allowed. To allow it, add "router" to allow_private.',
    ],
  ] as const)("%s is refused, with what would be accepted", ([url, said]) => {
    expect(reason(url)).toBe(said);
  });

  test("of unbounded length is refused", () => {
    expect(reason(`https://example.org/${"a".repeat(9_000)}`)).toContain("longer than 8192 characters");
  });

  test.for([
    "http://localhost/",
    "http://LOCALHOST./",
    "http://localhost../",
    "http://a.localhost/",
    "http://printer.local/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://metadata/",
    "http://host.docker.internal/",
    "http://kubernetes.default.svc/",
    "http://ｌｏｃａｌｈｏｓｔ/",
    "http://loc%61lhost/",
    "http://nas.home.arpa/",
    "http://.local/",
  ])("%s names something inside and is refused", (url) => {
    expect(reason(url)).toMatch(/^private_address: /);
  });

  test("whose name looks like another is suspect, in its own letters or not", () => {
    expect(judgeUrl("https://аррӏе.com/")).toMatchObject({
      verdict: "reachable",
      doubt: "xn--80ak6aa92e.com is displayed as аррӏе.com, which looks like another name",
    });
    expect(judgeUrl("https://xn--pple-43d.com/")).toHaveProperty("doubt");
    for (const honest of ["https://bücher.example/", "https://例え.jp/", "https://пример.рф/"]) {
      expect(judgeUrl(honest)).not.toHaveProperty("doubt");
    }
  });
});

describe("host rules", () => {
  test("name one host, or all below one; deny wins", () => {
    const judge = urlJudge({ allowHosts: ["example.org", "*.example.net"], denyHosts: ["bad.example.net"] });
    expect(judge("https://example.org/")).toMatchObject({ verdict: "named", rule: "example.org", private: false });
    expect(judge("https://EXAMPLE.org./").verdict).toBe("named");
    expect(judge("https://a.example.org/").verdict).toBe("reachable");
    expect(judge("https://a.b.example.net/").verdict).toBe("named");
    expect(judge("https://example.net/").verdict).toBe("reachable");
    expect(judge("https://notexample.net/").verdict).toBe("reachable");
    expect(judge("https://bad.example.net/")).toMatchObject({ verdict: "refused", rule: "deny_hosts" });
    expect(judge("https://example.org@evil.example/").verdict).toBe("reachable"); // the host is evil.example
  });

  test("name no host if there are none", () => {
    expect(verdict("https://example.org/", { allowHosts: [] })).toBe("reachable");
  });

  test("allow only public addresses", () => {
    expect(verdict("http://localhost/", { allowHosts: ["localhost"] })).toBe("refused");
    expect(verdict("http://127.0.0.1/", { allowHosts: ["127.0.0.1"] })).toBe("refused");
  });

  test("with allow_private open what it names, in any spelling, and nothing else", () => {
    const settings = { allowPrivate: ["localhost:3000", "10.0.0.7", "*.corp", "[fd00::1]"] };
    expect(judgeUrl("http://localhost:3000/", settings)).toMatchObject({ verdict: "reachable", private: true });
    expect(judgeUrl("http://0xa.7/", settings)).toMatchObject({ verdict: "reachable", private: true });
    expect(verdict("http://wiki.corp/", settings)).toBe("reachable");
    expect(verdict("http://[FD00:0::1]/", settings)).toBe("reachable");
    expect(verdict("http://localhost/", settings)).toBe("refused");
    expect(verdict("http://localhost:3001/", settings)).toBe("refused");
    expect(verdict("http://127.0.0.1:3000/", settings)).toBe("refused");
    expect(reason("http://10.0.0.7:8080/", settings)).toContain('add "10.0.0.7:8080" to allow_private');
  });

  test("with ports open them for all hosts, or for one", () => {
    expect(verdict("http://example.org:8080/", { ports: [8080] })).toBe("reachable");
    expect(verdict("http://example.org:8080/", { allowHosts: ["example.org", "example.org:8080"] })).toBe("named");
    expect(verdict("http://example.org:8080/", { allowHosts: ["example.org"] })).toBe("refused");
    expect(verdict("https://example.org/", { denyHosts: ["example.org:80"] })).toBe("reachable");
  });

  test.for([
    "",
    "*",
    "*.",
    "a*.org",
    "https://a.org",
    "a.org/",
    "a b",
    "*.10.0.0.1",
    "a.org:",
    "u@a.org",
    "a.org:99999",
    "[::1",
    "a.org?x",
  ])("%j is none", (text) => {
    expect(hostRule(text)).toContain("expected a host");
    expect(() => urlJudge({ denyHosts: [text] })).toThrow(/^network\.denyHosts: expected a host/);
  });
});

/**
 * Returns every spelling of an IPv4 address that a URL parser accepts: 1 to 4 parts, each decimal, octal or
 * hexadecimal.
 */
function spellings(address: number): fc.Arbitrary<string> {
  const bytes = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
  const part = (value: number) =>
    fc.constantFrom(
      String(value),
      `0x${value.toString(16)}`,
      `0X${value.toString(16).toUpperCase()}`,
      `0${value.toString(8)}`,
      `0x000${value.toString(16)}`,
    );
  const parts = [[address >>> 0], [bytes[0]!, address & 0xffffff], [bytes[0]!, bytes[1]!, address & 0xffff], bytes].map(
    (values) => fc.tuple(...values.map(part)).map((each) => each.join(".")),
  );
  const fullWidth = (text: string) =>
    text.replaceAll(/[0-9a-zA-Z.]/g, (each) => String.fromCodePoint(each.charCodeAt(0) + 0xfee0));
  return fc
    .tuple(fc.oneof(...parts), fc.boolean(), fc.boolean())
    .map(([text, wide, dot]) => `${wide ? fullWidth(text) : text}${dot ? "." : ""}`);
}

function mapped(address: number): fc.Arbitrary<string> {
  const high = (address >>> 16).toString(16);
  const low = (address & 0xffff).toString(16);
  const dotted = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
  return fc.constantFrom(
    `[::ffff:${dotted}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${dotted}]`,
    `[64:ff9b::${dotted}]`,
    `[2002:${high}:${low}::1]`,
  );
}

/** First address and prefix length of blocks that are not public. */
const BLOCKS = [
  [0x7f000000, 8],
  [0x0a000000, 8],
  [0xac100000, 12],
  [0xc0a80000, 16],
  [0xa9fe0000, 16],
  [0x64400000, 10],
  [0x00000000, 8],
  [0xe0000000, 4],
  [0xf0000000, 4],
  [0xc6120000, 15],
] as const;

const hidden = fc
  .tuple(fc.constantFrom(...BLOCKS), fc.nat(0xffffffff))
  .map(([[base, length], any]) => (base | (any & (0xffffffff >>> length))) >>> 0);

test("a private address is refused in any spelling", () => {
  const host = hidden.chain((address) => fc.oneof(spellings(address), mapped(address)));
  const form = fc.constantFrom("http://", "https://", "HTTP:\\\\", "http:/", "\thttp://", "http:///");
  fc.assert(
    fc.property(
      form,
      host,
      fc.constantFrom("", "/", ":80/", "/x?y=@example.org", "#@example.org", "\\@example.org"),
      (scheme, at, rest) => {
        const url = `${scheme}${at}${rest}`;
        expect(judgeUrl(url).verdict, url).toBe("refused");
      },
    ),
    { numRuns: 2_000 },
  );
});

test("no text makes the judge throw, and everything it allows is a public web address", () => {
  const text = fc.oneof(
    fc.webUrl(),
    fc.string({ unit: "binary" }),
    fc.string().map((each) => `http://${each}`),
  );
  fc.assert(
    fc.property(text, (url) => {
      const judged = judgeUrl(url);
      if (judged.verdict === "refused") return;
      expect(["http:", "https:"]).toContain(judged.url.protocol);
    }),
    { numRuns: 2_000 },
  );
});
