import type { BrowserContext, Dialog, Download, Frame, Locator, Page, Request } from "playwright-core";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { formatSize } from "../../../core/output/size.ts";
import { pause, untilAborted, within as withinMs } from "../../../core/util/abort.ts";
import { messageOf, tried } from "../../../core/util/errors.ts";
import { clip } from "../../../core/util/text.ts";
import type { BrowserGuard } from "./guard.ts";
import { BEGINNING_BYTES, type Caller, type PageReport } from "./protocol.ts";
import { collectTyped } from "./typed.ts";
import { HIDDEN, type AriaNode, type Snapshot, bounded, changesOf, nearestRef, writeSnapshot } from "./snapshot.ts";

/** Time limits in milliseconds: for an action (people's time not counted), for an element, and for a page to settle. */
const ACTION_MS = 30_000;
const ELEMENT_MS = 10_000;
const SETTLE_MS = 5_000;
const QUIET_MS = 150;
const SNAPSHOT_MS = 5_000;
const FRAMES_MS = 2_000;
/** How long a page may do nothing but run its scripts, and how long its end may take. */
const BUSY_MS = 5_000;
const CLOSE_MS = 5_000;

/** The minimum length of a value that is hidden everywhere, not only in fields. Characters. */
const LEAST_HIDDEN = 4;
const MOST_NEWS = 20;
const MOST_REFUSED = 10;
const MOST_KEPT = 200;
/** The largest download that is kept, in bytes. */
const LARGEST_DOWNLOAD = 104_857_600;
/** What a page loads for its content. Nobody waits for pictures and streams. */
const WAITED_FOR: ReadonlySet<string> = new Set(["document", "script", "stylesheet", "xhr", "fetch"]);

/** The browser of one thread. One action at a time. */
export type Session = ReturnType<typeof openSession>;

/**
 * Wraps a context of a browser. Without `guard` it is that of a browser that was joined: its own tabs stay as they are.
 */
export function openSession(context: BrowserContext, guard?: BrowserGuard) {
  const news = createNews();
  const { tell } = news;
  const clock = createClock();
  const { within } = clock;
  const secrets = createSecrets();
  const { withoutSecrets } = secrets;
  const traffic = watchTraffic(context);
  const tabs = createTabs(context, guard !== undefined, news);
  const { page } = tabs;
  /** What each page showed last. */
  const shown = new WeakMap<Page, { readonly url: string; readonly snapshot: Snapshot }>();
  /** Every reference that was ever shown, for messages about stale ones. */
  const labels = new Map<string, string>();
  /** `submitted`: the URL to which a person has approved sending a form. */
  const state = { isOver: false, isOpen: true, isTaken: false, submitted: undefined as string | undefined };

  /** Waits until a page has loaded and its requests have ended, or for a limited time. */
  const settle = async (at: Page, signal: AbortSignal) => {
    await at.waitForLoadState("domcontentloaded", { timeout: SETTLE_MS }).catch(() => undefined);
    traffic.stir();
    for (let left = SETTLE_MS; left > 0; left -= TICK_MS) {
      if (clock.isStopped()) left += TICK_MS;
      else if (!tabs.isOpening() && traffic.isQuiet(at)) return;
      await pause(TICK_MS, signal);
    }
    tabs.giveUpOpening(); // a tab that was never reported is not waited for again
  };
  const look = async (at: Page): Promise<Snapshot> => {
    const hide = await secrets.on(at);
    const hasEditors = await nameEditors(at);
    const roots: readonly AriaNode[] = await at.ariaSnapshotJSON({ mode: "ai", timeout: SNAPSHOT_MS });
    const snapshot = writeSnapshot(hasEditors ? await withTexts(roots, at) : roots, hide);
    for (const [ref, label] of snapshot.refs) labels.set(ref, label);
    return { ...snapshot, text: withoutSecrets(snapshot.text) };
  };
  /** Why requests were refused since the last call of this function. */
  const takeRefused = (): readonly string[] =>
    (guard?.takeRefused() ?? []).map(({ url, reason }) => `${clip(url, 200)}: ${reason}`);
  const takeNews = () => news.take(takeRefused()).map(withoutSecrets);

  /** Closes the current page if one of its scripts runs without end. Returns a sentence then. */
  const leaveStuck = async (): Promise<string | undefined> => {
    const at = tabs.current();
    if (at === undefined || at.isClosed()) return undefined;
    const answers = at.evaluate("0").then(
      () => true,
      () => true,
    );
    if ((await withinMs(BUSY_MS, answers)) === true) return undefined;
    const url = withoutSecrets(at.url());
    await withinMs(
      CLOSE_MS,
      at.close().catch(() => undefined),
    );
    return `${url} did not respond, because one of its scripts runs without end. Its tab was closed`;
  };

  /** The page after an action, and what has happened since the last report. */
  const report = async (by: Caller, wanted: PageReport["shows"]): Promise<PageReport> => {
    await saveDownloads(tabs.takeDownloads(), by, tell);
    const at = await page();
    const stuck = await leaveStuck();
    if (stuck !== undefined) throw new ToolFailure(stuck, { hint: "Open another page. web_fetch runs no scripts." });
    const address = at.url();
    const url = withoutSecrets(address);
    const title = withoutSecrets(await within(at.title(), "Reading the title", SNAPSHOT_MS));
    if (wanted === "nothing") return { url, title, shows: wanted, news: takeNews() };
    const snapshot = await look(at);
    if ((await page()) !== at) {
      await settle(await page(), by.signal); // a new tab was opened meanwhile
      return report(by, wanted);
    }
    by.linked(
      address,
      snapshot.links.flatMap((link) => (URL.canParse(link, address) ? [new URL(link, address).href] : [])),
    );
    const before = shown.get(at);
    shown.set(at, { url: address, snapshot });
    const isSame = wanted === "changes" && before?.url === address;
    const changes = isSame ? changesOf(before.snapshot.text, snapshot.text) : undefined;
    const { shown: text, isCut } = bounded(changes ?? snapshot.text, BEGINNING_BYTES);
    return {
      url,
      title,
      page: text,
      shows: changes === undefined ? "page" : "changes",
      ...(isCut && { output: await by.save(snapshot.text) }),
      news: takeNews(),
    };
  };

  return {
    context,
    report,
    consoleLines: tabs.consoleLines,
    requests: traffic.lines,
    page,
    look,
    tell,
    within,
    leaveStuck,
    leaving: tabs.leaving,
    /** The status of the current document if it is an error: "404 Not Found". */
    errorStatus: tabs.errorStatus,
    withoutSecrets,
    secretFields: async (at: Page) => within(secrets.fieldsOn(at), "Reading the page", SNAPSHOT_MS),
    takeRefused,
    select: tabs.select,
    answerDialogs: tabs.answerDialogs,
    /** A caller whose questions do not count as time of the action. */
    unhurried: <By extends Caller>(by: By): By => clock.unhurried(by, traffic.stir),
    /** Runs work during which a person types. The model does not see the typed text. */
    async byPerson(work: () => Promise<void>) {
      const typed = await collectTyped(context);
      state.isTaken = true;
      try {
        await work();
      } finally {
        state.isTaken = false;
        for (const value of await typed.stop()) secrets.add(value);
      }
    },
    /** Whether a person has taken the page. */
    isTaken: () => state.isTaken,
    /** Whether the session is open. */
    isOpen: () => state.isOpen,
    /** The current tab; `undefined` if no tab is open. */
    current: tabs.current,
    /** Records that a person has approved sending a form to this URL, in the running action. */
    submitting(url: string) {
      state.submitted = withoutQuery(url);
    },
    isSubmitted: (url: string) => state.submitted === withoutQuery(url),
    /** Runs work that may lead to other pages, and waits until the page has settled. */
    async act<T>(by: Caller, url: string, work: () => Promise<T>): Promise<T> {
      const acting = async () => {
        const done = await work();
        await settle(await page(), by.signal);
        return done;
      };
      const guarded = guard === undefined ? acting() : guard.navigating(url, acting);
      try {
        return await untilAborted(within(guarded, "The action"), by.signal);
      } finally {
        state.submitted = undefined;
      }
    },
    /**
     * The element with this reference.
     *
     * @throws ToolFailure at once when no element has the reference, with the nearest match.
     */
    element: async (ref: string): Promise<Locator> => elementOf(await page(), ref, labels, look),
    /** Ends the session and the running action. */
    end() {
      state.isOver = true;
    },
    isOver: () => state.isOver,
    /** The URL of the current tab, or of the last tab that was current. */
    lastUrl: tabs.lastUrl,
    async close() {
      state.isOpen = false;
      if (guard === undefined) await tabs.close();
      else await context.close().catch(() => undefined);
      await guard?.close();
    },
  };
}

async function elementOf(
  at: Page,
  ref: string,
  labels: ReadonlyMap<string, string>,
  look: (at: Page) => Promise<Snapshot>,
): Promise<Locator> {
  const name = ref.replace(/^\[?(?:ref=)?(.*?)\]?$/, "$1");
  const found = at.locator(`aria-ref=${name}`);
  if (/^(?:f\d+)?e\d+$/.test(name) && (await found.count().catch(() => 0)) === 1) return found;
  const { refs } = await look(at);
  const was = labels.get(name);
  if (was !== undefined && refs.has(name)) return found; // the snapshot has just given the element its reference again
  const near = was === undefined ? undefined : nearestRef(was, refs);
  const what = was === undefined ? `there is no element ${ref}` : `${ref} (${was}) is no longer on the page`;
  throw new ToolFailure(near === undefined ? what : `${what}. Nearest: ${near}`, {
    hint: "Use a reference of the newest snapshot: action snapshot gives it, action find searches it.",
  });
}

/** What has happened in the session, and how often. */
function createNews() {
  const counts = new Map<string, number>();
  return {
    tell(text: string) {
      const short = clip(text, 500);
      if (counts.has(short) || counts.size < MOST_NEWS) counts.set(short, (counts.get(short) ?? 0) + 1);
    },
    /** Returns the news and forgets them. `refused`: why requests were refused. */
    take(refused: readonly string[]): readonly string[] {
      const more = refused.length > MOST_REFUSED ? [`Refused: ${refused.length - MOST_REFUSED} more requests`] : [];
      const happened = Array.from(counts, ([text, count]) => (count > 1 ? `${text} (${count} times)` : text));
      counts.clear();
      return [...refused.slice(0, MOST_REFUSED).map((each) => `Refused: ${each}`), ...more, ...happened];
    },
  };
}

function keep(list: string[], line: string): void {
  list.push(clip(line, 1_000));
  if (list.length > MOST_KEPT) list.shift();
}

/** The time of an action. The clock stops while a person is asked. */
function createClock() {
  let asking = 0;
  return {
    isStopped: () => asking > 0,
    /** Rejects after `ms`. */
    async within<T>(work: Promise<T>, what: string, ms = ACTION_MS): Promise<T> {
      let left = ms;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setInterval(() => {
          if (asking === 0) left -= TICK_MS;
          if (left <= 0) reject(new ToolFailure(`${what} did not end within ${ms / 1_000} s`));
        }, TICK_MS);
      });
      try {
        return await Promise.race([work, late]);
      } finally {
        clearInterval(timer);
      }
    },
    /** A caller whose questions stop the clock. `answered` is called after each question. */
    unhurried<By extends Caller>(by: By, answered: () => void): By {
      return {
        ...by,
        async permit(effect) {
          asking++;
          try {
            return await by.permit(effect);
          } finally {
            asking--;
            answered();
          }
        },
      };
    },
  };
}

/** The requests of a context. */
function watchTraffic(context: BrowserContext) {
  const lines: string[] = [];
  const inFlight = new Set<Request>();
  let quietSince = Date.now();
  const finished = (request: Request, how: string) => {
    keep(lines, `${request.method()} ${how} ${request.resourceType()} ${request.url()}`);
    if (inFlight.delete(request)) quietSince = Date.now();
  };
  context.on("request", (request) => {
    if (WAITED_FOR.has(request.resourceType())) inFlight.add(request);
  });
  context.on("requestfinished", (request) => {
    void request.response().then(
      (response) => finished(request, String(response?.status() ?? "-")),
      () => finished(request, "-"),
    );
  });
  context.on("requestfailed", (request) => finished(request, request.failure()?.errorText ?? "failed"));
  return {
    lines: lines as readonly string[],
    /** The quiet time counts from now. */
    stir: () => void (quietSince = Date.now()),
    /** Whether a page has waited for nothing for a short time. */
    isQuiet: (page: Page) =>
      ![...inFlight].some((request) => pageOf(request) === page) && Date.now() - quietSince >= QUIET_MS,
  };
}

/** The tabs that a session has opened or selected, and the current one. */
function createTabs(
  context: BrowserContext,
  isGuarded: boolean,
  { tell }: Pick<ReturnType<typeof createNews>, "tell">,
) {
  const consoleLines: string[] = [];
  const downloads: Download[] = [];
  const followed = new Set<Page>();
  let current: Page | undefined;
  let answer: { readonly accept: boolean; readonly text?: string } = { accept: false };
  /** How many tabs pages have begun to open. Playwright reports a tab only when it is open. */
  let opening = 0;

  /** Called when a page that asked whether to leave it was not left. */
  let stayed: ((failure: ToolFailure) => void) | undefined;
  let errorStatus: string | undefined;

  const answerDialog = async (dialog: Dialog): Promise<void> => {
    const isQuestion = dialog.type() !== "alert";
    const accept = answer.accept || !isQuestion;
    if (dialog.type() === "beforeunload") {
      const failure = new ToolFailure(STAYED, {
        hint: `Save it, or repeat the action with ${ACCEPT} to leave the page.`,
      });
      if (!accept && stayed !== undefined) stayed(failure);
      else
        tell(
          accept
            ? "The page asked whether to leave it, and was left"
            : `${STAYED}. To leave it, repeat the action with ${ACCEPT}`,
        );
      return await (accept ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    }
    await (accept ? dialog.accept(answer.text) : dialog.dismiss()).catch(() => undefined);
    const hint = isQuestion && !accept ? '. Repeat the action with dialog="accept" to accept it' : "";
    const how = accept ? "accepted" : "dismissed";
    tell(`Dialog (${dialog.type()}) ${JSON.stringify(dialog.message())} was ${how}${hint}`);
  };
  /** Makes a tab that a page has opened the current tab. */
  const goTo = (opened: Page) => {
    if (current === opened) return;
    opening = Math.max(0, opening - 1);
    follow(opened);
    current = opened;
    tell("A new tab was opened, and is the current one");
  };
  const follow = (page: Page) => {
    if (followed.has(page)) return;
    followed.add(page);
    page.setDefaultTimeout(ELEMENT_MS);
    page.on("dialog", (dialog) => void answerDialog(dialog));
    page.on("download", (download) => downloads.push(download));
    page.on("crash", () => tell("The tab crashed. Open the page again."));
    page.on("pageerror", (error) => {
      keep(consoleLines, `error: ${error.message}`);
      tell(`Console error: ${error.message}`);
    });
    page.on("console", (message) => {
      keep(consoleLines, `${message.type()}: ${message.text()}`);
      // Refused requests are reported separately.
      const isRefusal = isGuarded && message.text().includes("ERR_BLOCKED_BY_CLIENT");
      if (message.type() === "error" && !isRefusal) tell(`Console error: ${message.text()}`);
    });
    page.on("popup", goTo);
    page.on("response", (response) => {
      const isDocument = tried(() => response.request().isNavigationRequest() && response.frame() === page.mainFrame());
      if (isDocument !== true) return;
      errorStatus = response.status() < 400 ? undefined : `${response.status()} ${response.statusText()}`.trim();
      if (errorStatus !== undefined) tell(`${clip(response.url(), 200)} answered ${errorStatus}`);
    });
    const listen = async () => {
      const session = await context.newCDPSession(page);
      session.on("Page.windowOpen", () => opening++);
      await session.send("Page.enable");
    };
    void listen().catch(() => undefined); // the tab is closed already
    page.on("close", () => {
      followed.delete(page);
      if (current === page) current = [...followed].at(-1);
    });
  };
  if (isGuarded) context.on("page", follow);

  return {
    consoleLines: consoleLines as readonly string[],
    takeDownloads: () => downloads.splice(0),
    current: () => current,
    /** The current tab; a new tab if there is none. */
    async page(): Promise<Page> {
      if (current !== undefined && !current.isClosed()) return current;
      current = await context.newPage();
      follow(current);
      return current;
    },
    /** Makes this tab the current tab. */
    select(tab: Page) {
      follow(tab);
      current = tab;
    },
    /** Sets how the next dialogs are answered. Default: dismissed. */
    answerDialogs(accept: boolean, text?: string) {
      answer = { accept, ...(text !== undefined && { text }) };
    },
    /** Waits for work that leaves the page. Rejects at once when the page asks about it and is not left. */
    async leaving<T>(work: Promise<T>): Promise<T> {
      const kept = new Promise<never>((_resolve, reject) => (stayed = reject));
      try {
        return await Promise.race([work, kept]);
      } finally {
        stayed = undefined;
        void work.catch(() => undefined);
      }
    },
    errorStatus: () => errorStatus,
    isOpening: () => opening > 0,
    giveUpOpening: () => void (opening = 0),
    lastUrl: () => (current ?? [...followed].at(-1))?.url() ?? "about:blank",
    close: async () => void (await Promise.all([...followed].map((tab) => tab.close().catch(() => undefined)))),
  };
}

const STAYED =
  "the page was not left, because it asks about that (a beforeunload dialog): what was entered is not saved";
const ACCEPT = 'dialog="accept"';

/** Values that are never shown: what a person typed, and passwords. */
function createSecrets() {
  const hidden = new Set<string>();
  return {
    add: (value: string) => void hidden.add(value),
    /** Hides long values everywhere in the text, also in URLs. */
    withoutSecrets(text: string): string {
      let safe = text;
      for (const value of hidden) {
        if (value.length < LEAST_HIDDEN) continue;
        const inUrls = encodeURIComponent(value);
        for (const each of [value, inUrls, inUrls.replaceAll("%20", "+")]) safe = safe.replaceAll(each, HIDDEN);
      }
      return safe;
    },
    /** The values that fields do not show: all values, if a frame does not tell which are passwords. */
    async on(at: Page): Promise<Pick<ReadonlySet<string>, "has">> {
      const perFrame = at.frames().map((frame) => passwordsIn(frame).catch((): readonly string[] => []));
      const values = await withinMs(FRAMES_MS, Promise.all(perFrame));
      return values === undefined ? { has: () => true } : new Set([...values.flat(), ...hidden]);
    },
    /** The fields whose values are not shown. */
    async fieldsOn(at: Page): Promise<readonly Locator[]> {
      const perFrame = at.frames().map(async (frame) => {
        const typed = frame.locator("input, textarea");
        const values = hidden.size === 0 ? [] : await typed.evaluateAll(valuesOf).catch((): readonly string[] => []);
        const own = values.flatMap((value, index) => (hidden.has(value) ? [typed.nth(index)] : []));
        return [frame.locator("input[type=password]"), ...own];
      });
      return (await Promise.all(perFrame)).flat();
    },
  };
}

/** Asks about each download, and saves the approved downloads. */
async function saveDownloads(downloads: readonly Download[], by: Caller, tell: (text: string) => void): Promise<void> {
  for (const download of downloads) {
    const name = download.suggestedFilename();
    try {
      await by.permit({ kind: "page", act: "download", url: download.url(), detail: name });
      const bytes = await bytesOf(download);
      const id = await by.save(bytes);
      tell(`Downloaded ${name} (${formatSize(bytes.length)}) to output://${id}`);
    } catch (error) {
      by.signal.throwIfAborted();
      await download.cancel().catch(() => undefined);
      tell(`The download ${name} was not kept: ${messageOf(error)}`);
    } finally {
      await download.delete().catch(() => undefined);
    }
  }
}

const TICK_MS = 50;

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}

function pageOf(request: Request): Page | undefined {
  return tried(() => request.frame().page()); // a request of a worker, or made before its frame exists
}

/**
 * Gives editors without a role the role of a text field, because the snapshot omits what has no role and no name.
 * Resolves to whether the page has editors.
 */
async function nameEditors(at: Page): Promise<boolean> {
  const perFrame = at.frames().map((frame) =>
    frame
      .locator(EDITORS)
      .evaluateAll(nameEach)
      .catch(() => false),
  );
  return (await withinMs(FRAMES_MS, Promise.all(perFrame)))?.includes(true) === true;
}

const EDITORS = "[contenteditable]:not([contenteditable=false i])";

/** Runs in the page. */
function nameEach(editors: readonly object[]): boolean {
  for (const editor of editors as readonly Editor[]) {
    const isInside = editor.parentElement?.isContentEditable === true;
    if (!isInside && !editor.hasAttribute("role")) editor.setAttribute("role", "textbox");
  }
  return editors.length > 0;
}

interface Editor {
  readonly parentElement: { readonly isContentEditable?: boolean } | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): void;
}

/** The nodes with the text of editors: the snapshot omits it where it is in no element of its own. */
async function withTexts(nodes: readonly (AriaNode | string)[], at: Page): Promise<readonly (AriaNode | string)[]> {
  const filled = nodes.map(async (node) => {
    if (typeof node === "string") return node;
    if (node.children !== undefined) return { ...node, children: await withTexts(node.children, at) };
    if (node.role !== "textbox" || node.text !== undefined || node.ref === undefined) return node;
    const text = await at
      .locator(`aria-ref=${node.ref}`)
      .innerText({ timeout: SNAPSHOT_MS })
      .catch(() => "");
    return text.trim() === "" ? node : { ...node, text };
  });
  return Promise.all(filled);
}

/** The values of a frame's password fields, which a snapshot would show. */
function passwordsIn(frame: Frame): Promise<readonly string[]> {
  return frame
    .locator("input[type=password]")
    .evaluateAll((fields) => fields.map((field) => (field as { value?: string }).value ?? "").filter(Boolean));
}

/** Runs in the page. */
function valuesOf(fields: readonly object[]): readonly string[] {
  return fields.map((field) => (field as { readonly value?: string }).value ?? "");
}

async function bytesOf(download: Download): Promise<Uint8Array> {
  const stream = await download.createReadStream();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > LARGEST_DOWNLOAD) throw new ToolFailure(`it is larger than ${formatSize(LARGEST_DOWNLOAD)}`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
