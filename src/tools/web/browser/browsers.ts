import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Browser, BrowserContext } from "playwright-core";
import type { Decision } from "../../../core/contract/decision.ts";
import type { Effect } from "../../../core/contract/effect.ts";
import type { ThreadId } from "../../../core/contract/identity.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import type { NetworkSettings } from "../../../machine/network/network-settings.ts";
import { pause, untilAborted } from "../../../core/util/abort.ts";
import { messageOf } from "../../../core/util/errors.ts";
import { askPerson, doAction } from "./actions.ts";
import { startChromium } from "./chromium.ts";
import {
  type ActionCaller,
  type ActionInput,
  type ActionName,
  type ActionReport,
  type BrowserSettings,
  type Browsers,
  type Caller,
  argumentFault,
} from "./protocol.ts";
import { CHROMIUM_ARGUMENTS } from "./arguments.ts";
import { browserGuard } from "./guard.ts";
import { useAsPerson, watchPage } from "./live.ts";
import { type BrowserNetwork, listenIn } from "./network.ts";
import { type Profile, openProfile } from "./profile.ts";
import type { RequestVerdict } from "./requests.ts";
import { type Session, openSession } from "./session.ts";

export interface BrowsersOptions extends BrowserSettings {
  /** A private folder for the browsers. Created when it is needed. */
  readonly folder: string;
  /** The user's network settings. */
  readonly network?: NetworkSettings | undefined;
  /** Opens a network for Chromium. Resolves to `undefined` if that is impossible: Chromium then uses this machine's. */
  readonly openNetwork: () => Promise<BrowserNetwork | undefined>;
  /** The policy's decision on what a thread touches. Asks nobody. */
  readonly judge: (thread: ThreadId, effect: Effect) => Promise<Decision>;
}

/** A context that is not used for this long is closed, because each context takes memory. Milliseconds. */
const IDLE_MS = 1_800_000;

/** A page that a person has taken over is handed back when nobody has watched it for this long. Milliseconds. */
const UNWATCHED_MS = 60_000;

const VIEWPORT = { width: 1_280, height: 800 };

/** Creates the browsers of a toolkit. */
export function createBrowsers({ folder, network = {}, judge, openNetwork, ...settings }: BrowsersOptions): Browsers {
  const threads = new Map<ThreadId, Thread>();
  const chromium = createChromium(folder, settings, openNetwork);
  const guardOf = guards(network, judge);
  let profile: Promise<Profile> | undefined;
  let isClosed = false;

  const profileOf = (name: string) =>
    (profile ??= openProfile(folder, name).catch((error: unknown) => {
      profile = undefined;
      throw error;
    }));

  const open = async (mine: Thread): Promise<Session> => {
    if (settings.cdp !== undefined) {
      const [context] = (await chromium.running()).browser.contexts();
      if (context === undefined) throw new ToolFailure(`the browser at ${settings.cdp} has no window`);
      return openSession(context);
    }
    const { browser, room } = await chromium.running();
    const held = await guardOf(mine, room);
    let context: BrowserContext | undefined;
    try {
      const logins = settings.profile === undefined ? {} : await (await profileOf(settings.profile)).restored();
      context = await browser.newContext({
        proxy: held.proxy,
        serviceWorkers: "block",
        viewport: settings.headed === true ? null : VIEWPORT,
        ...logins,
      });
      await held.guard(context);
      return openSession(context, held);
    } catch (error) {
      await context?.close().catch(() => undefined);
      await held.close();
      throw error;
    }
  };

  const { of, openOf, end, rest } = createSessions(open, async ({ context }) => {
    await (await profile?.catch(() => undefined))?.save(context).catch(() => undefined);
  });

  const act = async (mine: Thread, action: ActionName, input: ActionInput, by: ActionCaller): Promise<ActionReport> => {
    by.signal.throwIfAborted();
    if (isClosed) throw new ToolFailure("the browser is closed");
    const session = await of(mine);
    const caller = (mine.by = session.unhurried(by));
    mine.reachPort = by.reachPort;
    mine.opening = action === "open" ? input.url : undefined;
    try {
      return await doAction(session, action, input, caller);
    } catch (error) {
      if (isAlive(session)) throw inOneLine(error);
      if (action === "open") return await act(mine, action, input, by); // nothing has happened
      throw new ToolFailure("the browser crashed", {
        hint: "The next action starts it again. Open the page again.",
        cause: error,
      });
    } finally {
      mine.by = undefined;
      mine.lastUrl = session.lastUrl();
      if (session.isOver()) await end(mine);
      else rest(mine);
    }
  };

  const takeOver = async (mine: Thread, by: Caller): Promise<void> => {
    by.signal.throwIfAborted();
    const session = await openOf(mine);
    const page = session?.current();
    if (session === undefined || page === undefined) throw new ToolFailure("no page is open in this thread");
    clearTimeout(mine.idle);
    const caller = (mine.by = session.unhurried(by));
    mine.opening = undefined;
    try {
      await session.act(caller, "", () => session.byPerson(() => askPerson(page, TAKEN_OVER, caller)));
    } finally {
      mine.by = undefined;
      mine.lastUrl = session.lastUrl();
      rest(mine);
      session.tell("A person had taken over the page, and has handed it back");
    }
  };

  const threadOf = (thread: ThreadId): Thread => {
    const mine = threads.get(thread) ?? { thread, turn: Promise.resolve(), watching: 0, watchedMs: 0 };
    threads.set(thread, mine);
    return mine;
  };

  /** Does work after the thread's earlier work. */
  const inTurn = <T>(mine: Thread, by: Caller, work: () => Promise<T>): Promise<T> => {
    const turn = mine.turn.then(work);
    mine.turn = turn.catch(() => undefined);
    return untilAborted(turn, by.signal);
  };

  return {
    async act(thread, action, input, by) {
      const fault = argumentFault(action, input);
      if (fault !== undefined) throw new ToolFailure(fault);
      const mine = threadOf(thread);
      if ((await openOf(mine))?.isTaken() === true) by.tell("waits: a person has the page");
      return inTurn(mine, by, () => act(mine, action, input, by));
    },
    async takeOver(thread, by) {
      const mine = threadOf(thread);
      return inTurn(mine, by, () => takeOver(mine, by));
    },
    async watch(thread, signal) {
      const mine = threads.get(thread);
      const session = await openOf(mine);
      if (mine === undefined || session === undefined) return undefined;
      return watched(mine, watchPage(session, signal));
    },
    async use(thread, inputs) {
      const session = await openOf(threads.get(thread));
      const page = session?.current();
      if (session === undefined || page === undefined || !session.isTaken())
        throw new ToolFailure("no person has taken over the page of this thread");
      await session.within(useAsPerson(page, inputs), "What was typed or clicked", INPUT_MS);
    },
    async untilUnwatched(thread, signal) {
      const mine = threadOf(thread);
      mine.watchedMs = Date.now();
      while (!signal.aborted && (mine.watching > 0 || Date.now() - mine.watchedMs < UNWATCHED_MS))
        await pause(WATCH_POLL_MS, signal, { keepsAlive: false });
    },
    async close() {
      isClosed = true;
      await Promise.all([...threads.values()].map(end));
      await chromium.stop();
      await (await profile?.catch(() => undefined))?.release();
    },
  };
}

/** The Chromium that all threads share. It is started when it is needed. */
function createChromium(
  folder: string,
  settings: BrowserSettings,
  openNetwork: BrowsersOptions["openNetwork"],
): {
  /** Resolves to the running Chromium; to a new one when the last has crashed. */
  running(): Promise<Running>;
  stop(): Promise<void>;
} {
  let running: Promise<Running> | undefined;

  const start = async (): Promise<Running> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const own = mkdtempSync(join(folder, "run-"));
    const startIn = (room?: BrowserNetwork) => startChromium(settings, CHROMIUM_ARGUMENTS, own, room);
    const room = settings.cdp === undefined ? await openNetwork() : undefined;
    try {
      if (room === undefined) return { browser: await startIn(), own };
      try {
        return { browser: await startIn(room), own, room };
      } catch {
        await room.close(); // what Chromium's own sandbox needs may be forbidden in that network
        return { browser: await startIn(), own };
      }
    } catch (error) {
      rmSync(own, { recursive: true, force: true });
      throw error;
    }
  };

  const stop = async () => {
    const started = await running?.catch(() => undefined);
    running = undefined;
    await started?.browser.close().catch(() => undefined);
    await started?.room?.close();
    if (started !== undefined) rmSync(started.own, { recursive: true, force: true });
  };

  const current = async (): Promise<Running> => {
    const last = running;
    const isRunning = (await last?.catch(() => undefined))?.browser.isConnected() === true;
    if (!isRunning && last !== undefined && running === last) await stop();
    running ??= start();
    return running;
  };
  return { running: current, stop };
}

/** Returns a function that creates the guard of a thread: it judges what its pages and people request. */
function guards(network: NetworkSettings, judge: BrowsersOptions["judge"]) {
  /**
   * Judges what a page requests by itself. Questions about URLs that a model may have composed (unseen URLs and long
   * queries) do not apply to these requests.
   */
  const judgeOwn = async (thread: ThreadId, url: string): Promise<RequestVerdict> => {
    const { verdict, rule, reason } = await judge(thread, { kind: "fetch", url, method: "GET" });
    const isForModels = rule === "long_query" || (rule === "network.fetch" && network.fetch !== "ask");
    if (verdict === "allow" || (verdict === "ask" && isForModels)) return { verdict: "allowed" };
    return { verdict: "refused", reason: reason ?? "it needs approval" };
  };

  /** Judges where a person goes who has taken the page. A question would record what the person typed into a form. */
  const permitPerson = async (thread: ThreadId, by: Caller, url: string): Promise<RequestVerdict> => {
    const judged = await judgeOwn(thread, url);
    if (judged.verdict === "allowed") return judged;
    return permitted(() => by.permit({ kind: "fetch", url: url.replace(/[?#].*$/s, ""), method: "GET" }));
  };

  return (mine: Thread, room: BrowserNetwork | undefined) =>
    browserGuard({
      network,
      listen: room && ((server) => listenIn(room.prefix, server)),
      reachPort: async (port) => mine.reachPort?.(port),
      judge: ({ url }) => judgeOwn(mine.thread, url),
      async permit({ url, method, body }) {
        const { by, session: opened, opening } = mine;
        if (by === undefined) return { verdict: "refused", reason: "no action of the thread leads to it" };
        const session = await opened;
        if (session?.isSubmitted(url) === true) return { verdict: "allowed" };
        if (session?.isTaken() === true) return permitPerson(mine.thread, by, url);
        // The page chose where a click leads, and the server chose where a redirect within its host leads.
        if (opening === undefined || hostOf(opening) === hostOf(url)) by.linked(opening ?? url, [url]);
        const isFetch = method === "GET" || method === "HEAD";
        const sent = { kind: "request", url, method, ...(body !== undefined && { body }) } as const;
        return permitted(() => by.permit(isFetch ? { kind: "fetch", url, method } : sent));
      },
    });
}

/** The sessions of threads. A session is opened at its first use, and ends when it is not used for long. */
function createSessions(open: (mine: Thread) => Promise<Session>, save: (session: Session) => Promise<void>) {
  const end = async (mine: Thread) => {
    clearTimeout(mine.idle);
    const ending = mine.session;
    delete mine.session;
    const session = await ending?.catch(() => undefined);
    if (session === undefined) return;
    await save(session);
    await session.close();
  };

  /** The thread's session; a new one when the thread has none, or its browser has crashed. */
  const of = async (mine: Thread): Promise<Session> => {
    clearTimeout(mine.idle);
    const before = await mine.session?.catch(() => undefined);
    const isGone = before !== undefined && !isAlive(before);
    if (isGone) await end(mine);
    mine.session ??= open(mine).catch((error: unknown) => {
      delete mine.session; // the next action tries again
      throw error;
    });
    const session = await mine.session;
    if (isGone) session.tell(`The browser had crashed and was started again. Its pages are gone: ${mine.lastUrl}`);
    return session;
  };

  /** The session of a thread, if the thread has one and its browser runs. */
  const openOf = async (mine: Thread | undefined): Promise<Session | undefined> => {
    const session = await mine?.session?.catch(() => undefined);
    return session !== undefined && isAlive(session) && session.isOpen() ? session : undefined;
  };

  return {
    of,
    openOf,
    end,
    rest: (mine: Thread) => void (mine.idle = setTimeout(() => void end(mine), IDLE_MS).unref()),
  };
}

async function permitted(ask: () => Promise<unknown>): Promise<RequestVerdict> {
  try {
    await ask();
    return { verdict: "allowed" };
  } catch (error) {
    return { verdict: "refused", reason: messageOf(error) };
  }
}

/** An error of Playwright's without its log. */
function inOneLine(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes("\n") || error instanceof ToolFailure) return error;
  return new ToolFailure(stripVTControlCharacters(error.message).split("\n", 1)[0] ?? "", { cause: error });
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^www\./, "");
}

const TAKEN_OVER = "what you took it over for. Answer when the agent may go on";

/** How long the page may take to react to what a person does, in milliseconds. */
const INPUT_MS = 5_000;
const WATCH_POLL_MS = 1_000;

/** Counts how many people watch a page. */
async function* watched<T>(mine: Thread, views: AsyncIterable<T>): AsyncGenerator<T> {
  mine.watching++;
  try {
    yield* views;
  } finally {
    mine.watching--;
    mine.watchedMs = Date.now();
  }
}

function isAlive({ context }: Session): boolean {
  return context.browser()?.isConnected() !== false;
}

/** The Chromium of all threads. */
interface Running {
  readonly browser: Browser;
  /** The private folder of this Chromium. */
  readonly own: string;
  /** The network in which Chromium runs, if it has its own. */
  readonly room?: BrowserNetwork;
}

/** The browser of a thread. */
interface Thread {
  readonly thread: ThreadId;
  session?: Promise<Session>;
  /** The call that runs now. */
  by?: Caller | undefined;
  /** The URL that the model opens now; `undefined` during another action. */
  opening?: string | undefined;
  reachPort?: ActionCaller["reachPort"];
  /** Resolves when the last call has ended. */
  turn: Promise<unknown>;
  idle?: NodeJS.Timeout;
  lastUrl?: string;
  /** How many people watch the page, and when somebody last watched it, in milliseconds since 1970. */
  watching: number;
  watchedMs: number;
}
