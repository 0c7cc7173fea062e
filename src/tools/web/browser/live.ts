import type { CDPSession, Page } from "playwright-core";
import type { PageInput, PageView } from "../../../core/contract/live-page.ts";
import { pause } from "../../../core/util/abort.ts";
import type { Session } from "./session.ts";

/** The largest picture, in pixels, and its quality. */
const CAST = { format: "jpeg", quality: 60, maxWidth: 1_280, maxHeight: 1_280 } as const;

/** The pause between two looks at what has changed, in milliseconds. It limits the number of pictures. */
const LOOK_MS = 100;

/** Yields what a session shows, also after it changes its tab, until the signal fires or the session has ended. */
export async function* watchPage(session: Session, signal: AbortSignal): AsyncGenerator<PageView> {
  let cast: Cast | undefined;
  let last = "";
  try {
    for (; !signal.aborted && session.isOpen(); await pause(LOOK_MS, signal)) {
      const page = session.current();
      if (page === undefined) continue;
      if (cast?.page !== page) {
        await cast?.stop();
        cast = await castOf(page).catch(() => undefined); // the tab was closed in the meantime
      }
      const frame = await cast?.take();
      const { width = 0, height = 0 } = cast ?? {};
      const view = { url: page.url(), width, height, taken: session.isTaken() };
      const now = JSON.stringify(view);
      if (width === 0 || (frame === undefined && now === last)) continue;
      last = now;
      yield { ...view, ...(frame !== undefined && { picture: frame }) };
    }
  } finally {
    await cast?.stop();
  }
}

interface Cast {
  readonly page: Page;
  /** The width; 0 before the first picture. */
  readonly width: number;
  readonly height: number;
  /** The newest picture, if there is a new one. */
  take(): Promise<string | undefined>;
  stop(): Promise<void>;
}

/** Makes Chromium send pictures of a page. Each picture is sent after the previous one was taken. */
async function castOf(page: Page): Promise<Cast> {
  const cdp: CDPSession = await page.context().newCDPSession(page);
  let newest: { readonly data: string; readonly sessionId: number } | undefined;
  let size = { width: 0, height: 0 };
  cdp.on("Page.screencastFrame", ({ data, sessionId, metadata }) => {
    newest = { data, sessionId };
    size = { width: metadata.deviceWidth, height: metadata.deviceHeight };
  });
  await cdp.send("Page.startScreencast", CAST);
  return {
    page,
    get width() {
      return size.width;
    },
    get height() {
      return size.height;
    },
    async take() {
      const taken = newest;
      newest = undefined;
      if (taken === undefined) return undefined;
      await cdp.send("Page.screencastFrameAck", { sessionId: taken.sessionId }).catch(() => undefined);
      return taken.data;
    },
    stop: () => cdp.detach().catch(() => undefined),
  };
}

/** Does in a page what a person does. */
export async function useAsPerson({ mouse, keyboard }: Page, inputs: readonly PageInput[]): Promise<void> {
  for (const input of inputs) {
    if (input.type === "text") await keyboard.insertText(input.text);
    else if (input.type === "key") await keyboard.press(input.key);
    else {
      await mouse.move(input.x, input.y);
      if (input.type === "wheel") await mouse.wheel(input.dx, input.dy);
      else if (input.type !== "move") await mouse[input.type]({ clickCount: input.clicks ?? 1 });
    }
  }
}
