import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Given } from "../state/dock.ts";
import { type Question, isConnected, threads } from "../state/model.ts";
import { Exact } from "../text/safe.tsx";

interface AnswersProps {
  readonly question: Question;
  readonly give: (given: Given) => void;
  /** True when the buttons accept an answer. */
  readonly isReady: boolean;
  /** True once the end of the question was visible. Before that, it cannot be approved. */
  readonly isRead: boolean;
  /** True when a form is sent with the approval. */
  readonly hasForm: boolean;
  /** True while a reason for the refusal is being written. */
  readonly isRefusing: Signal<boolean>;
  /** Why the last answer was not accepted; "" if it was. */
  readonly failure: string;
  /** Called to take the focus back from the reason field. */
  readonly onReturn: () => void;
}

/** The four answers. Each button is next to what it covers. */
export function Answers({ question, give, isReady, isRead, hasForm, isRefusing, failure, onReturn }: AnswersProps) {
  const { longest, decision, whyNot } = question;
  const may = isReady && isRead && whyNot === undefined;
  return (
    <ul class="ans">
      <AnswerRow
        {...{ word: "Approve once", letter: "Y", isInk: decision.risk !== "high", isOff: !may }}
        onClick={() => give({ answer: "once" })}
      >
        {whyNot !== undefined
          ? whyNot
          : !isRead
            ? "Scroll to the end of what is asked first."
            : hasForm
              ? "This call, with what is filled in."
              : "This call, exactly as shown."}
      </AnswerRow>
      <AnswerRow
        {...{ word: "For this session", letter: "S", isOff: !may || longest === "once" }}
        onClick={() => give({ answer: "session" })}
      >
        <SessionCoverage question={question} />
      </AnswerRow>
      <AnswerRow
        {...{ word: "Always here", letter: "A", isOff: !may || longest !== "always" }}
        onClick={() => give({ answer: "always" })}
      >
        <AlwaysCoverage question={question} />
      </AnswerRow>
      <li class="no">
        {isRefusing.value ? (
          <Refusal {...{ give, isReady, isRefusing, onReturn }} />
        ) : (
          <>
            <button class="btn" disabled={!isConnected.value} onClick={() => (isRefusing.value = true)}>
              Refuse<kbd>N</kbd>
            </button>
            <p>The agent continues without it. You can give a reason.</p>
          </>
        )}
      </li>
      {failure !== "" && <li class="problem">{failure}</li>}
    </ul>
  );
}

interface AnswerRowProps {
  readonly word: string;
  readonly letter: string;
  readonly isInk?: boolean;
  readonly isOff: boolean;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

/** A button next to what it covers. A button that is off can still be focused, so that the focus is not lost. */
function AnswerRow({ word, letter, isInk = false, isOff, onClick, children }: AnswerRowProps) {
  const id = `covers-${letter}`;
  return (
    <li>
      <button
        class={`btn ${isInk ? "ink" : ""}`}
        aria-disabled={isOff}
        aria-describedby={id}
        data-consent=""
        onClick={() => !isOff && onClick()}
      >
        {word}
        <kbd>{letter}</kbd>
      </button>
      <p id={id}>{children}</p>
    </li>
  );
}

/** A field for the reason, which the agent reads. Enter sends it, Esc closes the field. */
function Refusal({
  give,
  isReady,
  isRefusing,
  onReturn,
}: Omit<AnswersProps, "question" | "isRead" | "hasForm" | "failure">) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    input.current?.parentElement?.scrollIntoView({ block: "nearest" }); // with its button
  }, []);
  const send = () => {
    const reason = input.current?.value.trim() ?? "";
    give({ answer: "refuse", ...(reason !== "" && { reason }) });
  };
  const pressed = (event: KeyboardEvent) => {
    event.stopPropagation(); // letters typed here do not answer the question
    if (event.isComposing) return;
    if (event.key === "Enter") send();
    if (event.key !== "Escape") return;
    isRefusing.value = false;
    onReturn();
  };
  return (
    <div class="why">
      <input
        ref={input}
        aria-label="Reason for the refusal"
        placeholder="Reason for the agent (optional)"
        maxLength={2_000}
        enterKeyHint="send"
        onKeyDown={pressed}
      />
      <button class="btn" disabled={!isReady} onClick={send}>
        Send refusal
      </button>
    </div>
  );
}

const ONLY_ONCE = "Not possible: this can be approved only as it is.";

function SessionCoverage({ question: { longest, decision } }: { readonly question: Question }) {
  if (longest === "once") return <>{ONLY_ONCE}</>;
  const labels = [...new Set((decision.scopes ?? []).map(({ label }) => label))];
  return (
    <>
      Also{" "}
      {labels.map((label, index) => (
        <span key={label}>
          {index > 0 && ", "}
          <Exact in="code" text={label} />
        </span>
      ))}
      , until this session ends.
    </>
  );
}

function AlwaysCoverage({ question: { longest, thread } }: { readonly question: Question }) {
  if (longest === "once") return <>{ONLY_ONCE}</>;
  if (longest === "session") {
    return <>Not possible: it could do anything, so it is approved for a session at most.</>;
  }
  const folder = threads.value.get(thread)?.workDir;
  return (
    <>
      The same in {folder === undefined ? "this workspace" : <Exact in="code" text={folder} />}, by every process, until
      revoked.
    </>
  );
}
