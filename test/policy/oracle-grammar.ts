import fc from "fast-check";

/**
 * Commands of a generated script that only record their name. Some of the names are in our tables; none of the commands
 * does anything.
 */
export const RECORDERS = [
  "alpha",
  "beta",
  "gamma",
  "rm",
  "curl",
  "git",
  "ls",
  "grep",
  "node",
  "npm",
  "make",
  "sudo",
] as const;
/** Those of them that run without a question in an ordinary script. */
export const HARMLESS = ["ls", "grep", "git"] as const;
/**
 * Commands of a generated script that record their name and then run as the real program, because they run or feed
 * others.
 */
export const PASSERS = [
  ...["env", "nice", "timeout", "nohup", "setsid", "stdbuf", "ionice", "chrt", "xargs", "find", "sh", "bash", "dash"],
  ...["cat", "tee"],
] as const;
/**
 * What every recorder prints, and what `lib.sh` and `tool` of the working folder run: a command that no script itself
 * names.
 */
export const HIDDEN = "hidden";
/** An executable of the working folder. */
export const WORKSPACE_TOOL = "tool";
/** A shell script of the working folder. */
export const LIBRARY = "lib.sh";

type Text = fc.Arbitrary<string>;

/**
 * Shell scripts of every part of the grammar that can run a command: spellings of names, expansions, substitutions,
 * lists, loops, functions, heredocs, redirections into the working folder, wrappers, builtins that evaluate text. About
 * one in six is damaged, because a shell runs a script up to the syntax error.
 */
export function shellScripts(): Text {
  const { script } = fc.letrec<{ script: string; statement: string; simple: string; argument: string }>((tie) => {
    const inner = () => tie("script");
    const simple = () => tie("simple");
    return {
      script: fc
        .tuple(spacing, fc.array(fc.tuple(tie("statement"), separator), { minLength: 1, maxLength: 3 }), ending)
        .map(([before, parts, end]) => before + parts.reduce(listed, "") + end),
      statement: fc.oneof(
        { maxDepth: 4, depthIdentifier: "script" },
        { weight: 5, arbitrary: simple() },
        { weight: 4, arbitrary: wrapped(simple(), inner()) },
        { weight: 4, arbitrary: compound(inner(), simple()) },
        { weight: 3, arbitrary: evaluated(inner()) },
        { weight: 2, arbitrary: heredoc(inner()) },
      ),
      simple: fc
        .tuple(
          fc.array(fc.oneof(assignment(tie("argument")), redirection(tie("argument"))), { maxLength: 1 }),
          commandName,
          fc.array(fc.oneof({ weight: 4, arbitrary: tie("argument") }, redirection(tie("argument"))), { maxLength: 3 }),
        )
        .chain(([before, name, after]) => joined([...before, name, ...after])),
      argument: fc.oneof(
        { maxDepth: 5, depthIdentifier: "script" },
        { weight: 6, arbitrary: plainArgument },
        { weight: 4, arbitrary: substitution(inner()) },
      ),
    };
  });
  return fc.oneof(
    { weight: 5, arbitrary: script },
    { weight: 3, arbitrary: clearScripts(RECORDERS) },
    { weight: 3, arbitrary: clearScripts(HARMLESS) },
    { weight: 2, arbitrary: damaged(fc.oneof(script, clearScripts(RECORDERS), clearScripts(HARMLESS))) },
  );
}

/** Scripts of the same grammar without difficult parts: the policy must see everything in them. */
function clearScripts(names: readonly string[]): Text {
  const [known = "ls"] = names;
  const name = fc
    .constantFrom(...names)
    .chain((word) =>
      fc.constantFrom(word, word, `'${word}'`, `"${word}"`, `\\${word}`, `${word.slice(0, 1)}''${word.slice(1)}`),
    );
  const argument = fc.constantFrom(
    "a.txt",
    "src",
    "'b c'",
    "-n",
    '"x"',
    "$'y'",
    "{a,b}",
    "1",
    "2>&1",
    "> out",
    "2>/dev/null",
    "< a.txt",
  );
  const command = fc.tuple(
    fc.constantFrom(
      "",
      "",
      "",
      "nice ",
      "timeout 1 ",
      "env ",
      "NODE_ENV=test ",
      "command ",
      "time ",
      "nohup ",
      "setsid ",
      "! ",
    ),
    name,
    fc.array(argument, { maxLength: 2 }),
  );
  return fc.letrec<{ script: string; statement: string }>((tie) => ({
    script: fc
      .array(fc.tuple(tie("statement"), separator), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.reduce(listed, "")),
    statement: fc.oneof(
      { maxDepth: 3, depthIdentifier: "clear" },
      { weight: 6, arbitrary: command.map(([wrapper, word, words]) => wrapper + [word, ...words].join(" ")) },
      {
        weight: 5,
        arbitrary: tie("script").chain((inner) =>
          fc.constantFrom(
            ...[
              `{ ${inner}\n}`,
              `( ${inner}\n)`,
              `if ${inner}\nthen ${known}; fi`,
              `if true; then ${inner}\nelse ${known}; fi`,
              `for item in a b; do ${inner}\ndone`,
            ],
            ...[
              `case x in x) ${inner}\n;; esac`,
              `while ${inner}\ndo break; done`,
              `echo "$(${inner}\n)"`,
              `echo $(${inner}\n)`,
              `cat <(${inner}\n)`,
              `sh -c ${quoted(inner)}`,
            ],
            ...[
              `bash -c ${quoted(inner)} > out`,
              `cat <<END\n$(${inner}\n)\nEND\n`,
              `cat <<'END'\n$(hidden)\nEND\n${inner}`,
              `eval ${quoted(inner)}`,
              `echo a | { ${inner}\n}`,
            ],
            ...[
              `${known} \\\n  src && ${inner}`,
              `${inner} # note`,
              `cat <<< "$(${inner}\n)"`,
              `find . -maxdepth 0 -exec ${known} {} \\;\n${inner}`,
              `echo a | xargs ${known}; ${inner}`,
              `! { ${inner}\n}`,
            ],
          ),
        ),
      },
    ),
  })).script;
}

const recorder = fc.constantFrom(...RECORDERS);

const spacing = fc.oneof(
  { weight: 12, arbitrary: fc.constant("") },
  fc.constantFrom(" ", "\t", "\n", "  \n\n", "# rm -rf / '\n", "\\\n", " \r\n", ": ;", "\f"),
);

const separator = fc.constantFrom(
  "; ",
  "\n",
  " && ",
  " || ",
  " | ",
  " & ",
  ";",
  "\n\n",
  " # note\n",
  " |& ",
  ";\\\n",
  "\r\n",
  " ;\t",
);

const ending = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  fc.constantFrom(";", "\n", " &", " # note", "\n\n", " \\\n", "\r\n"),
);

/** A heredoc's body ends with its line, so only another line can follow it. */
function listed(before: string, [statement, between]: [string, string]): string {
  if (before === "") return statement;
  return before.endsWith("\n") ? before + statement : before + between + statement;
}

/** Returns a name in a spelling that a shell reads as the same word, or that only a shell can resolve. */
const commandName: Text = fc.oneof(
  { weight: 6, arbitrary: recorder },
  { weight: 4, arbitrary: recorder.chain(spelled) },
  { weight: 1, arbitrary: fc.constantFrom(`./${WORKSPACE_TOOL}`, "./to?l", `$PWD/${WORKSPACE_TOOL}`, "to*") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "$NAME",
      '"$@"',
      "$0",
      "${!NAME}",
      "$(echo alpha)",
      "`echo beta`",
      "/bin/echo",
      "echo",
      "true",
      ":",
    ),
  },
);

function spelled(name: string): Text {
  const first = name.slice(0, 1);
  const rest = name.slice(1);
  const codes = Array.from(name, (letter) => letter.codePointAt(0) ?? 0);
  const hexadecimal = codes.map((code) => `\\x${code.toString(16)}`).join("");
  const octal = codes.map((code) => `\\${code.toString(8)}`).join("");
  const unicode = codes.map((code) => `\\u00${code.toString(16)}`).join("");
  return fc.constantFrom(
    ...[
      `'${name}'`,
      `"${name}"`,
      `${first}''${rest}`,
      `${first}"${rest}"`,
      `\\${name}`,
      `${first}\\\n${rest}`,
      `$"${name}"`,
    ],
    ...[
      `$'${hexadecimal}'`,
      `$'${octal}'`,
      `$'${unicode}'`,
      `"${first}\\\n${rest}"`,
      `{${name},one}`,
      `{${name},}`,
      `${first}{${rest},x}`,
    ],
    ...[
      `\${none:-${name}}`,
      `\${none-'${name}'}`,
      `${first}$()${rest}`,
      `${first}\`\`${rest}`,
      `${first}$none${rest}`,
      `${first}"$@"${rest}`,
    ],
    ...[
      `${first}\${none}${rest}`,
      `$(printf ${name})`,
      `"$(echo ${name})"`,
      `${first}$'${rest}'`,
      `${first}\${none#x}${rest}`,
    ],
    ...[
      `{${first}..${first}}${rest}`,
      `${first}\${none:+y}${rest}`,
      `~+/${name}`,
      `/tmp/recorders/${name}`,
      `$((0))${name}`,
    ],
  );
}

const plainArgument: Text = fc.oneof(
  { weight: 3, arbitrary: recorder },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...[
        "-n",
        "--",
        "--name=value",
        "-rf",
        "a.txt",
        "'b c'",
        '"b c"',
        "$HOME",
        '"$@"',
        "*",
        "?.txt",
        "[a-z]*",
        "~",
        "~/x",
        "{a,b}",
        "{1..3}",
      ],
      ...[
        "$'\\x41\\n'",
        "'$(hidden)'",
        "\\$\\(hidden\\)",
        '"\\$(hidden)"',
        "'`hidden`'",
        "a#b",
        "${#NAME}",
        "$((1 + 2))",
        "é",
        "''",
        "-",
        "!",
        "=x",
      ],
      ...["${NAME:-d}", "${NAME/a/b}", "$$", "$!", "@(a|b)", "\\;", "{}", "'{}'", "]]", "then", "do", "$'it\\'s'"],
    ),
  },
);

/** Words that run a script inside. */
function substitution(script: Text): Text {
  return script.chain((inner) => {
    const back = inner.replace(/[\\`]/g, "\\$&");
    return fc.constantFrom(
      ...[
        `$(${inner})`,
        `"$(${inner})"`,
        `\`${back}\``,
        `"\`${back}\`"`,
        `<(${inner})`,
        `>(${inner})`,
        `$(${inner}\n)`,
        `x$(${inner})y`,
      ],
      ...[
        `\${none:-$(${inner})}`,
        `"\${none:=$(${inner})}"`,
        `\${HOME/$(${inner})/y}`,
        `\${HOME:$(${inner}; echo 0)}`,
        `"\${HOME#$(${inner})}"`,
      ],
      ...[
        `$((1 + $(${inner}; echo 1)))`,
        `$((list[$(${inner}; echo 0)]))`,
        `$[1 + $(${inner}; echo 1)]`,
        `"\${list[$(${inner}; echo 0)]}"`,
      ],
      ...[
        `"$( (${inner}) )"`,
        `$(\n${inner}\n)`,
        `"a 'b' $(${inner})"`,
        `$"$(${inner})"`,
        `\${none:-"$(${inner})"}`,
        `"\${none:-\`${back}\`}"`,
      ],
      ...[
        `{$(${inner}),b}`,
        `$(${inner} # note\n)`,
        `$(<a.txt)$(${inner})`,
        `--option=$(${inner})`,
        `"\${none-'$(${inner})'}"`,
        `\${none^^$(${inner})}`,
      ],
    );
  });
}

function assignment(value: Text): Text {
  return fc.oneof(
    value.map((text) => `NAME=${text}`),
    value.map((text) => `NAME+=${text}`),
    value.map((text) => `NODE_ENV=${text}`),
    fc.constantFrom(
      "PATH=.:$PATH",
      "PATH=/tmp/recorders",
      "BASH_ENV=./lib.sh",
      "ENV=./lib.sh",
      "IFS=a",
      "LANG=C",
      "'NAME'=x",
      "PS4='$(hidden)'",
    ),
  );
}

function redirection(target: Text): Text {
  return fc.oneof(
    fc.constantFrom(
      ...[
        "> out",
        ">out",
        ">> 'out file'",
        "2>&1",
        "< a.txt",
        "&> out",
        ">| out",
        "<> out",
        "{fd}> out",
        "2>/dev/null",
        ">&2",
        "<&-",
      ],
    ),
    target.map((text) => `> ${text}`),
    target.map((text) => `<<< ${text}`),
  );
}

/** Commands that run another: the shell's own keywords and builtins, and programs. */
function wrapped(command: Text, script: Text): Text {
  const before = fc.constantFrom(
    ...[
      "env",
      "env -i PATH=/tmp/recorders",
      "env X=1 Y=2",
      "env -u X",
      "env -uX",
      "env --",
      "env -C .",
      "env --unset=X",
      "env - PATH=$PATH",
      "env -iuX PATH=$PATH",
      "env =",
      "env -uX =",
      "env - a.b=c ./x=y",
    ],
    ...[
      "nice",
      "nice -n 5",
      "nice -n5",
      "nice -5",
      "nice --adjustment=5",
      "timeout 1",
      "timeout -s KILL 1",
      "timeout --signal=KILL 1s",
      "timeout -k 1 1",
    ],
    ...[
      "timeout --preserve-status -- 1",
      "time",
      "time -p",
      "!",
      "command",
      "command --",
      "command -p",
      "builtin command",
      "exec",
      "exec -a x",
      "exec -c",
    ],
    ...[
      "nohup",
      "setsid",
      "setsid -w",
      "setsid -f",
      "stdbuf -oL",
      "stdbuf -o L -eL",
      "ionice -c3",
      "ionice -c 3",
      "chrt -b 0",
      "coproc",
      "coproc NAME",
      "eval",
      "eval --",
    ],
    ...[
      "xargs",
      "xargs -n1",
      "xargs -n 1 -P2",
      "xargs -I{}",
      "xargs -I {}",
      "xargs -0",
      "xargs -r",
      "xargs --max-args=1",
      "xargs -i",
      "xargs -t --",
      "echo a | xargs",
    ],
    ...[
      "printf 'alpha\\n' | xargs",
      "echo hidden | xargs env",
      "echo hidden | xargs -I{} env {}",
      "xargs -a a.txt",
      "sudo",
      "time -p --",
      "! time",
      "busybox",
    ],
    ...[
      "env nice timeout 1",
      "command command env",
      "nohup nice -n 1 setsid -w",
      "xargs env",
      "env -S 'nice alpha'",
      "env --split-string='beta x'",
      "env -vS'gamma'",
      "env -S '= beta'",
      "env -S'-i X=1' PATH=$PATH",
    ],
  );
  const text = script.map(quoted);
  return fc.oneof(
    { weight: 5, arbitrary: fc.tuple(before, command).map(([wrapper, inner]) => `${wrapper} ${inner}`) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          before.chain((wrapper) => respelled(wrapper)),
          recorder.chain(spelled),
        )
        .map((words) => words.join(" ")),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.constantFrom("-exec", "-execdir", "-ok"),
          recorder,
          fc.constantFrom("{} \\;", "{} +", "';'", "a {} ';' -exec alpha {} ';'"),
        )
        .map(([action, name, end]) => `find . -maxdepth 1 -name a.txt ${action} ${name} ${end}`),
    },
    {
      weight: 5,
      arbitrary: fc
        .tuple(
          fc.constantFrom(
            ...[
              "sh -c",
              "bash -c",
              "dash -c",
              "bash -ec",
              "bash -xc",
              "bash --norc -c",
              "bash -o pipefail -c",
              "bash +x -c",
              "bash -O extglob -c",
              "/bin/sh -c",
            ],
            ...[
              "env sh -c",
              "eval",
              "eval echo one \\;",
              "builtin eval",
              "command eval",
              "xargs -I{} sh -c",
              "find . -maxdepth 0 -exec sh -c",
              "exec bash -c",
              "bash -c --",
            ],
            ...[
              "bash <<<",
              "sh <<<",
              "bash -s <<<",
              "source /dev/stdin <<<",
              ". /dev/stdin <<<",
              "trap -- ",
              "bash /dev/stdin <<<",
              "cat <<<",
              "command . /dev/stdin <<<",
            ],
          ),
          text,
          fc.constantFrom("", " name one", " EXIT", " | sh", " | bash -s", " {} \\;", " | cat | sh", " DEBUG; alpha"),
        )
        .map((parts) => `${parts[0]} ${parts[1]}${parts[2]}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...[
          `. ./${LIBRARY}`,
          `source ${LIBRARY}`,
          `bash ${LIBRARY}`,
          `bash < ${LIBRARY}`,
          `cat ${LIBRARY} | sh`,
          `sh ./${LIBRARY} one`,
          `eval "$(cat ${LIBRARY})"`,
        ],
        ...[
          "alpha | sh",
          "alpha | bash",
          "eval $(alpha)",
          ". <(alpha)",
          "bash <(alpha)",
          "$(alpha)",
          "alpha | xargs env",
          "alpha | tee >(sh)",
          'sh -c "$(alpha)"',
        ],
        ...[
          "sh -s < <(alpha)",
          'bash -c "`alpha`"',
          "alpha > out; sh out",
          "alpha > out; . ./out",
          "export BASH_ENV=./lib.sh; bash -c :",
          "find . -name a.txt -exec $(alpha) \\;",
        ],
        ...[
          "PATH=.:$PATH; tool",
          "PATH=.:$PATH tool",
          "cd ..; cd -; ./tool",
          "hash -p ./tool alpha; alpha",
          "env PATH=.:$PATH tool",
          "env - ./tool",
          "exec ./tool",
        ],
      ),
    },
  );
}

function respelled(words: string): Text {
  const [first = "", ...rest] = words.split(" ");
  return (/^[a-z]+$/.test(first) ? spelled(first) : fc.constant(first)).map((word) => [word, ...rest].join(" "));
}

function compound(script: Text, command: Text): Text {
  const two = fc.tuple(script, script);
  return fc.oneof(
    script.chain((inner) =>
      fc.constantFrom(
        ...[
          `{ ${inner}\n}`,
          `( ${inner}\n)`,
          `(${inner})`,
          `{ ${inner}; } > out`,
          `for item in a; do ${inner}\ndone`,
          `for item; do ${inner}\ndone`,
        ],
        ...[
          `for ((i = 0; i < 1; i++)); do ${inner}\ndone`,
          `for ((i = 0; i < 1; i++)) { ${inner}\n}`,
          `for item in alpha; do $item; ${inner}\ndone`,
          `for item in a; { ${inner}\n}`,
        ],
        ...[
          `while\n${inner}\ndo break; done`,
          `until ! { ${inner}\n}; do break; done`,
          `case x in x) ${inner}\n;; esac`,
          `case x in y) alpha ;; (*) ${inner}\nesac`,
        ],
        ...[
          `case x in x) : ;& y) ${inner}\n;; esac`,
          `case x in x) : ;;& *) ${inner}\n;; esac`,
          `case $(${inner}\n) in *) beta;; esac`,
          `case x in $(${inner}\n)) ;; esac`,
        ],
        ...[
          `select item in a; do ${inner}\nbreak; done <<< 1`,
          `f() { ${inner}\n}; f`,
          `function f { ${inner}\n}; f`,
          `f() (${inner}\n); f one`,
          `function f() { ${inner}\n} > out; f`,
        ],
        ...[
          `alpha() { ${inner}\n}; alpha`,
          `cd() { ${inner}\n}; cd .`,
          `echo() { ${inner}\n}; echo`,
          `f() { "$@"; }; f alpha`,
          `coproc { ${inner}\n}`,
          `coproc NAME ( ${inner} )`,
        ],
        ...[
          `! { ${inner}\n}`,
          `time { ${inner}\n}`,
          `{ ${inner}\n} | cat`,
          `echo | { ${inner}\n}`,
          `{ ${inner}\n} & wait`,
          `set -- alpha; "$@"; ${inner}`,
          `command_not_found_handle() { ${inner}\n}; nothere`,
        ],
      ),
    ),
    two.chain(([one, other]) =>
      fc.constantFrom(
        ...[
          `if ${one}\nthen ${other}\nfi`,
          `if true; then ${one}\nelse ${other}\nfi`,
          `if false; then ${one}\nelif true; then ${other}\nfi`,
          `[[ -n $(${one}\n) ]] && { ${other}\n}`,
        ],
        ...[
          `while ${one}\n do ${other}\nbreak; done`,
          `(( 1 + $(${one}; echo 1) )) && { ${other}\n}`,
          `[[ a == $(${one}\n) ]] || { ${other}\n}`,
          `[[ ( -n a && ! b = $(${one}\n) ) ]] || ${other}`,
        ],
      ),
    ),
    fc.tuple(command, separator, command).map((parts) => parts.join("")),
  );
}

/** Builtins and variables that take text and run it. */
function evaluated(script: Text): Text {
  return script.chain((inner) => {
    const subscript = quoted(`list[$(${inner}\n)]`);
    const code = quoted(inner);
    const expands = quoted(`$(${inner}\n)`);
    return fc.constantFrom(
      ...[
        `[[ -v ${subscript} ]]`,
        `test -v ${subscript}`,
        `[ -v ${subscript} ]`,
        `printf -v ${subscript} x`,
        `read ${subscript} <<< x`,
        `unset ${subscript}`,
        `let ${subscript}=1`,
      ],
      ...[
        `declare -i number=${subscript}`,
        `number=${subscript}; echo $((number))`,
        `number=${subscript}; (( number ))`,
        `[[ ${subscript} -eq 1 ]]`,
        `declare ${subscript}=1`,
        `local ${subscript}=1`,
      ],
      ...[
        `trap ${code} EXIT`,
        `trap ${code} DEBUG; :`,
        `trap ${code} ERR; false`,
        `trap -- ${code} 0`,
        `trap ${code} RETURN; . ./a.txt`,
        `mapfile -C ${code} -c 1 list < a.txt`,
        `compgen -C ${code}`,
      ],
      ...[
        `NAME=${expands}; echo "\${NAME@P}"`,
        `PS4=${expands}; set -x; :`,
        `NAME=${code}; $NAME`,
        `NAME=${code}; eval "$NAME"`,
        `NAME=${code}; bash -c "$NAME"`,
        `export NAME=${code}; sh -c 'eval "$NAME"'`,
      ],
      ...[
        `shopt -s expand_aliases\nalias go=${code}\ngo`,
        `alias alpha=${code}\nalpha`,
        `BASH_ALIASES[go]=${code}; shopt -s expand_aliases\ngo`,
        `PROMPT_COMMAND=${code}; :`,
        `exec 3< <(${inner})`,
      ],
      ...[
        `list=($(${inner}\n))`,
        `list[$(${inner}\n)]=1`,
        `declare -A map=([$(${inner}\n)]=x)`,
        `export NAME=$(${inner}\n)`,
        `readonly NAME\${none:-$(${inner}\n)}=1`,
        `NAME=x$(${inner}\n)`,
        `wait $(${inner}\n)`,
      ],
      ...[
        `declare -n reference=${subscript}; echo "$reference"`,
        `getopts a ${subscript} -a`,
        `f() { local NAME="$(${inner}\n)"; }; f`,
        `return $(${inner}\n)`,
        `declare -f f; f() { ${inner}\n}; export -f f; bash -c f`,
      ],
      ...[
        `echo "\${!none$(${inner}\n)}"`,
        `NAME=${subscript}; echo "\${!NAME}"`,
        `enable -n echo; ${inner}`,
        `type -P ${code}`,
        `wait -n -p ${subscript}`,
        `echo "\${HOME:${subscript}}"`,
        `shift ${subscript}`,
      ],
    );
  });
}

function heredoc(script: Text): Text {
  return script.chain((inner) =>
    fc.constantFrom(
      ...[
        `cat <<END\n$(${inner}\n)\nEND\n`,
        `cat <<'END'\n$(${inner}\n)\nEND\n`,
        `cat <<-END\n\t$(${inner})\n\tEND\n`,
        `bash <<END\n${inner}\nEND\n`,
        `bash <<'END'\n${inner}\nEND\n`,
      ],
      ...[
        `sh -s one <<"END"\n${inner}\nEND\n`,
        `cat <<END | sh\n${inner}\nEND\n`,
        `alpha <<END && ${inner}\ntext\nEND\n`,
        `cat <<A <<B\none\nA\n$(${inner})\nB\n`,
        `cat <<\\END\n$(hidden)\nEND\n${inner}`,
      ],
      ...[
        `eval "$(cat <<END\n${inner}\nEND\n)"`,
        `cat <<END\n\${none:-$(${inner})}\nEND\n`,
        `cat <<END\n\\$(hidden) $(${inner})\nEND\n`,
        `cat <<END\n$((list[$(${inner}; echo 0)]))\nEND\n`,
      ],
      ...[
        `while read -r line; do $line; done <<END\n${inner}\nEND\n`,
        `{ cat; ${inner}\n} <<END\n\`alpha\`\nEND\n`,
        `cat <<END > out; sh out\n${inner}\nEND\n`,
        `cat <<E"N"D\n$(hidden)\nEND\n${inner}`,
      ],
      ...[
        `cat <<END\ntext\nEND \n${inner}\nEND\n`,
        `xargs <<END\n${inner}\nEND\n`,
        `. /dev/fd/3 3<<END\n${inner}\nEND\n`,
        `cat <<$(x)\n$(${inner})\n$(x)\n`,
        `cat <<END\n${inner}`,
      ],
    ),
  );
}

/** Returns the script with a few characters removed, doubled or inserted. */
function damaged(script: Text): Text {
  const wounds = fc.array(
    fc.tuple(
      fc.nat(),
      fc.constantFrom(
        "",
        "",
        "'",
        '"',
        "`",
        "\\",
        ")",
        "(",
        "\n",
        "$",
        "{",
        "}",
        ";",
        "&",
        "|",
        "\r",
        "\u00a0",
        "\u0001",
        "#",
        "<",
        "<<",
      ),
    ),
    {
      minLength: 1,
      maxLength: 2,
    },
  );
  return fc.tuple(script, wounds).map(([text, changes]) =>
    changes.reduce((whole, [position, added]) => {
      const at = position % (whole.length + 1);
      return whole.slice(0, at) + added + whole.slice(added === "" ? at + 1 : at);
    }, text),
  );
}

/** Joins words with various kinds of white space. */
function joined(words: readonly string[]): Text {
  const gap = fc.oneof({ weight: 8, arbitrary: fc.constant(" ") }, fc.constantFrom("  ", "\t", " \\\n", " \\\n\t "));
  return fc
    .array(gap, { minLength: words.length, maxLength: words.length })
    .map((gaps) => words.map((word, index) => (index === 0 ? word : `${gaps[index]}${word}`)).join(""));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
