/** Numbered words: `a1 a2 …`. */
const words = (count: number, prefix: string): string =>
  Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`).join(" ");

const SPLIT = /; split it/;

/**
 * Scripts of which a part is not examined, with the text of the question. Each ends in a part that would be refused or
 * asked about by itself.
 */
export const TOO_LONG: readonly (readonly [title: string, script: string, why: RegExp])[] = [
  ["files", `tac ${words(1_001, "a")} .env`, SPLIT],
  ["commands", `${":;".repeat(301)} cat .env`, SPLIT],
  ["bytes", `: ${"x".repeat(16_384)}; cat .env`, /at most 16384 .*write long text to a file/],
  ["scripts in scripts", `${"eval ".repeat(12)}cat .env`, SPLIT],
  ["commands in commands", `${"env ".repeat(12)}cat .env`, SPLIT],
  ["parentheses", `${"(".repeat(65)} cat .env ${")".repeat(65)}`, SPLIT],
  ["lists", `cat {${words(64, "a").replaceAll(" ", ",")},.env}`, SPLIT],
  ["lists of nothing", `cat ${"{,}".repeat(60)}.env`, SPLIT],
];

/** Everyday scripts that are long, but not too long. */
export const LONG: readonly (readonly [title: string, script: string])[] = [
  ["60 commands", Array.from({ length: 60 }, (_, at) => `echo step ${at} && mkdir -p out/${at}`).join("\n")],
  ["a file of 14 KiB", `cat > notes.md <<'EOF'\n${'A line (of "text") with `code` in it.\n'.repeat(400)}EOF`],
  [
    "a file of 14 KiB in which variables are expanded",
    `cat > run.sh <<EOF\n${"echo $HOME and more text\n".repeat(580)}EOF`,
  ],
  ["500 files", `git add ${words(500, "src/components/a")}`],
];
