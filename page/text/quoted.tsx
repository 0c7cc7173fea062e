import { Exact, Safe } from "./safe.tsx";

/** Shows the one command that a reason quotes as code. With more backticks, what they enclose is unclear. */
export function Quoted({ text }: { readonly text: string }) {
  const [before = "", quoted = "", after, ...more] = text.split("`");
  if (quoted === "" || after === undefined || more.length > 0) return <Safe text={text} />;
  return (
    <>
      <Safe text={before} />
      <Exact in="code" text={quoted} />
      <Safe text={after} />
    </>
  );
}
