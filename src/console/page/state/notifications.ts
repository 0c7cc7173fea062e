import { signal } from "@preact/signals";
import { get, post } from "./api.ts";

/** Whether the browser shows this page's notifications; "unsupported" without TLS, except on the local machine. */
export const permission = signal<NotificationPermission | "unsupported">(
  "Notification" in window && isSecureContext ? Notification.permission : "unsupported",
);

export function notifies(): boolean {
  return permission.value === "granted";
}

/** Asks the person for permission. Call only after a key or button was pressed: browsers refuse it otherwise. */
export async function askForNotifications(): Promise<void> {
  permission.value = await Notification.requestPermission();
  await askForMessages();
}

/**
 * Asks the server for messages, which arrive also while the page is closed. Does nothing without permission, and in a
 * browser that has no push service: then only the open page notifies. Never rejects.
 */
export async function askForMessages(): Promise<void> {
  if (!notifies() || !("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register(workerAddress());
    const { pushManager } = await navigator.serviceWorker.ready;
    const { key } = await get<{ key: string }>("/api/push");
    const options = { userVisibleOnly: true, applicationServerKey: key };
    const subscription = (await pushManager.getSubscription()) ?? (await pushManager.subscribe(options));
    const { endpoint, keys } = subscription.toJSON();
    await post("/api/push", { subscription: { endpoint, keys } });
  } catch {
    // The open page still notifies.
  }
}

/** The page's policy takes the address of a worker only from a policy of trusted types. */
function workerAddress(): string {
  const address = "/push-worker.js";
  const { trustedTypes } = globalThis as {
    readonly trustedTypes?: {
      createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(given: string): unknown };
    };
  };
  const policy = trustedTypes?.createPolicy("handrail", { createScriptURL: () => address });
  return (policy?.createScriptURL(address) ?? address) as string;
}
