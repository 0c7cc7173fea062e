import { useComputed, useSignal } from "@preact/signals";
import { callLine } from "../../src/serve/call-line.ts";
import { type CallStatus, callStatus } from "../state/call-status.ts";
import { now, startedBy } from "../state/model.ts";
import { newestPage } from "../state/newest-page.ts";
import type { CallShown } from "../state/open-thread.ts";
import { Safe } from "../text/safe.tsx";
import { counting, duration } from "../text/times.ts";
import { CellBody, opensByItself } from "./cell-body.tsx";
import { Icon } from "./icons.tsx";
import { Lazy } from "./lazy.tsx";

const loadPage = async () => (await import("../browser/live-page.tsx")).LivePage;

/** One call: a row, with its body below it while open. The newest call of the browser has the page too. */
export function Cell({ message }: { readonly message: CallShown }) {
  const { id: call, name, input } = message.metadata.tool_activity;
  // Computed, so that the cell renders again only when its own thread changes.
  const { value: child } = useComputed(() => startedBy.value.get(call));
  const status = callStatus(message, child !== undefined);
  const { value: hasPage } = useComputed(() => newestPage.value === call);
  const chosen = useSignal<boolean | undefined>(undefined);
  const isOpen = chosen.value ?? opensByItself(message, status, child !== undefined);
  const isRunning = status.state === "running";
  return (
    <li class={`cell ${isOpen ? "" : "shut"}`} data-call={call} data-state={status.state}>
      <Icon name={status.icon} class={`st ${status.look} ${isRunning && status.icon === "run" ? "spin" : ""}`} />
      <button class="ch flex" aria-expanded={isOpen} onClick={() => (chosen.value = !isOpen)}>
        <Safe in="code" class="tool clip" text={name} />
        <Safe in="code" class="args clip" text={callLine(input)} />
        <span class="res clip num">
          {status.state === "success" && <span class="vh">Success. </span>}
          <Result message={message} status={status} />
        </span>
        <Icon name="chevron" class="chev" />
      </button>
      {hasPage && <Lazy load={loadPage} title="the page" />}
      {isOpen && !(hasPage && isRunning) && <CellBody message={message} status={status} child={child} />}
    </li>
  );
}

function Result({ message, status }: { readonly message: CallShown; readonly status: CallStatus }) {
  const { data } = message.metadata.tool_activity;
  const { at, endedMs, result, answered } = message;
  const from = answered?.at ?? at;
  const time =
    endedMs === undefined
      ? counting(now.value - (message.question === undefined ? from : at))
      : result === "denied"
        ? undefined
        : duration(endedMs - from);
  const code = data["exit_code"];
  const facts = [
    status.word !== "" && <Safe in="b" class={status.look} text={status.word} />,
    result === "ok" && typeof code === "number" && code !== 0 && <b class="a-yellow">exit {code}</b>,
    result === "ok" && typeof data["diff"] === "string" && <Changes diff={data["diff"]} />,
    time,
  ].filter((fact) => fact !== false && fact !== undefined);
  return (
    <>
      {facts.map((fact, index) => (
        <span key={index}>
          {index > 0 && <i aria-hidden="true">·</i>}
          {fact}
        </span>
      ))}
    </>
  );
}

/** Shows the number of changed lines: "+3 −2". */
function Changes({ diff }: { readonly diff: string }) {
  const lines = diff.split("\n");
  const added = lines.filter((line) => line.startsWith("+") && !line.startsWith("+++ ")).length;
  const removed = lines.filter((line) => line.startsWith("-") && !line.startsWith("--- ")).length;
  return (
    <span>
      <span class="a-green">
        +{added}
        <span class="vh"> lines added</span>
      </span>{" "}
      <span class="a-red">
        −{removed}
        <span class="vh"> lines removed</span>
      </span>
    </span>
  );
}
