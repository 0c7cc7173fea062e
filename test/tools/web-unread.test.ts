import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { plainText } from "../support/plain-text.ts";
import { webServer } from "../support/web-server.ts";
import { toolkitWith } from "../support/workspace.ts";

interface Served {
  readonly type?: string;
  readonly body?: string | Buffer;
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string | number };
  /** What is done with the response after its body, in place of its end. */
  readonly after?: "cut" | "open";
}

/** What `web_fetch` returns for a response. AT in it is the address of the server. */
async function fetched(
  { type = "text/html", body = "", status = 200, headers = {}, after }: Served,
  tool = "web_fetch",
) {
  const at = await webServer(({ url }, response) => {
    if (url !== "/") return response.end("another page");
    response.writeHead(status, { ...(type !== "" && { "content-type": type }), ...headers });
    if (after === undefined) return response.end(body);
    return response.write(body, () => after === "cut" && response.destroy());
  });
  const toolkit = await toolkitWith({
    preset: "every",
    toolsets: { every: ["web_fetch", "fetch_url"] },
    toolOptions: { web_fetch: { timeout: 1 } },
    policy: { network: { allowPrivate: [at], allowHosts: [at] } },
  });
  const text = plainText(await toolkit.call({ name: tool, input: { url: `http://${at}/` } })).replaceAll(at, "AT");
  return { text, toolkit, at };
}

const APP = '<script type=module src="/a.js"></script>';
const DRAWN =
  "[The page is drawn by scripts, which are not run here. Open it in a browser, if you have a tool for that.]";
const WALL = /\[This is a bot wall, not the page: the site wants proof that a person reads it\./;
const ZIP = Buffer.concat([
  Buffer.from("PK\x03\x04\x14\0\x06\0[Content_Types].xml", "latin1"),
  Buffer.alloc(3_000, 0xe5),
]);
const noise = (length: number) => Buffer.from(Array.from({ length }, (_, index) => (index * 7_919) % 251));

test.each<[what: string, served: Served, expected: string | RegExp]>([
  [
    "an application that scripts draw",
    {
      body: `<title>Status board</title><meta name=description content="All systems">${APP}<noscript>You need to enable JavaScript.</noscript><div id=root></div>`,
    },
    `# Status board\n\nAll systems\n\nYou need to enable JavaScript.\n${DRAWN}`,
  ],
  ["one that shows a line before", { body: `<div id=app></div><p>© 2026</p>${APP}` }, `© 2026\n${DRAWN}`],
  ["one of elements of its own", { body: `<title>T</title><app-root></app-root>${APP}` }, `# T\n${DRAWN}`],
  ["one that is loading", { body: `<div id=x>Loading…</div>${APP}` }, `Loading…\n${DRAWN}`],
  ["a small page with a script", { body: `<p>Closed on Mondays</p>${APP}` }, "Closed on Mondays"],
  [
    "a form",
    { body: "<title>In</title><form><label>User <input></label><button>Log in</button></form>" },
    "# In\n\nUser Log in",
  ],
  ["a page of links", { body: "<nav><a href=/a>A</a></nav>" }, "[A](http://AT/a)"],
  [
    "frames",
    { body: "<frameset><frame src=a.html><frame src=b.html></frameset>" },
    "- Embedded: http://AT/a.html\n- Embedded: http://AT/b.html",
  ],
  ["an embedded page", { body: "<iframe src='/inner'></iframe>" }, "- Embedded: http://AT/inner"],
  ["pictures alone", { body: "<img src=a.png><img src=b.png>" }, "[The page has no text.]"],
  ["no byte", {}, "(empty page, status 200)"],
  [
    "a page that leads on",
    { body: "<title>Moved</title><meta http-equiv=Refresh content=\"0; URL='/new?a=1'\">" },
    "# Moved\n[The page leads on to http://AT/new?a=1 by itself: fetch that.]",
  ],
  [
    "one that leads on with words, without scripts only",
    { body: '<head><noscript><meta http-equiv="refresh" content="0;url=/plain"></noscript></head><p>One moment' },
    "One moment\n[The page leads on to http://AT/plain by itself: fetch that.]",
  ],
  [
    "a script that leads on",
    { body: "<script>window.location.replace('/next')</script>" },
    "[The page leads on to http://AT/next by itself: fetch that.]",
  ],
  ["a page that loads itself again", { body: '<meta http-equiv=refresh content="30"><p>12:00' }, "12:00"],
  ["a redirect to nowhere", { status: 302 }, /^Tool error: http:\/\/AT\/ answered 302 Found\n.*names no page/],
  ["Cloudflare's wall", { body: `<title>Just a moment...</title>${APP}<p>Checking` }, WALL],
  [
    "Imperva's",
    { body: "<iframe src='//x/_Incapsula_Resource?a'>Request unsuccessful. Incapsula incident ID: 1</iframe>" },
    WALL,
  ],
  ["Amazon's, which is empty", { status: 202, headers: { "x-amzn-waf-action": "challenge" } }, WALL],
  [
    "DataDome's, as an error",
    { status: 403, body: "<script src=https://ct.captcha-delivery.com/c.js></script>" },
    /answered 403 Forbidden\nThis is a bot wall/,
  ],
  ["a long page about walls", { body: `<p>Are you a robot?</p>${"<p>some words</p>".repeat(200)}` }, /some words$/],
  [
    "half a page",
    { body: "<p>its beginning", after: "cut" },
    "its beginning\n[Incomplete: AT closed the connection before its response was complete. This is its beginning.]",
  ],
  [
    "a stream without end",
    { type: "text/event-stream", body: "data: 1\n\n", after: "open" },
    /^data: 1\n+\[Incomplete: http:\/\/AT\/ did not answer completely within 1 s\. This is its beginning\.\]$/,
  ],
  [
    "half of a gzip",
    {
      body: gzipSync(noise(100_000).toString("hex")).subarray(0, 300),
      type: "text/plain",
      headers: { "content-encoding": "gzip" },
    },
    /^[\da-f]+\n\[Incomplete: the body ends in the middle of its gzip, its content encoding\. This is its beginning\.\]$/,
  ],
  [
    "half a PDF",
    { type: "application/pdf", body: "%PDF-1.4\n1 0 obj", after: "cut" },
    /^Tool error: the PDF could not be read: .*: AT closed the connection before its response was complete\n/,
  ],
  [
    "a zip as HTML",
    { body: ZIP },
    /^\[Binary content \(zip archive or Office document, sent as text\/html, 3KB\) is not shown\. /,
  ],
  ["a zip as text", { type: "text/plain", body: ZIP }, /^\[Binary content \(zip archive/],
  [
    "a picture as JSON",
    { type: "application/json", body: Buffer.from("\x89PNG\r\n\x1a\nx", "latin1") },
    /^\[Binary content \(PNG picture, sent as application\/json/,
  ],
  ["noise as text", { type: "text/csv", body: noise(2_000) }, /^\[Binary content \(text\/csv, 2KB\)/],
  ["a table as binary", { type: "binary/octet-stream", body: "a,b\n1,2\n" }, "a,b\n1,2"],
  ["a table as Excel", { type: "application/vnd.ms-excel", body: "a;b\n1;2\n" }, "a;b\n1;2"],
  ["words as a picture", { type: "image/png", body: "no such picture" }, "no such picture"],
  ["a page of no known type", { type: "application/x-unknown", body: "<!doctype html><h1>A</h1>" }, "# A"],
  ["text with a colour", { type: "text/plain", body: "\x1b[31mred\x1b[0m\0 text" }, /red.* text/],
  ["UTF-16", { type: "text/plain; charset=utf-16le", body: Buffer.from("été", "utf16le") }, "été"],
])("web_fetch of %s says what was there", async (_, served, expected) => {
  const { text } = await fetched(served);
  if (typeof expected === "string") expect(text.trim()).toBe(expected);
  else expect(text).toMatch(expected);
});

test("fetch_url says that a body is half, too", async () => {
  const { text } = await fetched({ body: "its beginning", after: "cut" }, "fetch_url");
  expect(text).toContain("its beginning\n[Incomplete: AT closed the connection");
});

test("where a page leads on may be fetched unasked, as its links may", async () => {
  const { toolkit, at } = await fetched({ body: '<meta http-equiv=refresh content="0; url=/next/9f86d081884c7d65">' });
  const url = `http://${at}/next/9f86d081884c7d65`;
  expect((await toolkit.judge([{ kind: "fetch", url, method: "GET" }])).verdict).toBe("allow");
});

test("what libraries print about a page does not reach the output of the program", async () => {
  const printed = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
  const { text } = await fetched({ type: "application/pdf", body: PDF_WITH_A_WARNING });
  const words = printed.flatMap(({ mock }) => mock.calls.map(([piece]) => String(piece)));
  for (const spy of printed) spy.mockRestore();
  expect(text).toBe("Hello");
  expect(words.join("")).not.toContain("Warning");
});

/** Its table of objects is not where it says, about which pdf.js warns. */
const PDF_WITH_A_WARNING = [
  "%PDF-1.4",
  "1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj",
  "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj",
  "3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj",
  "4 0 obj\n<< /Length 34 >>\nstream\nBT /F1 12 Tf 72 720 Td (Hello) Tj ET\nendstream\nendobj",
  "5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj",
  "trailer\n<< /Root 1 0 R /Size 6 >>\nstartxref\n5\n%%EOF",
].join("\n");
