import { basename } from "node:path";
import { Type } from "typebox";
import { type Content, notice, text } from "../core/contract/content.ts";
import type { Effect } from "../core/contract/effect.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { formatSize } from "../core/output/size.ts";
import { savedNotice } from "../core/output/truncate.ts";
import {
  ACTIONS,
  ACTION_NAMES,
  type ActionCaller,
  type ActionInput,
  type ActionName,
  type ActionReport,
  type Browsers,
  SNAPSHOT_BYTES,
  isLoopback,
  usageOf,
} from "./web/browser/protocol.ts";
import { mendUrl } from "./shared/url-arguments.ts";

/** The maximum size of an uploaded file: Playwright accepts no larger file. Bytes. */
const LARGEST_UPLOAD = 50_000_000;

export interface BrowserOptions extends ToolOptions {
  /** The browsers of the toolkit, which `createToolkit` gives it. Without them calls fail. */
  readonly browsers?: Pick<Browsers, "act">;
}

/** Uses web pages in Chromium. */
export const browser = ({ browsers, ...options }: BrowserOptions = {}) =>
  defineTool({
    name: "browser",
    title: "Browser",
    description:
      "Use web pages in a real browser. Elements have references such as e5, in brackets in the snapshot; every " +
      "action returns the page, or what has changed on it. A page that is only read is cheaper with web_fetch. " +
      "Actions: " +
      ACTION_NAMES.map(usageOf).join("; ") +
      '. With dialog="accept" an action accepts the dialogs that it opens; they are dismissed otherwise.',
    aliases: ["browse_page", "browser_navigate", "playwright", "puppeteer"],
    ...options,
    paramsHint: "action (required), url, ref, text, key, values, paths, script, …",
    touches: ["fetch", "page", "read"],
    input: Type.Object(
      {
        action: Type.Union(
          ACTION_NAMES.map((name) => Type.Literal(name)),
          { description: "The action; it takes only its own arguments" },
        ),
        url: Type.Optional(Type.String({ minLength: 1, description: "open: the URL, https or http" })),
        ref: Type.Optional(Type.String({ minLength: 1, description: "An element of the snapshot: e5" })),
        text: Type.Optional(
          Type.String({
            description: "type: replaces the field's text; find, wait: text on the page; click: answers a prompt",
          }),
        ),
        key: Type.Optional(Type.String({ minLength: 1, description: "press: Enter, Escape, ArrowDown, Control+a, …" })),
        values: Type.Optional(Type.Array(Type.String(), { description: "select: the options, by value or label" })),
        paths: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: "upload: files" })),
        script: Type.Optional(
          Type.String({
            minLength: 1,
            description: "evaluate: JavaScript, an expression or a function (of the element with ref)",
          }),
        ),
        direction: Type.Optional(
          Type.Union(
            DIRECTIONS.map((name) => Type.Literal(name)),
            { description: "scroll" },
          ),
        ),
        seconds: Type.Optional(Type.Number({ description: "wait: at most 30 (default with text: 30)" })),
        gone: Type.Optional(Type.Boolean({ description: "wait: until the text is gone" })),
        person: Type.Optional(
          Type.String({
            description: "wait: what a person should do in the page (a login, a captcha); waits until it is done",
          }),
        ),
        submit: Type.Optional(Type.Boolean({ description: "type: then press Enter" })),
        tab: Type.Optional(
          Type.Integer({ minimum: 1, description: "tabs: switch to this tab; close: close this tab" }),
        ),
        dialog: Type.Optional(
          Type.Union([Type.Literal("accept"), Type.Literal("dismiss")], { description: "Default: dismiss" }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: mendUrl,
    effects: effectsOf,
    async run({ action, ...input }, context) {
      if (browsers === undefined)
        throw new ToolFailure("this tool has no browser: make its toolkit with createToolkit");
      context.report({ displayMessage: [action, input.url ?? input.ref ?? ""].join(" ").trim() });
      const { picture, ...report } = await browsers.act(context.thread, action, input, callerOf(context));
      if (picture !== undefined) context.attach(picture);
      const { url, title } = report;
      if (url !== undefined) context.report({ displayMessage: `${title} (${url})`, data: { url, title: title ?? "" } });
      return { action, ...report };
    },
    render: (data) => partsOf(data),
  });

const DIRECTIONS = ["up", "down", "top", "bottom"] as const;

function effectsOf({ action, url, paths = [] }: { readonly action: ActionName } & ActionInput): readonly Effect[] {
  const { acts } = ACTIONS[action] as { readonly acts?: true };
  return [
    // A port of this machine may be a job's port. This is known only when the port is opened.
    ...(action === "open" && url !== undefined && !isLoopback(url)
      ? [{ kind: "fetch", url, method: "GET" } as const]
      : []),
    ...(action === "upload" ? paths.map((path) => ({ kind: "read", path }) as const) : []),
    { kind: "page", act: acts === true ? "use" : "look" },
  ];
}

/** Lets a person take over the page of a thread, until they answer the question of this tool. Not for models. */
export const takeOver = ({ browsers }: { readonly browsers: Pick<Browsers, "takeOver"> }) =>
  defineTool({
    name: "browser",
    description: "Gives the page of the browser to a person.",
    touches: ["page"],
    input: Type.Object({ action: Type.Literal("take_over") }, { additionalProperties: false }),
    effects: () => [{ kind: "page", act: "look" }],
    async run(_input, context) {
      await browsers.takeOver(context.thread, callerOf(context));
      return "The page was handed back.";
    },
  });

function callerOf(context: ToolContext): ActionCaller {
  const { signal, permit, linked, outputs } = context;
  return {
    signal,
    tell: (words) => context.report({ displayMessage: words }),
    permit: (effect) => permit(effect),
    linked,
    save: (content) => outputs.save(content),
    readFile: (path) => fileToUpload(path, context),
    reachPort: context.jobs.reachPort,
  };
}

async function fileToUpload(path: string, { backend }: ToolContext) {
  const file = await backend.files.open(path);
  try {
    if (file.info.size > LARGEST_UPLOAD) throw new ToolFailure(`${path} is larger than ${formatSize(LARGEST_UPLOAD)}`);
    const bytes = await file.read(0, file.info.size);
    return { name: basename(path), mimeType: "application/octet-stream", buffer: Buffer.from(bytes) };
  } finally {
    await file.close();
  }
}

/** For the model: the address, the news, the action's text, then the page. Each may contain text of the page. */
function partsOf({
  url,
  title,
  news = [],
  text: own,
  textOutput,
  shows,
  page = "",
  output,
}: ActionReport): readonly Content[] {
  const theirs = [
    ...(url === undefined ? [] : [title === "" ? url : `${title}\n${url}`]),
    ...news.map((each) => `[${each}]`),
    ...(own === undefined ? [] : [own]),
    ...(shows === "page" && page !== "" ? [page] : []),
    ...(shows === "changes" && page !== "" ? [`Changes:\n${page}`] : []),
  ];
  const ours = [
    ...(textOutput === undefined ? [] : [savedNotice(CUT, textOutput)]),
    ...(shows === "page" && page === "" ? ["(an empty page)"] : []),
    ...(shows === "changes" && page === "" ? ["[Nothing on the page has changed.]"] : []),
    ...(output === undefined ? [] : [`[Only its beginning. find searches the page; the whole: output://${output}]`]),
  ];
  return [text(theirs.join("\n")), ...ours.map(notice)].filter((part) => part.type !== "text" || part.text !== "");
}

const CUT = { truncated: "bytes", limit: { bytes: SNAPSHOT_BYTES } } as const;
