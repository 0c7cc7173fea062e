import type { CommandRules } from "../settings.ts";
import { type CommandPattern, matchesLeniently } from "./command.ts";
import type { Rule } from "./rule.ts";

const namesIn = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Programs that run any other, whatever word follows. */
const WHATEVER_FOLLOWS: ReadonlySet<string> = new Set(
  namesIn(`
    env nice nohup timeout time stdbuf setsid ionice chrt xargs parallel watch script exec eval command builtin
    source . sudo doas su find fd awk gawk mawk sed ed vim vi emacs tar rsync ssh busybox nsenter chroot unshare bwrap
    systemd-run`),
);
/** Programs that run any other with the right words: whoever may run them with any arguments may run everything. */
const MULTI_PURPOSE: ReadonlySet<string> = new Set([
  ...WHATEVER_FOLLOWS,
  ...namesIn(`
    sh bash dash zsh ksh fish csh tcsh docker podman kubectl python python2 python3 node nodejs deno bun tsx ts-node
    perl ruby php lua Rscript osascript git make ninja npx pnpx bunx uvx pipx npm pnpm yarn uv cargo go`),
]);

/** What people should know of their rules before they rely on them, a sentence a rule. */
export function warningsOf(rules: { readonly [list in keyof CommandRules]-?: readonly Rule[] }): readonly string[] {
  const all = (["deny", "ask", "allow", "only"] as const).flatMap((list) =>
    rules[list].flatMap((rule) => {
      const about = neverMatches(rule, list, rules) ?? (list === "allow" ? allowsMore(rule) : undefined);
      return about === undefined ? [] : [`policy.commands.${list} ${JSON.stringify(rule.text)} ${about}`];
    }),
  );
  return [...new Set(all)];
}

function neverMatches(
  rule: Rule,
  list: keyof CommandRules,
  { deny, ask }: { readonly deny: readonly Rule[]; readonly ask: readonly Rule[] },
): string | undefined {
  if (rule.kind !== "command") return undefined;
  if (rule.pattern.isList)
    return (
      "can never match: a rule is compared with one command at a time, and this has several, a redirection or a " +
      "substitution; write a rule for each command"
    );
  const stronger = list === "deny" ? [] : list === "ask" ? deny : [...deny, ...ask];
  const before = stronger.find((other) => other.kind === "command" && holdsAll(other.pattern, rule.pattern));
  return before && `can never match: ${JSON.stringify(before.text)} stands before it`;
}

/** Whether whatever the second pattern finds, the first does too, as far as that is easily told. */
function holdsAll(one: CommandPattern, other: CommandPattern): boolean {
  const words = other.words.map((word) =>
    word.is === "any" ? "\0any" : word.is === "word" ? word.text : `${word.text}\0`,
  );
  return matchesLeniently(one, { words, text: "" });
}

function allowsMore(rule: Rule): string | undefined {
  if (rule.kind === "path") return rule.pattern.root === "/" ? "allows every path that is not forbidden" : undefined;
  if (rule.kind === "fetch") return rule.host === undefined ? "allows every host that is not forbidden" : undefined;
  if (rule.kind !== "command" || rule.pattern.isList) return undefined;
  const [first, second] = rule.pattern.words;
  if (first === undefined || first.is === "any") return "allows every command";
  if (first.is === "beginning") return `allows every program whose name begins with ${JSON.stringify(first.text)}`;
  if (!MULTI_PURPOSE.has(first.text)) return undefined;
  const isOpen = rule.pattern.open || rule.pattern.words.some(({ is }) => is !== "word");
  const isNarrow = second?.is === "word" && !second.text.startsWith("-") && !WHATEVER_FOLLOWS.has(first.text);
  if (!isOpen || isNarrow) return undefined;
  return `allows more than it seems: ${first.text} can run any program; name what it may be asked to do`;
}
