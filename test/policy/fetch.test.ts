import { describe, expect, test } from "vitest";
import type { Autonomy } from "../../src/core/contract/policy.ts";
import type { NetworkSettings } from "../../src/machine/network/network-settings.ts";
import { layout } from "../support/layout.ts";

async function judged(
  url: string,
  {
    method = "GET",
    autonomy = "supervised",
    network = {},
    heard,
  }: { method?: "GET" | "HEAD" | "POST"; autonomy?: Autonomy; network?: NetworkSettings; heard?: string } = {},
) {
  const toolkit = await (await layout()).toolkit({ policy: { autonomy, network } });
  if (heard !== undefined) toolkit.hear(heard);
  const effect =
    method === "GET" || method === "HEAD"
      ? { kind: "fetch" as const, url, method }
      : { kind: "request" as const, url, method };
  const { verdict, rule, reason } = await toolkit.judge([effect]);
  return { verdict, rule, reason };
}

describe("a fetch", () => {
  test("of a public page that was seen runs in every autonomy; one that sends data is asked about, refused or runs", async () => {
    const url = "https://example.com/";
    for (const autonomy of ["readonly", "supervised", "full"] as const)
      expect(await judged(url, { autonomy, heard: url })).toMatchObject({ verdict: "allow" });
    expect(await judged(url, { method: "POST" })).toMatchObject({ verdict: "ask", rule: "autonomy" });
    expect(await judged(url, { method: "POST", autonomy: "readonly" })).toMatchObject({ verdict: "deny" });
    expect(await judged(url, { method: "POST", autonomy: "full" })).toMatchObject({ verdict: "allow" });
  });

  test("of a host that appeared nowhere is asked about, and the question says why", async () => {
    const url = "https://docs.example.org/";
    expect(await judged(url)).toEqual({
      verdict: "ask",
      rule: "network.fetch",
      reason: `Fetching ${url} requires approval: the host docs.example.org appeared in no message and no search result`,
    });
    for (const heard of [
      "see https://docs.example.org/guide.",
      "look at docs.example.org, please",
      "www.docs.example.org",
    ])
      expect(await judged(url, { heard })).toMatchObject({ verdict: "allow", rule: "seen" });
    expect(await judged(url, { heard: "see example.org" })).toMatchObject({ verdict: "ask" });
    expect(await judged(url, { autonomy: "full" })).toMatchObject({ verdict: "allow" });
  });

  test("runs with the mode open, but with a long query or fragment only if the host was named", async () => {
    const network = { fetch: "open" } as const;
    const long = `https://docs.example.org/?q=${"a".repeat(200)}`;
    expect(await judged(long, { network })).toEqual({
      verdict: "ask",
      rule: "long_query",
      reason: `Fetching ${long} requires approval: it carries 203 characters in its query, fragment or headers, and the host docs.example.org appeared in no message and no search result`,
    });
    expect(await judged(`https://example.org/#${"a".repeat(200)}`, { network })).toMatchObject({ rule: "long_query" });
    expect(await judged(long.slice(0, -3), { network })).toMatchObject({ verdict: "allow" });
    expect(await judged(long, { network, heard: "docs.example.org" })).toMatchObject({ verdict: "allow" });
    expect(await judged(long, { network, autonomy: "full" })).toMatchObject({ verdict: "allow" });
  });

  test("with credentials in its URL is asked about in every autonomy, even for known hosts", async () => {
    const url = "https://me:pass@example.org/";
    expect(await judged(url, { autonomy: "full", heard: "example.org" })).toMatchObject({ rule: "key_in_url" });
  });

  test("is asked about more often if the settings require it, in every autonomy", async () => {
    const each = { network: { fetch: "ask", allowHosts: ["docs.example.org"] } } as const;
    expect(await judged("https://example.org/", { ...each, heard: "example.org" })).toMatchObject({
      verdict: "ask",
      rule: "network.fetch",
    });
    expect(await judged("https://docs.example.org/", each)).toMatchObject({ verdict: "allow" });
  });

  test("for a search is not asked about, and is refused if the engine may not be reached", async () => {
    const toolkit = await (await layout()).toolkit({ policy: { network: { denyHosts: ["*.evil.example"] } } });
    const engine = (origin: string) => [{ kind: "search", engine: origin, query: "x".repeat(300) }] as const;
    expect(await toolkit.judge(engine("https://search.example"))).toMatchObject({ verdict: "allow" });
    expect(await toolkit.judge(engine("https://a.evil.example"))).toMatchObject({ verdict: "deny" });
    expect(await toolkit.judge(engine("http://localhost:8080"))).toMatchObject({ verdict: "deny" });
  });

  test("of a host in allow_hosts runs if it only looks, and is asked about if it sends", async () => {
    const network = { allowHosts: ["*.example.com"] };
    expect(await judged("https://a.example.com/", { network })).toMatchObject({
      verdict: "allow",
      rule: "allow_hosts",
    });
    expect(await judged("https://a.example.com/", { network, method: "HEAD" })).toMatchObject({ verdict: "allow" });
    expect(await judged("https://a.example.com/", { network, method: "POST" })).toMatchObject({
      verdict: "ask",
      reason: "Sending to https://a.example.com/ (POST) requires approval",
    });
    expect(await judged("https://a.example.com/", { network, method: "POST", autonomy: "readonly" })).toMatchObject({
      verdict: "deny",
    });
  });

  test("of a private address is refused in every autonomy, until it is named", async () => {
    for (const autonomy of ["readonly", "supervised", "full"] as const) {
      expect(await judged("http://169.254.169.254/latest/", { autonomy })).toMatchObject({
        verdict: "deny",
        rule: "private_address",
      });
    }
    const network = { allowPrivate: ["localhost:3000"] };
    expect(await judged("http://localhost:3000/", { network })).toMatchObject({ verdict: "ask" });
    expect(await judged("http://localhost:3000/", { network, autonomy: "full" })).toMatchObject({ verdict: "allow" });
  });

  test("with a key in its URL is asked about in every autonomy, and the key is not repeated", async () => {
    const url = `https://example.com/?t=ghp_${"a1".repeat(18)}`;
    const { verdict, rule, reason } = await judged(url, { autonomy: "full", network: { allowHosts: ["example.com"] } });
    expect({ verdict, rule }).toEqual({ verdict: "ask", rule: "key_in_url" });
    expect(reason).not.toContain("a1a1");
  });

  test("of a name that looks like another is asked about in every autonomy, in both spellings", async () => {
    expect(await judged("https://аррӏе.com/", { autonomy: "full" })).toEqual({
      verdict: "ask",
      rule: "look_alike",
      reason:
        "Fetching https://xn--80ak6aa92e.com/ requires approval: xn--80ak6aa92e.com is displayed as аррӏе.com, which looks like another name",
    });
  });

  test("is not judged by invalid rules: the toolkit is not created", async () => {
    const world = await layout();
    await expect(world.toolkit({ policy: { network: { allowPrivate: ["http://localhost"] } } })).rejects.toThrow(
      'network.allowPrivate: expected a host: a name ("example.org")',
    );
  });
});
