import type { CommandSpec, Finding, Use } from "../spec.ts";
import { awkFindings, awkProblem } from "./awk.ts";
import { sedFindings } from "./sed.ts";
import { gives, isOneOf, mediumUnlessVersion } from "./shared.ts";

/** Commands that are given a program as text: what that program may do is what they may do. */
export const TEXT_PROGRAMS: readonly CommandSpec[] = [
  {
    names: ["sed", "gsed"],
    risk: "low",
    options: {
      flags:
        "-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z --null-data --posix --sandbox --debug --version",
      values: { "-e --expression": "text", "-f --file": "read", "-l --line-length": "text" },
      optional: { "-i --in-place": "text" },
      raise: {
        "-i --in-place": ["medium", "changes files", "ordinary"],
        "-f --file": ["medium", "runs the program in a file"],
      },
    },
    operands: { rest: "text" },
    refine: sed,
    match: [
      "sed -n '1,20p' a.txt",
      "sed 's/a/b/g' a.txt",
      "sed -E -e 's|x|y|' -e '/^#/d' a.txt",
      "sed -n 5p a.txt",
      "sed '$d' a.txt",
      "sed -n '/begin/,/end/p' a.txt",
      "sed 's/[^/]*$//' a.txt",
    ],
    notMatch: [
      "sed -i s/a/b/ a.txt",
      "sed 's/x/id/e' x.txt",
      "sed -n 'w out' a.txt",
      "sed -f script.sed a.txt",
      "sed '1e id' a.txt",
      "sed 'y/[/]/;w out/g' a.txt",
      "sed 's/[/w x/' a.txt",
      "sed 'p;e' a.txt",
      "sed --expr=p a.txt",
      "sed 's/a/b/w out' a",
    ],
  },
  {
    names: ["awk", "gawk", "mawk", "nawk"],
    risk: "low",
    options: {
      flags: "-V --version",
      values: {
        "-F --field-separator": "text",
        "-v --assign": "text",
        "-f --file": "program",
        "-e --source": "program",
        "-i --include": "program",
        "-l --load": "program",
        "-E --exec": "program",
      },
      raise: { "-l --load": ["high", "loads a library"] },
    },
    operands: { rest: "text" },
    refine: awk,
    match: [
      "awk '{print $1}' a.txt",
      "awk -F, '$3 > 100 { n++ } END { print n }' a.csv",
      "awk -v n=2 'NR == n' a.txt",
      "awk '/a|b/ {print length($0)}' a.txt",
    ],
    notMatch: [
      "awk 'BEGIN{system(\"id\")}'",
      "awk 'BEGIN{\"id\"|getline x; print x}'",
      "gawk -f p.awk x",
      "awk '/=/; system(x); /y/' a.txt",
      'awk \'if (1) /"/; system("id") #"/\' a.txt',
      'awk \'{print $1,\\n "x" > "out"}\' a.txt',
      "awk 'BEGIN{print ENVIRON[\"TOKEN\"]}'",
      "awk '@load \"x\"'",
      "awk '{print > \"out\"}' a",
      "awk '{print | \"sh\"}' a",
      'awk "$p" a',
    ],
  },
  {
    names: ["jq", "gojq"],
    risk: "low",
    options: {
      flags:
        "-r --raw-output -c --compact-output -n --null-input -s --slurp -e --exit-status -S --sort-keys -M " +
        "--monochrome-output -C --color-output " +
        "-a --ascii-output -j --join-output -R --raw-input --tab --stream --seq --unbuffered -h --help -V --version --raw-output0",
      values: { "--indent": "text", "-f --from-file": "program", "-L": "program" },
    },
    operands: { first: ["text"], rest: "read" },
    refine: ({ operands }) =>
      bans(
        operands[0]?.value,
        /\$ENV|\benv\b|\$__prog|\b(import|include|input_filename|get_search_list|modulemeta|debug|halt_error)\b/,
        "the program",
      ),
    match: ["jq .version package.json", "jq -r '.scripts | keys[]' package.json", "jq -n '1 + 1'"],
    notMatch: [
      "jq -n env",
      "jq -n '$ENV.TOKEN'",
      "jq -f program.jq a.json",
      "jq --arg a b . x.json",
      "jq 'include \"m\"; .' a.json",
    ],
  },
  {
    names: ["yq"],
    risk: "low",
    options: {
      flags:
        "-r --raw-output -P --prettyPrint -M --no-colors -C --colors -j --tojson -N --no-doc -e --exit-status -i " +
        "--inplace -y -V --version",
      values: { "-p --input-format": "text", "-o --output-format": "text" },
      raise: { "-i --inplace": ["medium", "changes files", "ordinary"] },
    },
    operands: { first: ["text"], rest: "read" },
    refine: ({ operands, options }) => [
      ...bans(operands[0]?.value, /env|load|import|include|system|exec|eval/i, "the program"),
      ...(gives(options, "-i", "--inplace")
        ? operands.slice(1).map((word): Finding => ({ kind: "path", use: "write", word }))
        : []),
    ],
    match: ["yq .services compose.yaml", "yq -o json . a.yaml"],
    notMatch: ["yq -i '.a = 1' a.yaml", "yq 'load(\"/x\")' a.yaml", "yq 'env(TOKEN)' a.yaml"],
  },
  {
    names: ["perl"],
    risk: "medium",
    why: "runs a Perl program",
    ordinary: true,
    refine: needsFile,
    syntax: "posix",
    options: {
      flags: "-n -p -l -a -w -c -v -T -W",
      values: { "-e": "program", "-E": "program", "-M": "program", "-I": "program" },
      optional: { "-i": "text", "-F": "text", "-0": "text" },
    },
    operands: { first: ["program-file"], rest: "text" },
    match: ["perl -pe 's/a/b/' a.txt", "perl script.pl", "perl -v"],
    notMatch: ["perl -x a", "perl -d a.pl"],
  },
  {
    names: ["ruby"],
    risk: "medium",
    why: "runs a Ruby program",
    ordinary: true,
    refine: needsFile,
    syntax: "posix",
    options: {
      flags: "-n -p -l -a -w -c -v --version",
      values: { "-e": "program", "-r": "program", "-I": "program", "-C": "directory" },
    },
    operands: { first: ["program-file"], rest: "text" },
    match: ["ruby -e 'puts 1'", "ruby script.rb a", "ruby --version"],
    notMatch: ["ruby -S x", "ruby --disable=gems x.rb"],
  },
  {
    names: ["lua", "Rscript", "julia", "php"],
    risk: "medium",
    why: "runs a program",
    ordinary: true,
    refine: needsFile,
    syntax: "posix",
    options: { flags: "-v --version", values: { "-e": "program", "-r": "program" } },
    operands: { first: ["program-file"], rest: "text" },
    match: ["php -v", "lua script.lua"],
    notMatch: ["lua -i x", "php -S 0.0.0.0:80"],
  },
  {
    names: ["deno", "bun"],
    risk: "low",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion(
      "runs a program",
      isOneOf("test run task fmt lint check install i add remove bench compile build update outdated ci"),
    ),
    match: ["deno --version", "bun --version"],
    notMatch: ["deno run main.ts", "deno eval x", "bun -e x"],
  },
  {
    names: ["R", "tclsh", "expect", "elixir", "erl", "ghci", "scala", "groovy"],
    risk: "medium",
    why: "runs a program",
    syntax: "posix",
    options: { flags: "-v --version", values: { "-e": "program", "-r": "program" } },
    operands: { first: ["program"], rest: "text" },
    match: ["elixir script.exs", "R --version"],
    notMatch: ["R -i x"],
  },
];

/** Without a file it runs what it reads. */
function needsFile({ options, operands }: Use): readonly Finding[] {
  const isTold = operands.length > 0 || gives(options, "-v", "--version");
  return isTold ? [] : [{ kind: "risk", risk: "medium", why: "runs what it reads" }];
}

function sed({ options, operands }: Use): readonly Finding[] {
  const expressions = options.filter(({ name }) => name === "-e").map(({ value }) => value);
  const fromFile = options.some(({ name }) => name === "-f");
  const bare = expressions.length === 0 && !fromFile;
  const programs = bare ? operands.slice(0, 1) : expressions;
  const use = options.some(({ name }) => name === "-i") ? (["read", "write"] as const) : (["read"] as const);
  const files = operands
    .slice(bare ? 1 : 0)
    .flatMap((word) => use.map((one): Finding => ({ kind: "path", use: one, word })));
  return [...programs.flatMap((program) => sedFindings(program?.value)), ...files];
}

function awk({ options, operands }: Use): readonly Finding[] {
  const elsewhere = options.some(({ name }) => ["-f", "-e", "-E"].includes(name));
  const program = elsewhere ? undefined : operands[0];
  const problem = elsewhere || program === undefined ? undefined : awkProblem(program.value);
  const assigned = options.filter(({ name }) => name === "-v").map(({ value }) => value?.value);
  const rest = operands.slice(elsewhere ? 0 : 1).map((word): Finding => {
    const assignment = word.value !== undefined && /^[A-Za-z_]\w*=/.test(word.value);
    return assignment ? { kind: "risk", risk: "low", why: "" } : { kind: "path", use: "read", word };
  });
  const unknown = assigned.some((value) => value === undefined || !/^(?!ARG|ENV)[A-Za-z_]\w*=/.test(value));
  return [
    ...(problem === undefined ? [] : [{ kind: "unclear", why: `the awk program ${problem}`, risk: "medium" } as const]),
    ...(problem === undefined ? [] : awkFindings(program?.value)),
    ...(unknown ? [{ kind: "unclear", why: "-v: expected NAME=VALUE" } as const] : []),
    ...rest.filter((finding) => finding.kind === "path"),
  ];
}

function bans(program: string | undefined, banned: RegExp, what: string): readonly Finding[] {
  if (program === undefined) return [];
  const found = banned.exec(program)?.[0];
  return found === undefined
    ? []
    : [{ kind: "unclear", risk: "medium", why: `${what} uses "${found}", which reaches beyond its input` }];
}
