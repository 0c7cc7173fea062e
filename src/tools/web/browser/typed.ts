import type { BrowserContext, CDPSession, Frame, Page } from "playwright-core";
import { randomName } from "../../../core/util/identifier.ts";

/**
 * Collects what a person types into fields of a context until `stop` is called, which resolves to the last text of each
 * field. Pages cannot see this: the listener runs in its own isolated world.
 */
export async function collectTyped(context: BrowserContext): Promise<{ stop(): Promise<readonly string[]> }> {
  const last = new Map<string, string>();
  const world = `typed-${randomName(8)}`;
  const sessions: CDPSession[] = [];

  const listenIn = async (target: Page | Frame) => {
    // A frame in its page's process has no session of its own: the session of the page reaches it.
    const session = await context.newCDPSession(target).catch(() => undefined);
    if (session === undefined) return;
    sessions.push(session);
    session.on("Runtime.bindingCalled", ({ name, payload }) => {
      if (name !== world) return;
      const [field, value] = JSON.parse(payload) as [field: string, value: string];
      last.set(field, value);
    });
    await session.send("Runtime.enable");
    await session.send("Runtime.addBinding", { name: world, executionContextName: world });
    const source = `(${listener.toString()})(${JSON.stringify(world)})`;
    await session.send("Page.enable");
    const options = { source, worldName: world, runImmediately: true };
    await session.send("Page.addScriptToEvaluateOnNewDocument", options);
  };

  const onFrame = (frame: Frame) => void listenIn(frame).catch(() => undefined);
  const onPage = async (page: Page) => {
    page.on("frameattached", onFrame);
    await Promise.all([page, ...page.frames().filter((frame) => frame !== page.mainFrame())].map(listenIn));
  };
  const onNewPage = (page: Page) => void onPage(page).catch(() => undefined);

  context.on("page", onNewPage);
  await Promise.all(context.pages().map(onPage));
  return {
    async stop() {
      context.off("page", onNewPage);
      for (const page of context.pages()) page.off("frameattached", onFrame);
      await Promise.all(sessions.map((session) => session.detach().catch(() => undefined)));
      return [...last.values()].filter((value) => value !== "");
    },
  };
}

/** Runs in a page, in its own isolated world. Reports the text of each field when it changes. */
function listener(binding: string): void {
  const world = globalThis as unknown as {
    readonly crypto: { getRandomValues(bytes: Uint32Array): Uint32Array };
    addEventListener(
      type: string,
      listener: (event: { composedPath(): readonly object[] }) => void,
      capture: true,
    ): void;
  };
  const page = String(world.crypto.getRandomValues(new Uint32Array(2)));
  const fields = new Map<object, number>();
  world.addEventListener(
    "input",
    (event) => {
      const [field] = event.composedPath() as readonly { readonly value?: string; readonly innerText?: string }[];
      if (field === undefined) return;
      const number = fields.get(field) ?? fields.size;
      fields.set(field, number);
      (globalThis as unknown as { readonly [name: string]: (payload: string) => void })[binding]?.(
        JSON.stringify([`${page}:${number}`, field.value ?? field.innerText ?? ""]),
      );
    },
    true,
  );
}
