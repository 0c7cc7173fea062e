import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { messageOf } from "../../../core/util/errors.ts";
import { LARGEST_PDF, pdfPage } from "./pdf-page.ts";

/** A request of the browser, before anything is sent. */
export interface BrowserRequest {
  readonly url: string;
  readonly method: string;
  /**
   * What asks: a type of CDP's Network domain ("Document", "Image", "XHR"), or "ServiceWorker" for the script of one.
   * "WebSocket" stands for every connection of which only the host is known; its URL has no path.
   */
  readonly type: string;
  readonly body?: string;
}

export type RequestVerdict =
  | { readonly verdict: "allowed" }
  /** `reason`: a sentence for the model. */
  | { readonly verdict: "refused"; readonly reason: string };

/** Judges a request of one context. `isPage`: it is for the main document of a page. */
export type RequestJudge = (request: BrowserRequest & { readonly isPage: boolean }) => Promise<RequestVerdict>;

/**
 * Makes every request of a context be judged, until the context is closed. CDP's Fetch domain on the whole browser
 * reports the requests: of pages, frames, workers, favicons and downloads, and every redirect. It reports no
 * WebSockets. A document that is a PDF is shown as a page with its text. In a browser with a judged context, contexts
 * that are not judged may request nothing.
 */
export async function judgeRequests(context: BrowserContext, judge: RequestJudge): Promise<void> {
  const browser = context.browser();
  if (browser === null) throw new TypeError("context: expected one whose browser can be controlled");
  const watching = watched.get(browser) ?? watch(browser);
  watched.set(browser, watching);
  const { session, judges } = await watching;
  const id = await idOf(context, session, judges);
  judges.set(id, judge);
  context.on("close", () => judges.delete(id));
}

interface Watched {
  readonly session: CDPSession;
  /** The judges, by the id of their context. */
  readonly judges: Map<string, RequestJudge>;
}

const watched = new WeakMap<Browser, Promise<Watched>>();

async function watch(browser: Browser): Promise<Watched> {
  const session = await browser.newBrowserCDPSession();
  const judges = new Map<string, RequestJudge>();
  /** Frames that share their page's process are not targets. */
  const frames = new Map<string, string>();

  /** Asks all pages for their frames until one has the frame: a page may be too busy to answer. */
  const look = async (frame: string): Promise<void> => {
    const pages = browser.contexts().flatMap((context) => context.pages());
    const answers = pages.map(async (page) => {
      const { ids, context } = await framesOf(page);
      for (const id of ids) frames.set(id, context);
      if (!ids.includes(frame)) throw new Error("another page");
    });
    await Promise.any(answers).catch(() => undefined);
  };

  const contextOf = async (frame: string): Promise<{ readonly id: string | undefined; readonly isPage: boolean }> => {
    const { targetInfos } = await session.send("Target.getTargets");
    const target = targetInfos.find(({ targetId }) => targetId === frame);
    if (target !== undefined) return { id: target.browserContextId, isPage: target.type === "page" };
    if (!frames.has(frame)) await look(frame);
    return { id: frames.get(frame), isPage: false };
  };

  const verdictOn = async ({ request, resourceType, frameId }: Paused): Promise<RequestVerdict> => {
    const { url, method, headers, postData } = request;
    const { id = "", isPage } = await contextOf(frameId);
    const judge = judges.get(id);
    if (judge === undefined) return refused("it comes from no page of a thread");
    const body = postData === undefined ? {} : { body: postData };
    const type = isServiceWorker(headers) ? "ServiceWorker" : resourceType;
    return judge({ url, method, type, ...body, isPage: isPage && type === "Document" });
  };

  /** Passes a document on. A PDF becomes a page with its text. */
  const passOn = async (paused: Paused): Promise<void> => {
    const { requestId } = paused;
    if (!isPdf(paused)) return void (await session.send("Fetch.continueRequest", { requestId }));
    const isLarge = Number(headerOf(paused, "content-length")) > LARGEST_PDF;
    const got = isLarge ? undefined : await session.send("Fetch.getResponseBody", { requestId });
    const html = await pdfPage(got && Buffer.from(got.body, got.base64Encoded ? "base64" : "latin1"));
    await session.send("Fetch.fulfillRequest", {
      requestId,
      responseCode: 200,
      responseHeaders: [
        { name: "content-type", value: "text/html; charset=utf-8" },
        { name: "content-security-policy", value: "default-src 'none'" },
      ],
      body: Buffer.from(html).toString("base64"),
    });
  };

  const answer = async (paused: Paused): Promise<void> => {
    if (paused.responseStatusCode !== undefined || paused.responseErrorReason !== undefined) return passOn(paused);
    const judged = await verdictOn(paused).catch((error: unknown) => refused(messageOf(error)));
    const { requestId, request, resourceType } = paused;
    const interceptResponse = resourceType === "Document" && /^https?:/.test(request.url);
    await (judged.verdict === "allowed"
      ? session.send("Fetch.continueRequest", { requestId, interceptResponse })
      : session.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" }));
  };

  // A request that has ended in the meantime cannot be answered.
  session.on("Fetch.requestPaused", (paused) => void answer(paused).catch(() => undefined));
  await session.send("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
  return { session, judges };
}

/** `Fetch.requestPaused` of CDP: the fields that are used. */
interface Paused {
  readonly requestId: string;
  readonly request: {
    readonly url: string;
    readonly method: string;
    readonly headers: { readonly [name: string]: string };
    readonly postData?: string;
  };
  readonly resourceType: string;
  readonly frameId: string;
  /** Absent before the request is sent. */
  readonly responseStatusCode?: number;
  readonly responseErrorReason?: string;
  readonly responseHeaders?: readonly { readonly name: string; readonly value: string }[];
}

function headerOf({ responseHeaders = [] }: Paused, wanted: string): string {
  return responseHeaders.find(({ name }) => name.toLowerCase() === wanted)?.value ?? "";
}

/** Whether a document is a PDF to show. What is sent to be kept is a download. */
function isPdf(paused: Paused): boolean {
  const isShown = !/^\s*attachment/i.test(headerOf(paused, "content-disposition"));
  return paused.responseStatusCode === 200 && isShown && /^application\/pdf\b/i.test(headerOf(paused, "content-type"));
}

/** CDP's id of a context. Playwright does not report it; a new context is the one whose id is not known yet. */
async function idOf(context: BrowserContext, session: CDPSession, judges: Watched["judges"]): Promise<string> {
  const { browserContextIds } = await session.send("Target.getBrowserContexts");
  const [id, ...others] = browserContextIds.filter((each) => !judges.has(each));
  if (id !== undefined && others.length === 0) return id;
  const page = await context.newPage();
  const found = await contextIdOf(await context.newCDPSession(page));
  await page.close();
  return found;
}

async function contextIdOf(session: CDPSession): Promise<string> {
  const { targetInfo } = await session.send("Target.getTargetInfo");
  return targetInfo.browserContextId ?? "";
}

/** All frames of a page, and the id of its context. */
async function framesOf(page: Page): Promise<{ readonly ids: readonly string[]; readonly context: string }> {
  const session = await page.context().newCDPSession(page);
  const [{ frameTree }, context] = await Promise.all([session.send("Page.getFrameTree"), contextIdOf(session)]);
  await session.detach();
  return { ids: idsOf(frameTree), context };
}

interface FrameTree {
  readonly frame: { readonly id: string };
  readonly childFrames?: readonly FrameTree[];
}

function idsOf({ frame, childFrames = [] }: FrameTree): readonly string[] {
  return [frame.id, ...childFrames.flatMap(idsOf)];
}

/** The request for the script of a service worker has its own header (Service Workers, 4.2). */
function isServiceWorker(headers: { readonly [name: string]: string }): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "service-worker");
}

function refused(reason: string): RequestVerdict {
  return { verdict: "refused", reason };
}
