import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ThreadState } from "../../src/serve/thread-state.ts";
import { get, part, send } from "../state/api.ts";
import type { CallStatus } from "../state/call-status.ts";
import { now } from "../state/model.ts";
import type { CallShown } from "../state/open-thread.ts";
import { outputAddress, threadAddress } from "../state/route.ts";
import { languageOf } from "../text/code.ts";
import { Quoted } from "../text/quoted.tsx";
import { MAX_LINE, Output, Safe } from "../text/safe.tsx";
import { clock, counting, duration } from "../text/times.ts";
import { Code } from "./code.tsx";
import { Diff } from "./diff.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { LiveTail } from "./live-tail.tsx";
import { withoutBoundaries } from "../../src/core/util/boundary.ts";

/** The maximum number of lines of a result shown at first. A button shows the rest. */
const MOST_LINES = 40;

interface BodyProps {
  readonly message: CallShown;
  readonly status: CallStatus;
  readonly child: ThreadState | undefined;
}

/** Returns true for running calls, changes, images, refusals and failures. */
export function opensByItself({ metadata, content = [] }: CallShown, { state }: CallStatus, isAgent: boolean): boolean {
  if (isAgent) return true;
  if (state !== "success") return state !== "waiting" && state !== "stopped";
  const { diff } = metadata.tool_activity.data;
  return (typeof diff === "string" && diff !== "") || content.some(({ type }) => type === "image");
}

export function CellBody({ message, status, child }: BodyProps) {
  const whole = useWhole(message);
  if (child !== undefined) return <SubAgent state={child} />;
  const { state } = status;
  return (
    <div class="cb">
      {state === "running" && <LiveTail message={message} />}
      {(state === "refused" || state === "denied") && <Denial message={whole} />}
      {state === "interrupted" && (
        <p class="note free">
          The process that ran it ended at {clock(message.endedMs ?? message.at)}. Whether the call took effect is
          unknown. It is not run again automatically.
        </p>
      )}
      {state === "failed" && <Failure message={whole} />}
      {(state === "success" || state === "stopped") && <ResultBody message={whole} />}
      {state === "waiting" && <InputBody message={whole} />}
    </div>
  );
}

/** Loads the full texts of a message whose texts were cut. */
function useWhole(message: CallShown): CallShown {
  const whole = useSignal<CallShown | undefined>(undefined);
  const { id } = message.metadata.tool_activity;
  useEffect(() => {
    if (message.cut === undefined) return;
    get<{ message: CallShown }>(`/api/calls/${part(id)}`).then(
      (answer) => (whole.value = answer.message),
      () => undefined, // on failure, the cut texts stay
    );
  }, [id, message.cut]);
  return message.cut === undefined ? message : (whole.value ?? message);
}

function Denial({ message }: { readonly message: CallShown }) {
  const { answered } = message;
  if (answered?.approval.answer === "refuse") {
    const { reason = "" } = answered.approval;
    const who = answered.by === "API" || answered.by === "console" ? "You refused" : `Refused through ${answered.by}`;
    return (
      <p class="note free">
        <Safe text={who} /> at {clock(answered.at)}
        {reason === "" ? (
          "."
        ) : (
          <>
            :{" "}
            <q>
              “<Safe text={reason} />”
            </q>
          </>
        )}
      </p>
    );
  }
  return (
    <p class="note free">
      <Quoted text={contentText(message) || (message.metadata.tool_activity.error ?? "The policy denied it.")} />
    </p>
  );
}

function Failure({ message }: { readonly message: CallShown }) {
  const isWhole = useSignal(false);
  const { error = "It failed." } = message.metadata.tool_activity;
  const text = contentText(message);
  return (
    <div class="err">
      <pre class="free">
        <Output lines={linesOf(isWhole.value ? text : error)} />
      </pre>
      {!isWhole.value && text.length > error.length + "Tool error: ".length && (
        <p>
          <button class="link" onClick={() => (isWhole.value = true)}>
            Show the complete error
          </button>
        </p>
      )}
    </div>
  );
}

function ResultBody({ message }: { readonly message: CallShown }) {
  const { data, name } = message.metadata.tool_activity;
  const { diff, path } = data;
  const images = (message.content ?? []).filter((each) => each.type === "image");
  if (typeof diff === "string" && diff !== "") {
    return <Diff text={diff} title={typeof path === "string" ? path : name} />;
  }
  return (
    <>
      {images.map(({ output, mimeType, bytes }, index) =>
        output === undefined ? (
          <p key={index} class="note free">
            An image that was not kept ({mimeType}, {bytes.toLocaleString("en")} bytes).
          </p>
        ) : (
          <Picture key={index} output={output} name={name} />
        ),
      )}
      <Lines text={contentText(message)} language={name === "read" ? languageOf(path) : undefined} />
    </>
  );
}

/** An image is loaded with the secret of the session, which `src` would not send. */
function Picture({ output, name }: { readonly output: string; readonly name: string }) {
  const isMissing = useSignal(false);
  const address = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const left = new AbortController();
    const load = async () => {
      const answer = await send(`/api/outputs/${part(output)}/image`, { signal: left.signal });
      const blob = await answer.blob();
      if (!left.signal.aborted) address.value = URL.createObjectURL(blob);
    };
    load().catch(() => (isMissing.value = !left.signal.aborted));
    return () => {
      left.abort();
      if (address.value !== undefined) URL.revokeObjectURL(address.value);
    };
  }, [output]);
  if (isMissing.value) {
    return <p class="note free">This image cannot be shown here: another process has it, or it was removed.</p>;
  }
  return (
    <img
      class="picture"
      {...(address.value !== undefined && { src: address.value })}
      alt={`Image that ${name} returned`}
      onError={() => (isMissing.value = true)}
    />
  );
}

function InputBody({ message }: { readonly message: CallShown }) {
  return <Lines text={JSON.stringify(message.metadata.tool_activity.input, undefined, 2)} />;
}

/** Shows the first lines of a result. A `language` is for code; without one, the text is the output of a program. */
function Lines({ text, language }: { readonly text: string; readonly language?: string | undefined }) {
  const isWhole = useSignal(false);
  const lines = linesOf(text);
  const hidden = isWhole.value ? 0 : Math.max(0, lines.length - MOST_LINES);
  const shown = hidden > 0 ? lines.slice(0, MOST_LINES) : lines;
  const isCode = language !== undefined && shown.every(({ length }) => length <= MAX_LINE);
  const saved = /(?:saved to: |always in )output:\/\/([\w-]{1,64})/.exec(text)?.[1];
  if (text === "") return <p class="note free">It returned nothing.</p>;
  return (
    <div class="well">
      <pre class="free" tabIndex={0} role="group" aria-label="Result">
        {isCode ? <Code text={shown.join("\n")} language={language} /> : <Output lines={shown} />}
      </pre>
      {(hidden > 0 || saved !== undefined) && (
        <div class="strip flex">
          {hidden > 0 && (
            <span class="num">
              {MOST_LINES} of {lines.length.toLocaleString("en")} lines
            </span>
          )}
          <span class="sp" />
          {hidden > 0 && (
            <button class="btn bare" onClick={() => (isWhole.value = true)}>
              Show all lines
            </button>
          )}
          {saved !== undefined && (
            <a class="btn bare" href={outputAddress(saved)}>
              Open output
            </a>
          )}
        </div>
      )}
    </div>
  );
}

const STEPS: { readonly [status: string]: { readonly icon: IconName; readonly look: string } } = {
  running: { icon: "run", look: "run spin" },
  waiting: { icon: "ask", look: "wait" },
  ok: { icon: "check", look: "ok" },
};
const FAILED_STEP = { icon: "fail", look: "fail" } as const;

function SubAgent({ state }: { readonly state: ThreadState }) {
  const shown = state.recent.filter(({ userFacing, status }) => userFacing !== false || status === "waiting");
  return (
    <div class="cb">
      <ul class="sub">
        {shown.slice(-3).map(({ call, name, line, status, at, endedMs }) => {
          const { icon, look } = STEPS[status] ?? FAILED_STEP;
          return (
            <li key={call} class="flex">
              <Icon name={icon} class={look} />
              <code>
                <span class="vh">{status}: </span>
                <Safe text={name} />
              </code>
              <Safe in="code" class="args clip" text={line} />
              <span class="num off">{endedMs === undefined ? counting(now.value - at) : duration(endedMs - at)}</span>
            </li>
          );
        })}
        <li class="flex">
          <a class="link" href={threadAddress(state.thread)}>
            Open thread
          </a>
          <span class="sp" />
          <span class="num off">
            {state.calls} {state.calls === 1 ? "call" : "calls"} so far
          </span>
        </li>
      </ul>
    </div>
  );
}

function contentText({ content = [] }: CallShown): string {
  return withoutBoundaries(content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n"));
}

/** Splits text into lines. A carriage return ends a line too, so that it cannot hide anything. */
function linesOf(text: string): readonly string[] {
  const lines = text.replaceAll(/\r+\n/g, "\n").split(/[\n\r]/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
