import { linkSync, readFileSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Notice } from "../contract/notice.ts";
import type { NetworkSettings } from "../network/network-settings.ts";
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
 * A subscription that the push service does not know any more is removed. Requests pass the guard: a service is reached
 * only at public addresses, except one of this machine, and no redirect is followed.
 *
 * @param stateDir has the key pair
 * @param network the user's denied and private hosts, proxy and ports. Default: those of `NetworkSettings`
 * @param tenant the tenant whose browsers get them. Default: the browsers of people who belong to none
 */
export function createPushSender(
  stateDir: string,
  browsers: BrowserSessions,
  network: NetworkSettings = {},
  tenant?: string,
): PushSender {
  return async ({ about, title, thread, question, risk }) => {
    const subscribed = (await browsers.subscriptions()).filter((each) => each.tenant === tenant);
    if (subscribed.length === 0) return;
    const [{ default: webPush }, { createStreamFetch }] = await Promise.all([
      import("web-push"),
      import("../network/stream-fetch.ts"),
    ]);
    const { publicKey, privateKey } = await pushKeys(stateDir);
    const payload = JSON.stringify({ about, title, thread, question, risk });
    const send = async (session: string, subscription: PushSubscription) => {
      const { endpoint, method, headers, body } = webPush.generateRequestDetails(subscription, payload, {
        ...{ vapidDetails: { subject: SUBJECT, publicKey, privateKey }, TTL: KEPT_SECONDS, urgency: "high" },
      });
      const { "Content-Length": _, ...others } = headers; // computed again
      const url = new URL(endpoint);
      const client = createStreamFetch({ network: reaching(url, network) });
      try {
        const given = { method, headers: others, body: new Uint8Array(body ?? []) };
        const how = { redirect: "manual", signal: AbortSignal.timeout(SEND_MS) } as const;
        const { status } = await client.fetch(url, { ...given, ...how });
        if (status === 404 || status === 410) await browsers.subscribe(session, undefined);
        else if (status < 200 || status > 299) throw new Error(`${url.host} answered ${status}`);
      } finally {
        await client.close();
      }
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

/** The endpoint's port is open to it, and so is this machine to an endpoint on it. */
function reaching({ protocol, hostname, port }: URL, network: NetworkSettings): NetworkSettings {
  const { ports = [], allowPrivate = [] } = network;
  const isHere = protocol === "http:" && isLoopback(hostname);
  return {
    ...network,
    ...(port !== "" && { ports: [...ports, Number(port)] }),
    ...(isHere && { allowPrivate: [...allowPrivate, hostname] }),
  };
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
