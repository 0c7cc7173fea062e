// The page's service worker: shows messages of the server, and opens their question. It answers no requests.

/** A message, as src/console/push.ts sends it. */
interface Message {
  readonly title: string;
  readonly thread?: string;
  readonly question?: string;
}

/** The parts of a service worker that are used here (https://www.w3.org/TR/push-api/). */
interface Worker {
  readonly registration: {
    showNotification(title: string, options: { body: string; tag: string; data: Message }): Promise<void>;
  };
  readonly clients: {
    matchAll(options: { type: "window"; includeUncontrolled: true }): Promise<readonly Window[]>;
    openWindow(address: string): Promise<unknown>;
  };
  addEventListener(type: "push", listener: (event: PushedEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: ClickedEvent) => void): void;
}
interface Window {
  focus(): Promise<unknown>;
  navigate(address: string): Promise<unknown>;
}
interface Waiting {
  waitUntil(work: Promise<unknown>): void;
}
interface PushedEvent extends Waiting {
  readonly data: { json(): Message } | null;
}
interface ClickedEvent extends Waiting {
  readonly notification: { readonly data: Message; close(): void };
}

const worker = globalThis as unknown as Worker;

worker.addEventListener("push", (event) => {
  const message = event.data?.json() ?? { title: "Handrail" };
  const tag = message.question ?? message.title; // of several messages about one question, only the last is shown
  const body = message.thread === undefined ? "" : `Thread ${message.thread}`;
  event.waitUntil(worker.registration.showNotification(message.title, { body, tag, data: message }));
});

worker.addEventListener("notificationclick", (event) => {
  const { thread } = event.notification.data;
  const address = thread === undefined ? "/" : `/#/thread/${encodeURIComponent(thread)}`;
  event.notification.close();
  const open = async () => {
    const [page] = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (page === undefined) return worker.clients.openWindow(address);
    await page.focus();
    return page.navigate(address);
  };
  event.waitUntil(open());
});
