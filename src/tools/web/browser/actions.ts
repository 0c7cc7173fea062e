import type { Locator, Page, PageScreenshotOptions } from "playwright-core";
import type { Content } from "../../../core/contract/content.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { portOf } from "../../../machine/network/hosts.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { pause } from "../../../core/util/abort.ts";
import {
  type ActionCaller,
  type ActionInput,
  type ActionName,
  type ActionReport,
  type Caller,
  isLoopback,
} from "./protocol.ts";
import { keyOf } from "./keys.ts";
import { mustHaveOptions } from "./select.ts";
import type { Session } from "./session.ts";
import { HIDDEN, bounded, linesWith } from "./snapshot.ts";

/** What an action has found. */
interface Done {
  /** What is reported of the page. Default: only its URL and title. */
  readonly shows?: "page" | "changes";
  readonly text?: string;
  readonly picture?: Content;
}

type Run = (session: Session, input: ActionInput, by: ActionCaller) => Promise<Done>;

const MOST_FOUND = 30;
const LONGEST_WAIT_SECONDS = 30;
const LONGEST_TYPED = 2_000;

/** Does an action whose arguments were checked (`argumentFault`). */
const RUN: { readonly [Name in ActionName]: Run } = {
  async open(session, { url = "" }, by) {
    await mayBeOpened(url, by);
    const stuck = await session.leaveStuck();
    if (stuck !== undefined) session.tell(stuck);
    const page = await session.page();
    await session.act(by, url, () => session.leaving(opened(session, page, url)));
    return { shows: "page" };
  },
  snapshot: async () => ({ shows: "page" }),
  click: (session, { ref }, by) =>
    onElement(session, by, ref, async (element) => {
      const facts = await factsOf(element);
      if (facts.submits) await mayBeSubmitted(facts, session, by);
      await element.click({ noWaitAfter: true });
    }),
  type: (session, { ref, text = "", submit }, by) =>
    onElement(session, by, ref, async (element, page) => {
      const { isPassword, form } = await factsOf(element);
      if (isPassword) await by.permit({ kind: "page", act: "password", url: page.url() });
      await element.fill(text);
      if (submit !== true) return;
      if (form !== undefined) await mayBeSubmitted(await factsOf(element), session, by);
      await element.press("Enter", { noWaitAfter: true });
    }),
  async press(session, { ref, key: written = "" }, by) {
    const key = keyOf(written);
    const page = await session.page();
    await acting(session, by, async () => {
      const element = ref === undefined ? await focused(page) : await session.element(ref);
      const facts = element === undefined ? undefined : await factsOf(element);
      if (facts?.isPassword === true && Array.from(key).length === 1)
        await by.permit({ kind: "page", act: "password", url: page.url() });
      if (facts !== undefined && SUBMITTING_KEY.test(key) && (facts.isField || facts.submits))
        await mayBeSubmitted(facts, session, by);
      if (ref !== undefined) await element?.focus();
      await page.keyboard.press(key);
    });
    return { shows: "changes" };
  },
  select: (session, { ref, values = [] }, by) =>
    onElement(session, by, ref, async (element) => {
      await mustHaveOptions(element, values, by.signal);
      await element.selectOption([...values], { noWaitAfter: true });
    }),
  hover: (session, { ref }, by) => onElement(session, by, ref, (element) => element.hover()),
  scroll: async (session, { ref, direction = "down" }, by) => {
    if (ref !== undefined) return onElement(session, by, ref, (element) => element.scrollIntoViewIfNeeded());
    const page = await session.page();
    await acting(session, by, () => page.evaluate(scrolled, direction));
    return { shows: "changes" };
  },
  async wait(session, { text, gone = false, seconds = LONGEST_WAIT_SECONDS, person }, by) {
    const page = await session.page();
    const limit = Math.min(Math.max(seconds, 0), LONGEST_WAIT_SECONDS) * 1_000;
    await session.act(by, "", async () => {
      if (person !== undefined) await session.byPerson(() => askPerson(page, person, by));
      else if (text === undefined) await pause(limit, by.signal);
      else await untilShown(page, text, gone, limit, by.signal);
    });
    return { shows: "changes" };
  },
  async text(session, { ref }) {
    const page = await session.page();
    const element = ref === undefined ? page.locator("body") : await session.element(ref);
    return { text: await session.within(element.innerText(), "Reading the text") };
  },
  async find(session, { text = "" }, by) {
    const page = await session.page();
    const search = async () => linesWith((await session.look(page)).text, text, MOST_FOUND);
    let { lines, hits } = await search();
    // What a page loads late is not on the page at once.
    for (const deadline = Date.now() + LATE_MS; hits === 0 && Date.now() < deadline; await pause(POLL_MS, by.signal))
      ({ lines, hits } = await search());
    if (hits === 0) return { text: `Nothing on the page contains ${JSON.stringify(text)}.` };
    return { text: hits > MOST_FOUND ? `${lines}\n[The first ${MOST_FOUND} of ${hits} matches.]` : lines };
  },
  async screenshot(session, { ref }) {
    const page = await session.page();
    const options = {
      type: "jpeg",
      quality: 70,
      mask: [...(await session.secretFields(page))],
    } satisfies PageScreenshotOptions;
    const taken = ref === undefined ? page.screenshot(options) : (await session.element(ref)).screenshot(options);
    const data = (await session.within(taken, "The screenshot")).toString("base64");
    return { picture: { type: "image", data, mimeType: "image/jpeg" } };
  },
  upload: (session, { ref, paths = [] }, by) =>
    onElement(session, by, ref, async (element, page) => {
      const files = await Promise.all(paths.map(by.readFile));
      await by.permit({ kind: "page", act: "upload", url: page.url(), detail: paths.join(", ") });
      const { isFile } = await factsOf(element);
      if (isFile) return element.setInputFiles(files);
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), element.click({ noWaitAfter: true })]);
      await chooser.setFiles(files);
    }),
  async back(session, _input, by) {
    const page = await session.page();
    const response = await session.act(by, "", () => session.leaving(page.goBack({ timeout: 0, waitUntil: "commit" })));
    if (response === null && page.url() === "about:blank") session.tell("There is no page to go back to");
    return { shows: "page" };
  },
  async tabs(session, { tab }) {
    if (tab !== undefined) {
      session.select(tabOf(session, tab));
      return { shows: "page" };
    }
    const now = await session.page();
    const lines = session.context.pages().map(async (page, index) => {
      const title = await session.within(page.title(), "Reading the title");
      return `${index + 1}. ${title} ${page.url()}${page === now ? " (current)" : ""}`;
    });
    return { text: (await Promise.all(lines)).join("\n") };
  },
  console: async ({ consoleLines }) => ({ text: consoleLines.join("\n") || "No messages." }),
  network: async ({ requests }) => ({ text: requests.join("\n") || "No requests." }),
  async evaluate(session, { script = "", ref }, by) {
    const page = await session.page();
    await by.permit({ kind: "page", act: "script", url: page.url(), detail: script });
    const element = ref === undefined ? page.locator(":root") : await session.element(ref);
    const value = await session.act(by, "", () => element.evaluate(evaluated, script));
    return { shows: "changes", text: typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined") };
  },
  async close(session, { tab }) {
    if (tab === undefined) {
      session.end();
      return { text: "The browser is closed." };
    }
    await tabOf(session, tab).close();
    return { shows: "page" };
  },
};

/**
 * Does an action in the thread's browser.
 *
 * @throws ToolFailure for arguments that do not fit, an unknown element, and a page that does not react in time.
 */
export async function doAction(
  session: Session,
  name: ActionName,
  input: ActionInput,
  by: ActionCaller,
): Promise<ActionReport> {
  session.answerDialogs(input.dialog === "accept", name === "click" ? input.text : undefined);
  const {
    shows = "nothing",
    text,
    picture,
  } = await RUN[name](session, input, by).catch(async (error: unknown) => {
    by.signal.throwIfAborted();
    const stuck = name === "close" ? undefined : await session.leaveStuck();
    throw stuck === undefined ? error : new ToolFailure(stuck, { hint: "Open another page.", cause: error });
  });
  const shown = text === undefined ? undefined : session.withoutSecrets(text);
  const cut = shown === undefined ? undefined : bounded(shown);
  const report = session.isOver() ? undefined : await session.report(by, shows);
  return {
    ...report,
    ...(cut !== undefined && { text: cut.shown }),
    ...(shown !== undefined && cut?.isCut === true && { textOutput: await by.save(shown) }),
    ...(picture !== undefined && { picture }),
  };
}

const SUBMITTING_KEY = /^(?:Enter|NumpadEnter|Space| )$/;

/** Shows a page to a person, and waits until the person answers that it is done. */
export async function askPerson(page: Page, what: string, by: Caller): Promise<void> {
  await page.bringToFront();
  await by.permit({ kind: "page", act: "person", url: page.url(), detail: what });
}

/** A page of this machine belongs to a job of the thread, or is judged like any other page (see the tool's effects). */
async function mayBeOpened(url: string, by: ActionCaller): Promise<void> {
  if (!isLoopback(url) || (await by.reachPort(portOf(new URL(url)))) !== undefined) return;
  await by.permit({ kind: "fetch", url, method: "GET" });
}

/** Opens a page. A download is not a failure: it is reported as a download. */
async function opened(session: Session, page: Page, url: string): Promise<void> {
  try {
    await page.goto(url, { timeout: 0, waitUntil: "commit" });
  } catch (error) {
    const message = messageOf(error);
    if (message.includes("Download is starting")) return;
    const [reason = ""] = message.replace(/^page\.goto: /, "").split("\n");
    const refused = message.includes("ERR_BLOCKED_BY_CLIENT") ? session.takeRefused() : [];
    const status = message.includes("ERR_HTTP_RESPONSE_CODE_FAILURE") ? session.errorStatus() : undefined;
    if (status !== undefined) throw new ToolFailure(`${url} answered ${status}, without a page`, { cause: error });
    throw new ToolFailure(`${url} could not be opened: ${refused.join("; ") || reason}`, { cause: error });
  }
}

/** Does something to an element, and waits until the page has settled. */
async function onElement(
  session: Session,
  by: Caller,
  ref = "",
  work: (element: Locator, page: Page) => Promise<unknown>,
): Promise<Done> {
  const page = await session.page();
  const element = await session.element(ref);
  await acting(session, by, () => work(element, page));
  return { shows: "changes" };
}

async function acting(session: Session, by: Caller, work: () => Promise<unknown>): Promise<void> {
  await session.act(by, "", () => work().catch(explained));
}

/** Says in one sentence why Playwright could not act on an element. */
function explained(error: unknown): never {
  if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
  const why = /(?:<.*?> .*?intercepts pointer events|element is (?:not \w+|outside of the viewport))/.exec(
    error.message,
  );
  throw new ToolFailure(`the element could not be used within 10 s${why === null ? "" : `: ${why[0]}`}`, {
    hint: "Take a snapshot: something may cover it, or the page may still be loading.",
    cause: error,
  });
}

function tabOf(session: Session, tab: number): Page {
  const pages = session.context.pages();
  const page = pages[tab - 1];
  if (page === undefined) throw new ToolFailure(`there is no tab ${tab}: expected 1 to ${pages.length}`);
  return page;
}

async function untilShown(
  page: Page,
  text: string,
  isGone: boolean,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  for (const deadline = Date.now() + limit; ; await pause(POLL_MS, signal)) {
    const shown = await Promise.all(page.frames().map((frame) => isVisible(frame.getByText(text))));
    if (shown.includes(true) !== isGone) return;
    if (Date.now() <= deadline) continue;
    const what = isGone ? "is still" : "did not appear";
    throw new ToolFailure(`${JSON.stringify(text)} ${what} on the page after ${limit / 1_000} s`);
  }
}

const POLL_MS = 100;
/** How long to look for a text that is not on the page yet, in milliseconds. */
const LATE_MS = 3_000;

async function isVisible(found: Locator): Promise<boolean> {
  return found
    .filter({ visible: true })
    .count()
    .then(Boolean, () => false);
}

/** The element that has the focus, in any frame. */
async function focused(page: Page): Promise<Locator | undefined> {
  for (const frame of page.frames().toReversed()) {
    const found = frame.locator(":focus");
    if ((await found.count().catch(() => 0)) > 0) return found.last();
  }
  return undefined;
}

/** What decides whether a person is asked. */
interface Facts {
  readonly isPassword: boolean;
  readonly isFile: boolean;
  /** A field in which Enter submits the form. */
  readonly isField: boolean;
  /** A button that submits the form. */
  readonly submits: boolean;
  readonly form?: {
    readonly action: string;
    readonly method: string;
    readonly fields: readonly string[];
    /** Why the browser does not send it: fields and what is wrong with them. */
    readonly faults: readonly string[];
  };
}

/** Runs in the page. Reads attributes, because a page may give a form's fields the names of its properties. */
function readFacts(element: PageElement, hiddenValue: string): Facts {
  const field = element.closest("button, input, textarea, select") ?? element;
  const type = (field.getAttribute("type") ?? "").toLowerCase();
  const tag = field.tagName;
  const form = field.form ?? undefined;
  const isPassword = tag === "INPUT" && type === "password";
  const submits =
    form !== undefined && ((tag === "BUTTON" && !/^(?:button|reset)$/.test(type)) || /^(?:submit|image)$/.test(type));
  return {
    isPassword,
    isFile: tag === "INPUT" && type === "file",
    isField: tag === "INPUT" && !submits,
    submits,
    ...(form !== undefined && {
      form: {
        action: new URL(form.getAttribute("action") ?? "", form.ownerDocument.baseURI).href,
        method: (form.getAttribute("method") ?? "get").toUpperCase(),
        fields: Array.from(form.querySelectorAll("input, textarea, select"))
          .filter((each) => each.name !== "" && !/^(?:hidden|submit|button|reset|image)$/.test(each.type))
          .filter((each) => !/^(?:checkbox|radio)$/.test(each.type) || each.checked)
          .map((each) => `${each.name}=${each.type === "password" ? hiddenValue : each.value}`),
        faults:
          form.getAttribute("novalidate") !== null || field.getAttribute("formnovalidate") !== null
            ? []
            : Array.from(form.querySelectorAll("input:invalid, select:invalid, textarea:invalid")).map(
                (each) =>
                  `"${each.labels?.[0]?.textContent.trim() || each.getAttribute("aria-label") || each.name}": ` +
                  each.validationMessage,
              ),
      },
    }),
  };
}

/** The parts of a page's elements that are read. (The browser's own types would apply to all of Handrail's code.) */
interface PageElement {
  readonly tagName: string;
  readonly name: string;
  readonly type: string;
  readonly value: string;
  readonly checked: boolean;
  readonly textContent: string;
  readonly validationMessage: string;
  readonly labels?: ArrayLike<PageElement> | null;
  readonly form?: PageElement | null;
  readonly ownerDocument: { readonly baseURI: string };
  getAttribute(name: string): string | null;
  closest(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement>;
}

async function factsOf(element: Locator): Promise<Facts> {
  return element.evaluate<Facts, string>(readFacts as never, HIDDEN);
}

/** Asks whether a form may be submitted. */
async function mayBeSubmitted({ form }: Facts, session: Session, by: Caller): Promise<void> {
  if (form === undefined) return;
  if (form.faults.length > 0) {
    return session.tell(`The browser does not send the form: ${form.faults.join("; ").replaceAll(/\s+/g, " ")}`);
  }
  const fields = session.withoutSecrets(form.fields.join(", ")).slice(0, LONGEST_TYPED);
  await by.permit({ kind: "page", act: "submit", url: form.action, detail: `${form.method} ${fields}`.trim() });
  session.submitting(form.action);
}

/**
 * Runs in the page. The script is an expression, or statements, whose value is what they return or their last one. A
 * function is called with the element.
 */
async function evaluated(element: unknown, script: string): Promise<unknown> {
  // oxlint-disable no-eval, no-implied-eval -- a person has approved the script, and it runs in the page
  const body = (text: string): ((element: unknown) => Promise<unknown>) | undefined => {
    try {
      return new Function("element", `return (async () => {${text}\n})()`) as (element: unknown) => Promise<unknown>;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  };
  const isBody = /\b(?:return|await)\b/.test(script);
  const expression = body(`return (${script}\n)`);
  const run = expression ?? (isBody ? body(script) : undefined);
  const value: unknown = await (run === undefined ? (0, eval)(script) : run(element));
  // oxlint-enable no-eval, no-implied-eval
  return typeof value === "function" ? (value as (element: unknown) => unknown)(element) : value;
}

/** Runs in the page. */
function scrolled(direction: "up" | "down" | "top" | "bottom"): void {
  const view = globalThis as unknown as {
    readonly innerHeight: number;
    readonly document: { readonly documentElement: { readonly scrollHeight: number } };
    scrollTo(x: number, y: number): void;
    scrollBy(x: number, y: number): void;
  };
  if (direction === "top") view.scrollTo(0, 0);
  else if (direction === "bottom") view.scrollTo(0, view.document.documentElement.scrollHeight);
  else view.scrollBy(0, (direction === "up" ? -0.9 : 0.9) * view.innerHeight);
}
