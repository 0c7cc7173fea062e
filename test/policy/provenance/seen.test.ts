import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { createAgent } from "../../../src/agent/agent.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import type { SeenFact } from "../../../src/core/contract/conversations.ts";
import { SEEN_LIMITS, fold, judgeSeen, nothingSeen } from "../../../src/policy/provenance/seen.ts";
import { linksOf, urlsInText } from "../../../src/core/util/urls-in-text.ts";
import { scriptedModel } from "../../suites/scripted-model.ts";
import { calls } from "../../agent/support.ts";
import { cases } from "../../support/cases.ts";
import { webServer } from "../../support/web-server.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";

/** Declares a fetch, and fetches nothing: the hosts do not exist. */
const visit = defineTool({
  name: "visit",
  description: "For a test.",
  input: Type.Object({ url: Type.String() }),
  touches: ["fetch"],
  effects: ({ url }) => [{ kind: "fetch", url, method: "GET" }],
  run: async () => null,
});

const said = (text: string): SeenFact => ({ kind: "message", text });
const found = (url: string): SeenFact => ({ kind: "found", url });
const linked = (page: string, ...links: readonly string[]): SeenFact => ({ kind: "linked", page, links });

function judged(url: string, facts: readonly SeenFact[], headers?: { readonly [name: string]: string }): string {
  const state = nothingSeen();
  for (const fact of facts) fold(state, fact);
  const judgement = judgeSeen(state, { url, ...(headers !== undefined && { headers }) });
  return judgement.verdict === "seen" ? judgement.as : judgement.reason;
}

const DIGEST = "9f86d081884c7d659a2feaa0c55ad015";
const page = linked("https://a.example/", "https://b.example/start?x=1#top");

describe("a URL that a model wants to fetch", () => {
  test.each<[string, string, readonly SeenFact[], string | RegExp]>([
    ["of a message", "https://x.example/p?q=1", [said("See https://x.example/p?q=1.")], "url"],
    ["of a message in brackets", "https://x.example/a_(b)", [said("(https://x.example/a_(b))")], "url"],
    ["of a message without a scheme", "https://www.x.example/p/", [said("see x.example/p, please")], "url"],
    ["of a message, without its fragment", "http://x.example/p", [said("https://x.example/p#part")], "url"],
    ["with the digest of a message", `https://x.example/${DIGEST}`, [said(`https://x.example/${DIGEST}`)], "url"],
    ["of a search result", "https://x.example/a", [found("https://x.example/a")], "url"],
    ["of a link", "https://b.example/start?x=1", [page], "link"],
    ["beside a link", "https://b.example/other", [page], /^the host b.example appeared in no message and no search/],
    ["of a page that was linked from itself", "https://a.example/", [page], /^the host a.example appeared/],
    ["of a host that nobody named", "https://evil.example/", [], /^the host evil.example appeared in no message/],
    ["below a named host", "https://d.x.example/", [said("https://x.example")], /^the host d.x.example appeared/],
    ["of a file's name", "https://main.rs/", [said("fix main.rs and lib.py")], /^the host main.rs appeared/],
    ["composed on a named host", "https://x.example/docs/install", [said("x.example")], "composed"],
    ["composed on a found host", "https://x.example/docs/install", [found("https://x.example/a")], "composed"],
    ["composed, of documentation", "https://docs.python.org/3/library/asyncio-task.html", [], "composed"],
    ["composed, of a listed domain", "https://de.wikipedia.org/wiki/Schiene", [], "composed"],
    ["of anybody's page", "https://me.github.io/", [], /^the host me.github.io appeared/],
    ["on another port of a listed host", "https://docs.python.org:8443/", [], /^the host docs.python.org appeared/],
    ["with a digest", `https://x.example/${DIGEST}`, [said("x.example")], /^"9f86d\w+" in it looks like encoded/],
    ["with an id", "https://x.example/?s=550e8400-e29b-41d4-a716-446655440000", [said("x.example")], /looks like enc/],
    ["with base64", "https://x.example/c3RvbGVuIGRhdGEgaGVyZQ", [said("x.example")], /looks like encoded data/],
    ["with a digest, on the list", `https://github.com/a/b/commit/${DIGEST}`, [], "composed"],
    ["with a long title", "https://x.example/how-to-write-a-readable-commit-message", [said("x.example")], "composed"],
    [
      "that is too long",
      `https://x.example/${"word-".repeat(300)}`,
      [said("x.example")],
      /^it tells x.example 1500 char/,
    ],
    ["that is long, on the list", `https://docs.rs/${"word-".repeat(300)}`, [], "composed"],
  ])("%s", (_, url, facts, expected) => {
    if (typeof expected === "string") expect(judged(url, facts)).toBe(expected);
    else expect(judged(url, facts)).toMatch(expected);
  });

  test("tells its headers too, unless they are usual ones", () => {
    const facts = [said("https://x.example/p"), page];
    expect(judged("https://x.example/p", facts, { accept: "application/json" })).toBe("url");
    expect(judged("https://x.example/p", facts, { "x-note": "some words" })).toBe("composed");
    expect(judged("https://x.example/p", facts, { "x-note": DIGEST })).toMatch(/looks like encoded data/);
    expect(judged("https://x.example/p", facts, { "x-note": "some words ".repeat(100) })).toMatch(
      /^it tells x.example 1/,
    );
    expect(judged("https://b.example/start?x=1", facts, { "x-note": "words" })).toMatch(/^the host b.example/);
  });

  test("is a link only as often as the limit says, for all pages of a host and for all hosts", () => {
    const state = nothingSeen();
    let followed = 0;
    for (let host = 0; host < 20; host++)
      for (let link = 0; link < 150; link++) {
        const url = `https://t${link}.example/${host}`;
        fold(state, linked(`https://p${host}.example/${link % 7}`, url));
        if (judgeSeen(state, { url }).verdict === "seen") followed++;
        fold(state, { kind: "sent", url });
        if (host === 0) expect(followed).toBe(Math.min(link + 1, SEEN_LIMITS.linksOfHost));
      }
    expect(followed).toBe(SEEN_LIMITS.links);
  });

  test("takes no more characters with it than the budget has, however it is composed", () => {
    const piece = fc.string({ minLength: 1, maxLength: 60, unit: "grapheme-ascii" });
    const host = fc.constantFrom("x.example", "found.example", "docs.rs", "de.wikipedia.org", "evil.example");
    const request = fc.record({ host, path: piece, query: fc.option(piece), header: fc.option(piece), label: piece });
    fc.assert(
      fc.property(fc.array(request, { minLength: 50, maxLength: 200 }), (requests) => {
        const state = nothingSeen();
        for (const fact of [said("See https://x.example/guide about words."), found("https://found.example/a")])
          fold(state, fact);
        const left = { listed: 0, others: 0 };
        for (const { host: name, path, query, header, label } of requests) {
          const below = name.endsWith("wikipedia.org") ? `${label.replaceAll(/[^a-z]/gi, "")}x.wikipedia.org` : name;
          const tail = `${path}${query === null ? "" : `?${query}`}`.replaceAll("\\", "/");
          if (!URL.canParse(`https://${below}/${tail}`)) continue;
          const { href, hostname, pathname, search, hash } = new URL(`https://${below}/${tail}`);
          const leaving = { url: href, ...(header !== null && { headers: { n: header } }) };
          if (judgeSeen(state, leaving).verdict === "unseen") continue;
          fold(state, { kind: "sent", ...leaving });
          const labels = hostname.endsWith(".wikipedia.org") ? hostname.slice(0, -".wikipedia.org".length) : "";
          const told = `${labels}${pathname.slice(1)}${search}${hash}${header ?? ""}`;
          const unseen = told.replaceAll(/\b(?:guide|about|words|See|https|x|example|a)\b/g, "");
          left[labels !== "" || hostname === "docs.rs" ? "listed" : "others"] += unseen.length;
        }
        expect(left.others).toBeLessThanOrEqual(SEEN_LIMITS.others);
        expect(left.listed).toBeLessThanOrEqual(SEEN_LIMITS.listed);
      }),
      { numRuns: cases(30) },
    );
  });
});

test("URLs and hosts of a message are found as people write them", () => {
  expect(urlsInText("see <https://x.example/a>, `y.example/b?c=d` and www.z.example!")).toEqual({
    urls: ["https://x.example/a", "https://x.example/a", "https://y.example/b?c=d"],
    hosts: ["x.example", "y.example", "z.example"],
  });
  const html = `<a href="/b?c=1&amp;d=2">b</a> <a href=c.html>c</a> <a href='#top'>t</a> <a href="mailto:x@y">m</a>`;
  expect(linksOf("https://x.example/a/", html)).toEqual(["https://x.example/b?c=1&d=2", "https://x.example/a/c.html"]);
  expect(linksOf("https://x.example/", `[b](../b.md "t") {"u":"https:\\/\\/y.example\\/c"}`)).toEqual([
    "https://x.example/b.md",
    "https://y.example/c",
  ]);
});

describe("a conversation", () => {
  test("lets 175 KB leave in paths neither on one host nor on many", async () => {
    for (const host of [() => "x.example", (part: number) => `h${part}.x.example`]) {
      const toolkit = await toolkitWith({ preset: "none", tools: [visit] });
      toolkit.hear("Read https://x.example/guide, please.");
      const data = (part: number) => `${part}`.padStart(4, "w").repeat(450);
      const visits = Array.from({ length: 100 }, (_, part) => {
        return toolkit.call({ name: "visit", input: { url: `https://${host(part)}/${data(part)}` } });
      });
      const left = (await Promise.all(visits)).filter(({ status }) => status === "ok").length * 1_800;
      expect(left).toBeLessThanOrEqual(SEEN_LIMITS.others);
    }
  });

  test("shares what was seen and its budget with its delegates, and keeps both when it is resumed", async () => {
    const file = `${temporaryFolder()}/activity.db`;
    const spending = (count: number) => ({
      name: "visit",
      input: { url: `https://x.example/${"word-".repeat(count)}` },
    });
    const model = scriptedModel([
      calls({ name: "delegate", input: { agent: "reader", prompt: "Read https://evil.example/ too." } }),
      { text: "done" },
    ]);
    const reader = scriptedModel([
      calls(spending(120), { name: "visit", input: { url: "https://evil.example/" } }),
      { text: "read" },
    ]);
    const open = async () => toolkitWith({ preset: "none", tools: [visit], store: sqliteStore({ file }) });
    const first = await open();
    const refused: (string | undefined)[] = [];
    const approver: Approver = async ({ tool }, { reason }) => {
      if (tool.name === "delegate") return { answer: "once" };
      refused.push(reason);
      return { answer: "refuse" };
    };
    const autonomy = { agents: { reader: { model: reader } }, toolkit: first.with({ approver }) };
    const agent = await createAgent({ model, ...autonomy });
    await agent.send("Read https://x.example/guide");
    const { thread } = agent;
    await agent.close();
    expect(refused).toEqual([
      "Fetching https://evil.example/ requires approval: the host evil.example appeared in no message and no search result",
    ]);
    expect(await first.with({ thread }).call(spending(100))).toMatchObject({ status: "denied" });
    await first.close();

    const second = await open();
    const resumed = second.with({ thread });
    expect(await resumed.call({ name: "visit", input: { url: "https://x.example/guide" } })).toMatchObject({
      status: "ok",
    });
    expect(await resumed.call(spending(100))).toMatchObject({ status: "denied" });
    expect(await resumed.call(spending(70))).toMatchObject({ status: "ok" });
    expect(await second.with({ thread: "other" }).call(spending(1))).toMatchObject({ status: "denied" });
  });

  test("knows the links of a page that was fetched, and of what it redirects to, but not what a model wrote", async () => {
    const at = await webServer(({ url }, response) => {
      if (url === "/moved") return response.writeHead(302, { location: "/page" }).end();
      response.setHeader("content-type", "text/html");
      return response.end(`<a href="https://b.example/start">b</a> <a href=/next>next</a>`);
    });
    const network = { allowPrivate: [at], allowHosts: [at] };
    const toolkit = await toolkitWith({ preset: "web", policy: { network } });
    const verdict = async (url: string) => (await toolkit.judge([{ kind: "fetch", url, method: "GET" }])).verdict;
    await toolkit.call({ name: "web_search", input: { query: "https://c.example/" } }).catch(() => undefined);
    expect(await verdict("https://b.example/start")).toBe("ask");
    expect(await toolkit.call({ name: "web_fetch", input: { url: `http://${at}/moved` } })).toMatchObject({
      status: "ok",
    });
    expect(await verdict("https://b.example/start")).toBe("allow");
    expect(await verdict("https://b.example/other")).toBe("ask");
    expect(await verdict("https://c.example/")).toBe("ask");
  });
});
