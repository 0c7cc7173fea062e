import type { ComponentChildren } from "preact";
import { Safe } from "../text/safe.tsx";
import { Code } from "./code.tsx";

/**
 * Renders texts of people and models with a little Markdown: fenced code, inline code, bold, headings. Everything
 * becomes text nodes; lists and links stay as written.
 */
export function Prose({ text }: { readonly text: string }) {
  const parts = text.split(/^(?:```|~~~)([^\n]*\n[\s\S]*?)(?:^(?:```|~~~)[ \t]*$\n?|$(?![\s\S]))/m);
  return (
    <div class="say">
      {parts.map((part, index) => (index % 2 === 1 ? <Fence key={index} text={part} /> : paragraphs(part, index)))}
    </div>
  );
}

/** Renders fenced code. The first line names its language. */
function Fence({ text }: { readonly text: string }) {
  const start = text.indexOf("\n") + 1;
  const [language] = /\w+/.exec(text.slice(0, start).toLowerCase()) ?? [];
  return (
    <pre class="code" tabIndex={0}>
      <Code text={text.slice(start).replace(/\n$/, "")} language={language} />
    </pre>
  );
}

function paragraphs(text: string, part: number): ComponentChildren {
  return text
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "")
    .map((paragraph, index) => {
      const heading = /^#{1,6} +(.*)$/.exec(paragraph)?.[1];
      if (heading !== undefined)
        return (
          <p key={`${part}-${index}`} class="heading">
            {inline(heading)}
          </p>
        );
      return <p key={`${part}-${index}`}>{inline(paragraph)}</p>;
    });
}

function inline(text: string): ComponentChildren {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((piece, index) => {
    if (piece.length > 2 && piece.startsWith("`")) {
      return <Safe key={index} in="code" text={piece.slice(1, -1)} />;
    }
    if (piece.length > 4 && piece.startsWith("**")) {
      return <Safe key={index} in="strong" text={piece.slice(2, -2)} />;
    }
    return <Safe key={index} text={piece} />;
  });
}
