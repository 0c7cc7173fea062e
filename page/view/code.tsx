import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { highlighterFor } from "../text/code.ts";
import { Safe } from "../text/safe.tsx";

interface CodeProps {
  readonly text: string;
  /** A name or a file extension. */
  readonly language: string | undefined;
}

/** Renders code with colours if its language is known. */
export function Code({ text, language }: CodeProps) {
  const highlight = highlighterFor(language);
  const lines = useMemo(() => highlight?.(text, language ?? ""), [highlight, text, language]);
  if (lines === undefined) return <Safe text={text} />;
  return (
    <>
      {lines.map((segments, index) => (
        <Fragment key={index}>
          {index > 0 && "\n"}
          {segments.map((segment, at) => (
            <Safe key={at} in="span" class={segment.look} text={segment.text} />
          ))}
        </Fragment>
      ))}
    </>
  );
}
