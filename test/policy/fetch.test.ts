import { describe, expect, test } from "vitest";
import type { Autonomy } from "../../src/contract/policy.ts";
import type { NetworkSettings } from "../../src/network/settings.ts";
import { layout } from "../support/layout.ts";

async function judged(
  url: string,
  {
    method = "GET",
    autonomy = "supervised",
    network = {},
  }: { method?: string; autonomy?: Autonomy; network?: NetworkSettings } = {},
) {
  const toolkit = await (await layout()).toolkit({ policy: { autonomy, network } });
  const { verdict, rule, reason } = await toolkit.judge([{ kind: "fetch", url, method }]);
  return { verdict, rule, reason };
}

describe("a fetch", () => {
  test("of a public page is asked about in supervised autonomy, and runs in full", async () => {
    expect(await judged("https://example.com/")).toEqual({
      verdict: "ask",
      rule: "autonomy",
      reason: "Fetching https://example.com/ requires approval",
    });
    expect(await judged("https://example.com/", { autonomy: "full" })).toMatchObject({ verdict: "allow" });
    expect(await judged("https://example.com/", { autonomy: "readonly" })).toMatchObject({ verdict: "ask" });
  });

  test("of a host in allow_hosts runs when it only looks, and is asked about when it sends", async () => {
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

  test("of what is inside is refused in every autonomy, until it is named", async () => {
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
        "Fetching https://xn--80ak6aa92e.com/ requires approval: xn--80ak6aa92e.com is shown as аррӏе.com, which looks like another name",
    });
  });

  test("cannot be judged by rules that are none: the toolkit is not made", async () => {
    const world = await layout();
    await expect(world.toolkit({ policy: { network: { allowPrivate: ["http://localhost"] } } })).rejects.toThrow(
      'network.allowPrivate: expected a host: a name ("example.org")',
    );
  });
});
