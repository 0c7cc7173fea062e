import fc from "fast-check";

/** Programs of a generated script. They record their name and arguments, and exit with 0; "no" exits with 1. */
export const RECORDERS = ["alpha", "beta", "gamma", "no"] as const;
/** Programs whose names cannot be functions in a shell, so they are files. */
export const ODD_RECORDERS = ["a.b", "x+y", "7z", "2", "bin/tool", "./tool"] as const;

type Text = fc.Arbitrary<string>;

/**
 * Scripts that are mostly plain, and as complex as plain scripts can be: quotes next to bare text, every separator with
 * blanks and newlines, redirections everywhere, patterns with matching files. One in ten is damaged.
 */
export function plainScripts(): Text {
  const script = fc
    .tuple(start, fc.array(fc.tuple(command, separator), { minLength: 1, maxLength: 5 }), ending)
    .map(([first, parts, end]) => {
      const body = parts.map(([text, between], index) => (index + 1 < parts.length ? text + between : text)).join("");
      return first + body + end;
    });
  return fc.oneof({ weight: 9, arbitrary: script }, { weight: 1, arbitrary: damaged(script) });
}

const blanks = fc.constantFrom("", "", " ", " ", "  ", "\t", " \t ");
const gap = fc.constantFrom(" ", " ", " ", "  ", "\t");
const lines = fc.constantFrom("", "", "", "\n", "\n\n", " \n\t", "\n ");

const separator: Text = fc.oneof(
  fc.tuple(blanks, fc.constantFrom("&&", "||", ";", "|"), blanks, lines).map((parts) => parts.join("")),
  fc.tuple(blanks, fc.constant("\n"), lines, blanks).map((parts) => parts.join("")),
);

const start: Text = fc.oneof(
  { weight: 6, arbitrary: blanks },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        blanks,
        fc.constantFrom(
          "sub",
          "./sub/",
          "'sub dir'",
          's"u"b',
          "sub/deep",
          "..",
          "../work/sub",
          "'~'",
          ".",
          "'-n'",
          "none",
        ),
        fc.constantFrom(" && ", "&&", " &&\n"),
      )
      .map(([before, folder, between]) => `${before}cd ${folder}${between}`),
  },
);

const ending: Text = fc.constantFrom(
  "",
  "",
  "",
  "",
  "",
  "",
  "",
  ";",
  "\n",
  ";",
  " ;",
  "\n",
  "\n\n",
  "; \n",
  " ",
  ";;",
  " &",
);

const bare: Text = fc.oneof(
  {
    weight: 100,
    arbitrary: fc.string({ unit: fc.constantFrom(...Array.from("ab0Z_-./,:@%+=19")), minLength: 1, maxLength: 5 }),
  },
  {
    weight: 40,
    arbitrary: fc.constantFrom("-n", "--name=", "a=b", "HEAD~1", "HEAD^", "x~y", "a..b", "2", "1", "then", "fi", "in"),
  },
  { weight: 20, arbitrary: fc.constantFrom("é", "说明", "e\u0301", "-~", "a^b~") },
  { weight: 1, arbitrary: fc.constantFrom("~", "^", "~root", "a:~", "=~") },
);

const inside = fc.constantFrom(
  ...[
    "a",
    "b c",
    " ",
    "",
    "#",
    "# x",
    ";",
    "&&",
    "|",
    "<",
    "> out",
    "(",
    ")",
    "{a,b}",
    "[a-z]*",
    "*",
    "?",
    "~",
    "~/x",
    "-n",
  ],
  ...["é", "说", "😀", "\u00a0", "=", ":", "^a", "%s", ".", "/", "@(a|b)", "\ufffd"],
);
const singleQuoted: Text = fc
  .array(fc.oneof(inside, fc.constantFrom("$(hidden)", "`hidden`", "\\", '"', "$HOME", "$none", "!!", "\\n", "${x}")), {
    maxLength: 3,
  })
  .map((parts) => `'${parts.join("")}'`);
const doubleQuoted: Text = fc
  .array(fc.oneof(inside, fc.constantFrom("'", "it's")), { maxLength: 3 })
  .map((parts) => `"${parts.join("")}"`);

const pattern: Text = fc.oneof(
  fc.constantFrom(
    "*",
    "?",
    "*b",
    "a*",
    "?b",
    "b.*",
    "*.txt",
    "**",
    "?*",
    ".h*",
    "sub/*",
    "./*",
    "sub/d*p",
    "no*ne",
    "*/x",
    "uni/*",
    "-*",
  ),
  fc
    .array(fc.constantFrom("*", "?", "a", "b", ".", "'*'", '"?"', "'[a]'", "x' '", '"b"', "sub/", "''"), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.join("")),
);

const word: Text = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(
        fc.oneof(
          { weight: 3, arbitrary: bare },
          { weight: 2, arbitrary: singleQuoted },
          { weight: 2, arbitrary: doubleQuoted },
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((parts) => parts.join("")),
  },
  { weight: 2, arbitrary: pattern },
  { weight: 1, arbitrary: fc.constantFrom("!", "''", '""', "''''", "-", "--") },
);

const redirection: Text = fc.oneof(
  {
    weight: 19,
    arbitrary: fc.constantFrom(
      ...[
        "2>/dev/null",
        "2> /dev/null",
        ">/dev/null",
        "> /dev/null",
        ">\t/dev/null",
        "</dev/null",
        "< /dev/null",
        "2>&1",
        ">&2",
      ],
      "2 >/dev/null",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("22>/dev/null", ">/dev/nullx", "2>&1x", ">&22", ">>/dev/null", "2>&-") },
);

const command: Text = fc
  .tuple(
    fc.array(redirection, { maxLength: 1 }),
    fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...RECORDERS) },
      { weight: 1, arbitrary: fc.constantFrom(...ODD_RECORDERS) },
    ),
    fc.array(fc.tuple(gap, fc.oneof({ weight: 6, arbitrary: word }, { weight: 1, arbitrary: redirection })), {
      maxLength: 5,
    }),
    fc.integer({ min: 0, max: 5 }),
  )
  .map(([before, name, rest, chance]) => {
    const words = rest.map((parts) => parts.join("")).join("");
    return (chance === 0 ? before.map((each) => `${each} `).join("") : "") + name + words;
  });

const damage = fc.constantFrom(
  ...[
    "'",
    '"',
    "\\",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "#",
    "&",
    "<",
    ">",
    "|",
    ";",
    "\n",
    "\r",
    "!",
    "~",
    "*",
    " ",
    "\u00a0",
  ],
  ...[
    "$'a'",
    '$"a"',
    "<<x",
    "<<<a",
    "{a,b}",
    "=",
    "a=b ",
    "if ",
    "\f",
    "\v",
    "\u200b",
    "\u2028",
    "\ud800",
    "\0",
    "é",
    "2>",
    "time ",
  ],
);

function damaged(text: Text): Text {
  return fc.tuple(text, damage, fc.double({ min: 0, max: 1, noNaN: true })).map(([whole, wrong, where]) => {
    const at = Math.floor(where * (whole.length + 1));
    return whole.slice(0, at) + wrong + whole.slice(at);
  });
}
