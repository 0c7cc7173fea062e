import { useMemo } from "preact/hooks";
import { highlighterFor, languageOf } from "../text/code.ts";
import { type DiffLine, coloured, parseDiff } from "../text/diff.ts";
import { Safe } from "../text/safe.tsx";

interface DiffProps {
  readonly text: string;
  /** The path of the file, or the name of the tool. */
  readonly title: string;
}

/** Shows a unified diff with line numbers and colours, and marks the changes within a line. */
export function Diff({ text, title }: DiffProps) {
  const language = languageOf(title);
  const highlight = highlighterFor(language);
  const lines = useMemo(() => {
    const parsed = parseDiff(text);
    return highlight === undefined ? parsed : coloured(parsed, (code) => highlight(code, language ?? ""));
  }, [text, language, highlight]);
  return (
    <div class="well">
      <div class="diff mono" role="group" aria-label={`Changes in ${title}`} tabIndex={0}>
        {lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </div>
    </div>
  );
}

const SIGNS = { added: "+", removed: "−", same: "" } as const;
const LOOKS = { added: "a", removed: "x", same: "" } as const;

function Line({ line }: { readonly line: DiffLine }) {
  if (line.kind === "gap") return <span class="h">{line.text === "" ? "⋯" : <Safe text={line.text} />}</span>;
  const kind = LOOKS[line.kind];
  return (
    <>
      <span class={`n o ${kind}`}>{line.before}</span>
      <span class={`n ${kind}`}>{line.after}</span>
      <span class={`s ${kind}`}>
        {SIGNS[line.kind]}
        {line.kind !== "same" && <span class="vh">{line.kind}: </span>}
      </span>
      <span class={`l free ${kind}`}>
        {line.parts.map(({ text, isChanged, look = "" }, index) =>
          isChanged ? (
            <Safe key={index} in="mark" class={look} text={text} />
          ) : (
            <Safe key={index} in="span" class={look} text={text} />
          ),
        )}
      </span>
    </>
  );
}
