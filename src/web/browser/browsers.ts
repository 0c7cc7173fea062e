import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import type { Decision } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import type { ThreadId } from "../../contract/identity.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { NetworkSettings } from "../../network/network-settings.ts";
import { messageOf } from "../../util/errors.ts";
import { doAction } from "./actions.ts";
import { startChromium } from "./chromium.ts";
import {
  type ActionCaller,
  type ActionInput,
  type ActionName,
  type ActionReport,
  type BrowserSettings,
  type Browsers,
  argumentFault,
} from "./protocol.ts";
import { browserGuard } from "./guard.ts";
import { type Profile, openProfile } from "./profile.ts";
import { type Session, openSession } from "./session.ts";

export interface BrowsersOptions extends BrowserSettings {
  /** A private folder. Created when it is needed. */
  readonly folder: string;
  /** The user's network settings. */
  readonly network?: NetworkSettings | undefined;
  /** The policy's decision on what a thread touches. Asks nobody. */
  readonly judge: (thread: ThreadId, effect: Effect) => Promise<Decision>;
}

/** A context that is not used for so long is closed, since each takes memory. Milliseconds. */
const IDLE_MS = 1_800_000;

const VIEWPORT = { width: 1_280, height: 800 };

/** Creates the browsers of a toolkit. */
export function createBrowsers({ folder, network = {}, judge, ...settings }: BrowsersOptions): Browsers {
  const threads = new Map<ThreadId, Thread>();
  let running: Promise<{ readonly browser: Browser; readonly own: string }> | undefined;
  let profile: Promise<Profile> | undefined;
  let isClosed = false;

  const start = async (args: readonly string[]) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const own = mkdtempSync(join(folder, "run-"));
    try {
      return { browser: await startChromium(settings, args, own), own };
    } catch (error) {
      rmSync(own, { recursive: true, force: true });
      throw error;
    }
  };

  const stop = async () => {
    const started = await running?.catch(() => undefined);
    running = undefined;
    await started?.browser.close().catch(() => undefined);
    if (started !== undefined) rmSync(started.own, { recursive: true, force: true });
  };

  /** The running Chromium; another one when the last has crashed. */
  const chromium = async (args: readonly string[]): Promise<Browser> => {
    const last = running;
    const isRunning = (await last?.catch(() => undefined))?.browser.isConnected() === true;
    if (!isRunning && last !== undefined && running === last) await stop();
    running ??= start(args);
    return (await running).browser;
  };

  const profileOf = (name: string) =>
    (profile ??= openProfile(folder, name).catch((error: unknown) => {
      profile = undefined;
      throw error;
    }));

  const guardOf = (mine: Thread) =>
    browserGuard({
      network,
      reachPort: async (port) => mine.reachPort?.(port),
      /**
       * What a page requests by itself. Questions about URLs that a model may have composed do not concern it: unseen
       * ones, and long queries.
       */
      async judge({ url }) {
        const { verdict, rule, reason } = await judge(mine.thread, { kind: "fetch", url, method: "GET" });
        const isForModels = rule === "long_query" || (rule === "network.fetch" && network.fetch !== "ask");
        if (verdict === "allow" || (verdict === "ask" && isForModels)) return { verdict: "allowed" };
        return { verdict: "refused", reason: reason ?? "it needs approval" };
      },
      async permit({ url, method, body }) {
        const { by, session, opening } = mine;
        if (by === undefined) return { verdict: "refused", reason: "no action of the thread leads to it" };
        if ((await session)?.isSubmitted(url) === true) return { verdict: "allowed" };
        // The page chose where a click leads, and the server where a redirect within its host does.
        if (opening === undefined || hostOf(opening) === hostOf(url)) by.linked(opening ?? url, [url]);
        const isFetch = method === "GET" || method === "HEAD";
        const sent = { kind: "request", url, method, ...(body !== undefined && { body }) } as const;
        try {
          await by.permit(isFetch ? { kind: "fetch", url, method } : sent);
          return { verdict: "allowed" };
        } catch (error) {
          return { verdict: "refused", reason: messageOf(error) };
        }
      },
    });

  const open = async (mine: Thread): Promise<Session> => {
    if (settings.cdp !== undefined) {
      const [context] = (await chromium([])).contexts();
      if (context === undefined) throw new ToolFailure(`the browser at ${settings.cdp} has no window`);
      return openSession(context);
    }
    const held = await guardOf(mine);
    let context: BrowserContext | undefined;
    try {
      const logins = settings.profile === undefined ? {} : await (await profileOf(settings.profile)).restored();
      context = await (
        await chromium(held.args)
      ).newContext({
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

  const end = async (mine: Thread) => {
    clearTimeout(mine.idle);
    const ending = mine.session;
    delete mine.session;
    const session = await ending?.catch(() => undefined);
    if (session === undefined) return;
    await (await profile?.catch(() => undefined))?.save(session.context).catch(() => undefined);
    await session.close();
  };

  /** The thread's session; another one when it has none, or its browser has crashed. */
  const sessionOf = async (mine: Thread): Promise<Session> => {
    clearTimeout(mine.idle);
    const before = await mine.session?.catch(() => undefined);
    const isGone = before !== undefined && !isAlive(before);
    if (isGone) await end(mine);
    const session = await (mine.session ??= open(mine));
    if (isGone) session.tell(`The browser had crashed and was started again. Its pages are gone: ${mine.lastUrl}`);
    return session;
  };

  const act = async (mine: Thread, action: ActionName, input: ActionInput, by: ActionCaller): Promise<ActionReport> => {
    by.signal.throwIfAborted();
    if (isClosed) throw new ToolFailure("the browser is closed");
    const session = await sessionOf(mine);
    mine.by = session.unhurried(by);
    mine.reachPort = by.reachPort;
    mine.opening = action === "open" ? input.url : undefined;
    try {
      return await doAction(session, action, input, mine.by);
    } catch (error) {
      if (isAlive(session)) throw error;
      if (action === "open") return await act(mine, action, input, by); // nothing has happened
      throw new ToolFailure("the browser crashed", {
        hint: "The next action starts it again. Open the page again.",
        cause: error,
      });
    } finally {
      mine.by = undefined;
      mine.lastUrl = session.lastUrl();
      if (session.isOver()) await end(mine);
      else mine.idle = setTimeout(() => void end(mine), IDLE_MS).unref();
    }
  };

  return {
    act(thread, action, input, by) {
      const fault = argumentFault(action, input);
      if (fault !== undefined) return Promise.reject(new ToolFailure(fault));
      const mine = threads.get(thread) ?? { thread, turn: Promise.resolve() };
      threads.set(thread, mine);
      const turn = mine.turn.then(() => act(mine, action, input, by));
      mine.turn = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      isClosed = true;
      await Promise.all([...threads.values()].map(end));
      await stop();
      await (await profile?.catch(() => undefined))?.release();
    },
  };
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^www\./, "");
}

function isAlive({ context }: Session): boolean {
  return context.browser()?.isConnected() !== false;
}

/** The browser of a thread. */
interface Thread {
  readonly thread: ThreadId;
  session?: Promise<Session>;
  /** The call that runs now. */
  by?: ActionCaller | undefined;
  /** The URL that the model opens now; `undefined` in another action. */
  opening?: string | undefined;
  reachPort?: ActionCaller["reachPort"];
  /** Resolves when the last call has ended. */
  turn: Promise<unknown>;
  idle?: NodeJS.Timeout;
  lastUrl?: string;
}
