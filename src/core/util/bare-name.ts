/**
 * Returns the name of a tool without what models put around it: white space and quotes, control tokens of a chat format
 * (`read<|channel|>commentary`), a namespace (`functions.read`, `default_api:read`), the count or parentheses of a call
 * (`functions.read:0`, `read()`). Other names are returned unchanged.
 */
export function bareName(name: string): string {
  if (name.length > LONGEST) return name;
  const [first = ""] = name
    .split(/<\|[^|]*\|?>?/)
    .map((part) => part.replaceAll(AROUND, ""))
    .filter((part) => part !== "");
  const called = first.replace(/(?:\(.*\)|:\d+)$/s, "");
  return (called.split(/[.:/]/).findLast((part) => part !== "") ?? "").replaceAll(AROUND, "") || name;
}

/** No tool has a name that is longer, with what surrounds it. */
const LONGEST = 200;

/** What surrounds a name, at either end. */
const AROUND = /^[\s"'`]+|[\s"'`]+$/g;
