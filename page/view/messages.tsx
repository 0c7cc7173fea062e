import type { ComponentChildren } from "preact";
import type { CallShown, Shown } from "../state/open-thread.ts";
import { clock } from "../text/times.ts";
import { Cell } from "./cell.tsx";
import { Prose } from "./prose.tsx";
import { When } from "./when.tsx";

/** Consecutive messages: texts of people and models, with lists of cells between them. */
export function Messages({ messages }: { readonly messages: readonly Shown[] }) {
  const parts: ComponentChildren[] = [];
  let cells: CallShown[] = [];
  /** The last speaker: a header is shown only when the speaker changes. */
  let speaker = "";
  const endCells = () => {
    const [first] = cells;
    if (first === undefined) return;
    parts.push(
      <ol key={`cells-${first.id}`} class="cells">
        {cells.map((message) => (
          <Cell key={message.id} message={message} />
        ))}
      </ol>,
    );
    cells = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      if (message.userFacing) cells.push(message);
      continue;
    }
    endCells();
    parts.push(<Said key={message.id} message={message} isNext={speaker === message.role} />);
    speaker = message.role;
  }
  endCells();
  return <>{parts}</>;
}

interface SaidProps {
  readonly message: Exclude<Shown, { role: "tool" }>;
  /** True if the previous message has the same speaker. */
  readonly isNext: boolean;
}

function Said({ message, isNext }: SaidProps) {
  if (message.role === "user") {
    const text = message.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
    return (
      <section class={message.from === "person" ? "you" : "ours"} data-message={message.id}>
        <div class="who meta">
          <b>{message.from === "person" ? "You" : "Handrail"}</b>
          <When ms={message.at} text={clock(message.at)} />
        </div>
        <Prose text={text} />
      </section>
    );
  }
  const words = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (words.trim() === "") return null;
  return (
    <section class="agent" data-message={message.id}>
      {!isNext && (
        <div class="who meta">
          <b>Agent</b>
          <When ms={message.at} text={clock(message.at)} />
        </div>
      )}
      <Prose text={words} />
    </section>
  );
}
