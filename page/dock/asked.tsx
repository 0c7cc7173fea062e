import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { BUILT_IN_NAMES } from "../../src/core/contract/built-in-names.ts";
import type { DecisionPart } from "../../src/core/contract/decision.ts";
import { type Question, open, questions, threads } from "../state/model.ts";
import { threadAddress } from "../state/route.ts";
import { titleOf } from "../state/thread-status.ts";
import { Quoted } from "../text/quoted.tsx";
import { Exact, Safe } from "../text/safe.tsx";
import { Command } from "../view/command.tsx";
import { Icon } from "../view/icons.tsx";

/** The number of allowed parts that are shown unfolded. */
const MOST_ALLOWED = 4;

interface AskedProps {
  readonly question: Question;
  /** Called once the end of the question was visible: it fits into its box, or was scrolled to. */
  readonly onRead: () => void;
  /** A form, shown above the facts. */
  readonly children: ComponentChildren;
}

/** Shows the whole question, and the facts about it. */
export function Asked({ question, onRead, children }: AskedProps) {
  const box = useRef<HTMLDivElement>(null);
  const look = () => {
    const { current } = box;
    if (current !== null && current.scrollHeight - current.scrollTop - current.clientHeight < 4) onRead();
  };
  useLayoutEffect(() => {
    const resized = new ResizeObserver(look); // a larger window may show all of it, without anything to scroll
    if (box.current !== null) resized.observe(box.current);
    look();
    return () => resized.disconnect();
  }, []);
  return (
    <div class="cmd">
      {open.value?.thread !== question.thread && <OfThread thread={question.thread} />}
      <Parked question={question} />
      <div class="exact mono free" ref={box} tabIndex={0} role="group" aria-label="What is asked" onScroll={look}>
        <What question={question} />
      </div>
      {children}
      <Facts question={question} />
    </div>
  );
}

export function titleOfQuestion({ effects, name }: Question): ComponentChildren {
  const kinds = new Set(effects.map(({ kind }) => kind));
  if (kinds.has("exec")) return "Run this command?";
  if (kinds.has("terminal")) return "Type this?";
  if (kinds.has("write")) return "Change this file?";
  if (kinds.has("request")) return "Send this request?";
  if (kinds.has("fetch") || kinds.has("search")) return "Make this request?";
  return (
    <>
      Call <Safe text={name} />?
    </>
  );
}

/** Tells that no process waits, and what has changed since an earlier approval. The shown question may be older. */
function Parked({ question: { question, parked: shown } }: { readonly question: Question }) {
  const { parked = shown } = questions.value.find((each) => each.question === question) ?? {};
  if (parked === undefined) return null;
  const until = new Date(parked.untilMs).toLocaleString();
  return (
    <p class="of">
      Parked: no process waits. It expires on {until}.
      {parked.changed !== undefined && (
        <>
          {" "}
          It was approved before. Since then this has changed: <Safe text={parked.changed.join(", ")} />
        </>
      )}
    </p>
  );
}

function OfThread({ thread }: { readonly thread: string }) {
  const state = threads.value.get(thread);
  return (
    <p class="of">
      In <Safe in="a" class="link" href={threadAddress(thread)} text={state === undefined ? thread : titleOf(state)} />
    </p>
  );
}

/** Shows a command as it is written. For other calls, shows their effects and all of their arguments. */
function What({ question: { name, effects, ask, input } }: { readonly question: Question }) {
  const commands = effects.flatMap((effect) => (effect.kind === "exec" ? [effect.command] : []));
  const isOnlyCommands = commands.length > 0 && commands.length === effects.length && BUILT_IN_NAMES.includes(name);
  return (
    <>
      {(isOnlyCommands ? commands : ask.split("\n")).map((text, index) => (
        <Command key={index} text={text} />
      ))}
      {!isOnlyCommands && <Arguments input={input} />}
    </>
  );
}

function Arguments({ input }: { readonly input: Question["input"] }) {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return <Command text={typeof input === "string" ? input : JSON.stringify(input)} />;
  }
  const entries = Object.entries(input);
  if (entries.length === 0) return null;
  return (
    <dl class="given">
      {entries.map(([name, value]) => (
        <div key={name}>
          <Safe in="dt" text={name} />
          <dd>
            <Command text={typeof value === "string" ? value : JSON.stringify(value, undefined, 1)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Facts({ question: { agent, decision, effects, thread } }: { readonly question: Question }) {
  const state = threads.value.get(thread);
  const commands = effects.flatMap((effect) => (effect.kind === "exec" ? [effect] : []));
  const folder = commands[0]?.real ?? commands[0]?.cwd ?? state?.workDir;
  const variables = commands.flatMap(({ env = {} }) => Object.entries(env));
  const target = state?.target;
  const { reason, parts = [] } = decision;
  return (
    <dl class="facts">
      {agent !== undefined && (
        <Fact name="Agent">
          <Safe text={agent} />
        </Fact>
      )}
      {folder !== undefined && (
        <Fact name="Folder">
          <Exact in="code" text={folder} /> {target !== undefined && <Safe text={machineWords(target)} />}
        </Fact>
      )}
      {commands.length > 0 && (
        <Fact name="Sandbox">
          <Safe
            text={sandboxWords(
              decision,
              commands.some(({ within }) => within === "none"),
            )}
          />
        </Fact>
      )}
      {variables.length > 0 && (
        <Fact name="Variables">
          {variables.map(([name, value]) => (
            <Exact key={name} in="code" class="variable" text={`${name}=${value}`} />
          ))}
        </Fact>
      )}
      {reason !== undefined && (
        <Fact name="Reason">
          <Quoted text={reason} />
        </Fact>
      )}
      {parts.length > 1 && (
        <Fact name="Parts">
          <Parts parts={parts} />
        </Fact>
      )}
    </dl>
  );
}

/** Shows what is asked about each part. Many allowed parts are folded, so that the answers stay in sight. */
function Parts({ parts }: { readonly parts: readonly DecisionPart[] }) {
  const isWhole = useSignal(false);
  const allowed = parts.filter(({ verdict }) => verdict === "allow").length;
  const mayFold = allowed > MOST_ALLOWED;
  return (
    <>
      <ul class="parts">
        {parts.map(({ text, verdict }, index) => {
          if (mayFold && !isWhole.value && verdict === "allow") return null;
          const { icon, look, word } = VERDICTS[verdict];
          return (
            <li key={index}>
              <Icon name={icon} class={look} />
              <Exact in="code" text={text} />
              <span class={look === "ok" ? "off" : look}>{word}</span>
            </li>
          );
        })}
      </ul>
      {mayFold && (
        <button class="link" aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "Fold the allowed parts" : `${allowed} other parts are allowed`}
        </button>
      )}
    </>
  );
}

const VERDICTS = {
  allow: { icon: "check", look: "ok", word: "allowed" },
  ask: { icon: "ask", look: "wait", word: "asks" },
  deny: { icon: "deny", look: "wait", word: "denied" },
} as const;

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd class="free">{children}</dd>
    </>
  );
}

/** `sandbox(local)` and `tmux(local)` are on this machine too. */
function machineWords(target: string): string {
  const machine = target.replace(/^(?:sandbox\(|tmux\()+/, "").replace(/\)+$/, "");
  return machine === "local" ? "on this machine" : `on ${target}`;
}

function sandboxWords({ within }: Question["decision"], isOutside: boolean): string {
  if (within === "none" || isOutside) return "Outside the sandbox, like any program of yours";
  const { network = [], write = [], read = [] } = within ?? {};
  const needs = [
    network.length > 0 && `reaching ${network.join(", ")}`,
    write.length > 0 && `writing ${write.join(", ")}`,
    read.length > 0 && `reading ${read.join(", ")}`,
  ].filter((each) => each !== false);
  return `In the sandbox, where it is on and works${needs.length > 0 ? `, ${needs.join("; ")}` : ""}`;
}
