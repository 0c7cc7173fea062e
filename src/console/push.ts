import { linkSync, readFileSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Notice } from "../contract/notice.ts";
import { parseJson } from "../util/json.ts";
import { randomName } from "../util/identifier.ts";
import { hasCode, replacePrivateFile } from "../util/private-file.ts";
import type { BrowserSessions, PushSubscription } from "./browser-sessions.ts";
import { isLoopback } from "./access.ts";

/** Sends a notice to all browsers that asked for it. Rejects when one could not be reached, after all were tried. */
export type PushSender = (notice: Notice) => Promise<void>;

/** The server's key pair for push services (VAPID, RFC 8292), in base64url. */
interface PushKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** How long one push service may take, in milliseconds. */
const SEND_MS = 10_000;
/** How long a push service keeps a message for a browser that is off, in seconds. */
const KEPT_SECONDS = 86_400;
/** Who operates this server, for push services: they may refuse messages without. */
const SUBJECT = "https://github.com/";

/**
 * Makes a sender. A message has only the title, risk, thread and question of the notice, encrypted for the browser.
 * A subscription that the push service does not know any more is removed.
 *
 * @param stateDir has the key pair
 */
export function createPushSender(stateDir: string, browsers: BrowserSessions): PushSender {
  return async ({ about, title, thread, question, risk }) => {
    const subscribed = await browsers.subscriptions();
    if (subscribed.length === 0) return;
    const [{ default: webPush }, { request }] = await Promise.all([import("web-push"), import("undici")]);
    const { publicKey, privateKey } = await pushKeys(stateDir);
    const payload = JSON.stringify({ about, title, thread, question, risk });
    const send = async (session: string, subscription: PushSubscription) => {
      const { endpoint, method, headers, body } = webPush.generateRequestDetails(subscription, payload, {
        ...{ vapidDetails: { subject: SUBJECT, publicKey, privateKey }, TTL: KEPT_SECONDS, urgency: "high" },
      });
      // undici computes the length itself. Node's own fetch would use the dispatcher of this undici, which it does not
      // fit.
      const { "Content-Length": _, ...others } = headers;
      const { statusCode, body: answer } = await request(endpoint, {
        ...{ method, headers: others, body, signal: AbortSignal.timeout(SEND_MS) },
      });
      await answer.dump();
      if (statusCode === 404 || statusCode === 410) await browsers.subscribe(session, undefined);
      else if (statusCode < 200 || statusCode > 299)
        throw new Error(`${new URL(endpoint).host} answered ${statusCode}`);
    };
    const sent = await Promise.allSettled(subscribed.map(({ id, subscription }) => send(id, subscription)));
    const failed = sent.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
}

/**
 * Returns the key pair of the state folder. Makes it if there is none (0600), once for all processes.
 *
 * @throws Error when the file cannot be written or read.
 */
export async function pushKeys(stateDir: string): Promise<PushKeys> {
  const name = "push-keys.json";
  const kept = keysIn(join(stateDir, name));
  if (kept !== undefined) return kept;
  const { default: webPush } = await import("web-push");
  const temporary = `.${randomName(16)}`;
  await replacePrivateFile(stateDir, temporary, `${JSON.stringify(webPush.generateVAPIDKeys())}\n`);
  try {
    linkSync(join(stateDir, temporary), join(stateDir, name));
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error; // another process was first
  } finally {
    await unlink(join(stateDir, temporary));
  }
  const made = keysIn(join(stateDir, name));
  if (made !== undefined) return made;
  throw new Error(`${join(stateDir, name)} has no keys. Remove it: new ones are made, and browsers must ask again`);
}

/** True for an address of a push service: HTTPS, or a server of this machine. */
export function isPushEndpoint(endpoint: string): boolean {
  if (!URL.canParse(endpoint)) return false;
  const { protocol, hostname } = new URL(endpoint);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

function keysIn(file: string): PushKeys | undefined {
  try {
    const parsed = parseJson(readFileSync(file, "utf8"));
    const { publicKey, privateKey } = (parsed.ok ? parsed.value : {}) as Partial<PushKeys>;
    return typeof publicKey === "string" && typeof privateKey === "string" ? { publicKey, privateKey } : undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
