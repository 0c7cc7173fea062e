import { signal } from "@preact/signals";

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
}
