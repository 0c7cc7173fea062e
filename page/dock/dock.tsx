import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Risk } from "../../src/core/contract/decision.ts";
import type { Json } from "../../src/core/contract/schema.ts";
import { Fields } from "../form/fields.tsx";
import { type Entered, enteredOf, fieldOf, inputOf, missingIn } from "../form/schema.ts";
import {
  ARMED_AFTER_MS,
  type Given,
  answer,
  goneQuestion,
  isFolded,
  place,
  shownQuestion,
  step,
} from "../state/dock.ts";
import { type Answered, type Question, isConnected, now, questions } from "../state/model.ts";
import { Safe } from "../text/safe.tsx";
import { clock, counting } from "../text/times.ts";
import { Icon } from "../view/icons.tsx";
import { Answers } from "./answers.tsx";
import { Asked, titleOfQuestion } from "./asked.tsx";

/** The open question, shown on every page. */
export function Dock() {
  const { value: question } = shownQuestion;
  const { value: gone } = goneQuestion;
  if (question !== undefined) return <Ask key={question.question} question={question} />;
  return gone === undefined ? null : <Gone answered={gone} />;
}

function Ask({ question }: { readonly question: Question }) {
  const box = useRef<HTMLElement>(null);
  const isArmed = useSignal(false);
  const isRead = useSignal(false);
  const isRefusing = useSignal(false);
  const isSending = useSignal(false);
  const failure = useSignal("");

  useEffect(() => {
    const timer = setTimeout(() => (isArmed.value = true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);

  const form = useMemo(() => formOf(question), [question]);
  const entered = useSignal<Entered>(form?.entered);
  const problems = useSignal<ReadonlyMap<string, string>>(new Map());

  /** All arguments as JSON text, once the person changes them. */
  const edited = useSignal<string | undefined>(undefined);

  const isReady = () => isArmed.value && isConnected.value && !isSending.value;
  const give = (answered: Given) => {
    let given = answered;
    if (!isReady() || (given.answer !== "refuse" && !isRead.value)) return;
    if (form !== undefined && given.answer === "once") {
      const { value = {}, problems: found } = inputOf(form.field, entered.value);
      problems.value = new Map([...missingIn(form.field, value), ...found]);
      if (problems.value.size > 0) return;
      given = { answer: "once", input: value };
    }
    if (edited.value !== undefined && given.answer !== "refuse") {
      const changed = argumentsIn(edited.value);
      if (changed === undefined || given.answer !== "once") {
        failure.value = "Expected the arguments as a JSON object, approved once.";
        return;
      }
      given = { answer: "once", edited: changed };
    }
    isSending.value = true;
    failure.value = "";
    answer(question, given).catch((error: Error) => {
      failure.value = error.message;
      isSending.value = false;
    });
  };
  const { longest } = question;
  const pressed = (event: KeyboardEvent) => {
    if (isFolded.value || event.ctrlKey || event.metaKey || event.altKey) return;
    // Enter never approves, not even on the button that has the focus.
    if (event.key === "Enter" && event.target instanceof HTMLElement && event.target.dataset["consent"] === "") {
      return event.preventDefault();
    }
    const key = event.key.toLowerCase();
    if (key === "y") give({ answer: "once" });
    else if (key === "s" && longest !== "once") give({ answer: "session" });
    else if (key === "a" && longest === "always") give({ answer: "always" });
    else if (key === "n") {
      isRefusing.value = true;
      box.current?.querySelector("input")?.focus(); // when the reason field is open already
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="dock">
      <section
        ref={box}
        class={`ask ${isFolded.value ? "folded" : ""}`}
        role="group"
        aria-labelledby="ask-title"
        id="dock"
        tabIndex={-1}
        onKeyDown={pressed}
      >
        <Header question={question} />
        {!isFolded.value && (
          <>
            <Asked question={question} onRead={() => (isRead.value = true)}>
              {form !== undefined && (
                <div class="filled" role="group" aria-label="Form" onKeyDown={(event) => event.stopPropagation()}>
                  <Fields
                    {...{ field: form.field, path: "", entered: entered.value, problems: problems.value }}
                    onEnter={(value) => (entered.value = value)}
                  />
                </div>
              )}
              {form === undefined && <Edit {...{ question, edited }} />}
            </Asked>
            <Answers
              {...{ question, give, isRefusing }}
              isReady={isReady()}
              isRead={isRead.value}
              hasForm={form !== undefined || edited.value !== undefined}
              failure={failure.value}
              onReturn={() => box.current?.focus()}
            />
          </>
        )}
      </section>
    </div>
  );
}

/** Lets a person change the arguments of the call. The changed call is checked and judged from the start. */
function Edit({ question, edited }: { readonly question: Question; readonly edited: Signal<string | undefined> }) {
  if (edited.value === undefined) {
    const begin = () => (edited.value = JSON.stringify(question.input, undefined, 2));
    return (
      <button class="link" onClick={begin}>
        Change the arguments first
      </button>
    );
  }
  return (
    <div class="filled" role="group" aria-label="Arguments" onKeyDown={(event) => event.stopPropagation()}>
      <textarea
        class="ctl mono"
        aria-label="All arguments, as JSON"
        rows={Math.min(12, edited.value.split("\n").length)}
        value={edited.value}
        onInput={({ currentTarget }) => (edited.value = currentTarget.value)}
      />
    </div>
  );
}

function argumentsIn(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the form that a question asks for, with the values that an approval sends unchanged. */
function formOf({ effects }: Question) {
  const [asking] = effects.flatMap((effect) =>
    effect.kind === "foreign" && effect.form !== undefined ? [effect] : [],
  );
  if (asking === undefined) return undefined;
  const field = fieldOf(asking.form);
  return field.kind === "object" ? { field, entered: enteredOf(field, JSON.parse(asking.input ?? "{}")) } : undefined;
}

const RISKS: { readonly [R in Risk]: { readonly word: string; readonly look: string } } = {
  low: { word: "Low risk", look: "off" },
  medium: { word: "Medium risk", look: "wait" },
  high: { word: "High risk", look: "fail" },
};

function Header({ question }: { readonly question: Question }) {
  const { risk } = question.decision;
  const { index, count } = place.value;
  return (
    <header class="flex">
      <Icon name="ask" class="wait" />
      <h2 id="ask-title">{titleOfQuestion(question)}</h2>
      <span class={`risk ${RISKS[risk].look}`}>
        <Icon name={risk} />
        {RISKS[risk].word}
      </span>
      <span class="sp" />
      <span class="when waited num">Waiting {counting(now.value - question.askedMs)}</span>
      {count > 1 && (
        <>
          <span class="when num">
            {index + 1} of {count}
          </span>
          <span class="steps">
            <button class="ib" aria-label="Previous question" onClick={() => step(-1)}>
              <Icon name="left" />
            </button>
            <button class="ib" aria-label="Next question" onClick={() => step(1)}>
              <Icon name="right" />
            </button>
          </span>
        </>
      )}
      <button
        class="ib fold"
        aria-label={isFolded.value ? "Unfold this question" : "Fold this question"}
        aria-expanded={!isFolded.value}
        onClick={() => (isFolded.value = !isFolded.value)}
      >
        <Icon name="down" />
      </button>
    </header>
  );
}

const WORDS = {
  once: "Approved once",
  session: "Approved for a session",
  always: "Approved always",
  refuse: "Refused",
};

/** Says that the question that was shown was answered elsewhere. */
function Gone({ answered }: { readonly answered: Answered }) {
  const { approval, by, at } = answered;
  const isRefused = approval.answer === "refuse";
  return (
    <div class="dock">
      <div class="gone flex" role="status">
        <Icon name={isRefused ? "deny" : "check"} class={isRefused ? "off" : "ok"} />
        <span class="sp">
          <b>{WORDS[approval.answer]}</b> through <Safe text={by === "API" ? "another page" : by} />, {clock(at)}.
          Nothing is left to answer here.
        </span>
        {questions.value.length > 0 && (
          <button class="btn" onClick={() => step(1)}>
            Next question
          </button>
        )}
      </div>
    </div>
  );
}
