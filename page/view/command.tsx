import { Exact } from "../text/safe.tsx";
import { commandLines } from "../text/command.ts";

/** Shows a whole command, wrapped only between arguments. Numbers the lines if there are several. */
export function Command({ text }: { readonly text: string }) {
  const lines = commandLines(text);
  return (
    <>
      {lines.map((pieces, index) => (
        <div key={index} class="cl">
          {lines.length > 1 && <span class="cn">{index + 1}</span>}
          <span class="ct">
            {pieces.map((piece, at) =>
              piece.trim() === "" ? (
                <Exact key={at} text={piece} />
              ) : (
                <Exact key={at} in="span" class="arg" text={piece} />
              ),
            )}
          </span>
        </div>
      ))}
    </>
  );
}
