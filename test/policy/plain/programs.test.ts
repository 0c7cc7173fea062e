// The list of programs that only look: what is accepted of each, and what is not.
import { describe, expect, test } from "vitest";
import { readByList } from "../../../src/policy/plain/programs.ts";
import { readPlainScript } from "../../../src/policy/plain/script.ts";

function read(text: string) {
  const script = readPlainScript(text);
  if (typeof script === "string") return script;
  const [command] = script.commands;
  const reading = readByList(command!.words);
  if (typeof reading === "string") return reading;
  return { ...reading, paths: reading.paths.map((index) => command!.words[index]!.value) };
}

/** A program with commands that are accepted, and commands that are not. */
const CASES: readonly (readonly [accepted: readonly string[], refused: readonly string[]])[] = [
  [
    ["cat", "cat a b", "cat -An a", "cat -- -n", "cat - a", "cat src/*.ts", "cat a -n"],
    ["cat -x", "cat --number a", "cat -nx a", "cat --show-all", "/bin/cat a", "Cat a", "cat -n*"],
  ],
  [
    ["tac a", "tac *.log"],
    ["tac -s x", "tac -r a"],
  ],
  [
    ["nl -ba a", "nl -b a -v 3 a"],
    ["nl --body-numbering=a a", "nl -v x a"],
  ],
  [["rev a"], ["rev -x a"]],
  [
    ["head -n 5 a", "head -n5 a", "head -20 a", "head -c 1k a b", "head -q *.md"],
    ["head -n x a", "head --lines=5 a", "head -n"],
  ],
  [
    ["tail -n +5 a", "tail -20 a", "tail -c 10 a"],
    ["tail -f a", "tail -F a", "tail -n 5 -f a", "tail --pid=1 a", "tail -5f a"],
  ],
  [
    ["wc", "wc -lwc a", "wc -l src/*.ts"],
    ["wc --files0-from=a", "wc --total=never a"],
  ],
  [
    ["ls", "ls -la src", "ls src -la", "ls -1aAdFhilnprRsSt *", "ls -- -a"],
    ["ls --color", "ls --hyperlink", "ls -lx", "ls -I x"],
  ],
  [
    ["tree", "tree -L 2 src", "tree -aL 2", "tree -d --dirsfirst -I node_modules"],
    ["tree -o x", "tree -Iofile x", "tree -L2", "tree -l", "tree --fromfile x", "tree -L x", "tree -- -o", "tree *"],
  ],
  [
    ["du", "du -sh .", "du -d 1 *", "du -ach src"],
    ["du -L x", "du -X x", "du --files0-from=x", "du -d x"],
  ],
  [
    ["df", "df -hT ."],
    ["df --output", "df -x tmpfs", "df *"],
  ],
  [
    ["free", "free -h", "free -m"],
    ["free -s 1", "free x"],
  ],
  [
    ["uptime", "nproc", "whoami"],
    ["uptime -p", "nproc --all", "whoami x"],
  ],
  [
    ["id", "id -un", "uname -a", "uname -srm"],
    ["id root", "id -Z", "uname x", "hostname", "hostname x"],
  ],
  [
    ["pwd", "pwd -P", "basename src/main.ts .ts", "dirname a/b"],
    ["pwd -L", "basename -a x", "dirname -z x", "dirname *"],
  ],
  [
    ["realpath -e a", "readlink -f a", "stat a", "stat -c %s a", "stat -c%a *"],
    ["stat -f x", "stat --printf=x a", "realpath -s a", "readlink -n a"],
  ],
  [
    ["file a", "file -bi *", "file -L a"],
    ["file -f x", "file -C -m x", "file -z x", "file -m x a", "file --mime a"],
  ],
  [
    ["which node", "which -a node git"],
    ["which ./x", "which -x", "which a/b"],
  ],
  [["echo", "echo -e 'a\\n' --help", "echo a=b"], ["echo *"]],
  [
    ["printf '%s\\n' a", "printf x", "printf '%5.2f' 1"],
    ["printf", "printf '%n'", "printf 'a%5n' x", "printf '%ln'", "printf '%*n'", "printf -v x y", "printf '%s' *"],
  ],
  [
    ["seq 1 5", "seq -w 3", "true", "true x", "false"],
    ["seq *", "yes"],
  ],
  [
    ["sleep 1", "sleep 30", "sleep 0.5", "sleep 29.999"],
    ["sleep 31", "sleep 30.5", "sleep 1m", "sleep infinity", "sleep 1 2", "sleep", "sleep -1"],
  ],
  [
    ["date", "date +%F", "date -u '+%F %T'", "date -I", "date -R"],
    ["date -s x", "date 01010000", "date -d x", "date -f x", "date -r x", "date +a +b", "date -Is"],
  ],
  [
    ["test -f a", "test ! -d b", "test a = b", "test a '!=' b", "test 1 -eq 1", "test -s x"],
    ["test -v x", "test -t 1", "test -O x", "test '(' -f -x-y ')'"],
  ],
  [
    [
      ...[
        "grep foo a",
        "grep -rn foo src",
        "grep -rnE 'a|b' --include='*.ts' .",
        "grep -e foo -e bar a",
        "grep -A3 -B 2 foo a",
        "grep foo src -r",
      ],
      ...["grep -c x *", "grep -m1 x a", "grep -rl --exclude-dir=dist x", "grep -- -x a"],
    ],
    [
      "grep -f x a",
      "grep -R x",
      "grep --file=x a",
      "grep -r --exclude-from=x y",
      "grep x* a",
      "grep -rz x",
      "grep --color x",
      "grep -A x y",
      "grep -D read x",
    ],
  ],
  [
    [
      "rg foo",
      "rg -n foo src",
      "rg --files",
      "rg -g '*.ts' foo",
      "rg -tts foo",
      "rg --hidden -U foo",
      "rg -e a -e b src",
      "rg -S foo -A 3",
    ],
    [
      "rg --pre x y",
      "rg -z x",
      "rg -f x",
      "rg -L x",
      "rg --hostname-bin x y",
      "rg -u x",
      "rg -uu x",
      "rg -r x y",
      "rg -E utf8 x",
      "rg --no-ignore x",
      "rg -h",
      "rg -g *.ts x",
      "rg --search-zip x",
    ],
  ],
  [
    [
      "find",
      "find .",
      "find src lib -name '*.ts' -type f",
      "find . ! -path './x/*' -o -empty",
      "find . -maxdepth 2 -not -name x -print0",
      "find . -mtime -1 -size +1k",
      "find -name -delete",
    ],
    [
      ...[
        "find . -delete",
        "find . -exec x",
        "find . -ok x",
        "find . -fprint x",
        "find . -ls",
        "find . -fls x",
        "find . -name",
        "find . -name x y",
      ],
      ...[
        "find -L .",
        "find . -newer x",
        "find . -name *.ts",
        "find . '(' -name x ')'",
        "find . -execdir x",
        "find -D exec .",
        "find ')' -delete",
        "find -files0-from x",
        "find *",
      ],
    ],
  ],
  [
    ["sort a", "sort -rn a", "sort -k2,2n -t, a", "sort -u *"],
    [
      "sort -o b a",
      "sort -ob a",
      "sort a -o b",
      "sort --output=b a",
      "sort -T x a",
      "sort --compress-program=x a",
      "sort --files0-from=x",
      "sort -S 1 a",
    ],
  ],
  [
    ["uniq", "uniq -c", "uniq -cd a"],
    ["uniq a b", "uniq a -c", "uniq -f 1 a", "uniq *", "uniq -- a b"],
  ],
  [
    [
      "cut -d: -f1 a",
      "cut -c 1-3 *",
      "tr a-z A-Z",
      "tr -d x",
      "paste -sd, a",
      "fold -w 80 a",
      "column -t a",
      "column -s , -t",
    ],
    ["cut --output-delimiter=x a", "tr a b c", "paste -z a", "fold -w x a", "column -J a", "tr * a"],
  ],
  [
    ["comm -12 a b", "cmp a b", "cmp -s a b", "diff a b", "diff -u a b"],
    ["comm a", "cmp a b 1", "diff a b c", "diff -r a b", "diff --to-file=x y", "diff a b -u", "diff -u *"],
  ],
  [
    ["od -c a", "od -A x -t x1 -N 16 -j 2 a", "hexdump -C -n 16 a", "strings -n 8 a"],
    ["hexdump -f x a", "hexdump -e x a", "od --traditional x", "xxd a", "strings -d a"],
  ],
  [
    ["sha256sum a", "md5sum *", "cksum a"],
    ["sha256sum -c a", "md5sum --check a", "cksum -a sm3 a"],
  ],
  [
    ["base64", "base64 -d a", "base64 -w 0 a"],
    ["base64 -o x", "base64 -i a -o b", "base64 a b"],
  ],
  [
    ["sed -n 5p a", "sed -n '1,20p' a", "sed -n 3p"],
    [
      "sed 5p a",
      "sed -n '1w x' a",
      "sed -n 5p a b",
      "sed -n s/a/b/e a",
      "sed -i -n 5p a",
      "sed -n -e 5p a",
      "sed -n 5p -i",
      "sed -n 5p,e a",
      "sed -n --expression=5p a",
    ],
  ],
  [
    ["jq . a", "jq -r .a.b a", "jq '.a[0] | keys' a", "jq -S . a b", "jq -c '.[] | length'"],
    [
      "jq env a",
      "jq '$ENV' a",
      "jq -f x a",
      "jq -L x . a",
      "jq --rawfile a b . c",
      "jq 'input' a",
      "jq -n . a",
      "jq",
      "jq . -- -f",
      "jq . *",
      "jq '.a | keys[]' a",
      "jq --args . a",
    ],
  ],
  [
    ["node --version", "git --version", "tmux --version"],
    [
      "node --version x",
      "npm --version",
      "cargo --version",
      "go --version",
      "node -v",
      "node -p 1",
      "java --version",
      "bash --version -c id",
    ],
  ],
  [
    [
      ...[
        "git status",
        "git status -sb",
        "git --no-pager log -3",
        "git log --oneline --graph --all",
        "git log -n 5 -- src",
        "git log --format='%h %s' -S foo",
      ],
      ...[
        "git show HEAD:README.md",
        "git show 'HEAD@{1}' --stat",
        "git diff main...HEAD",
        "git diff --cached",
        "git branch",
        "git branch -vv",
        "git branch --list 'x*'",
      ],
      ...[
        "git branch --merged main",
        "git tag",
        "git tag -l 'v*'",
        "git tag -n",
        "git rev-parse --short HEAD",
        "git ls-files -om --exclude-standard",
        "git ls-tree -r HEAD src",
      ],
      ...[
        "git blame src/a.ts",
        "git describe --tags --always",
        "git merge-base a b",
        "git shortlog -sn",
        "git stash list",
        "git remote -v",
        "git cat-file -p HEAD",
        "git cat-file blob a",
      ],
    ],
    [
      ...[
        "git",
        "git commit",
        "git -C x status",
        "git -c core.pager=x log",
        "git --git-dir=x status",
        "git --exec-path=x status",
        "git -p log",
        "git log -O x",
        "git log -L 1,2:a",
      ],
      ...[
        "git log --output=x",
        "git diff --output x",
        "git diff --no-index a b",
        "git diff --ext-diff",
        "git log --textconv",
        "git log --format=%G?",
        "git log --pretty='%+GG'",
      ],
      ...[
        "git log --show-signature",
        "git branch --format='%(signature)'",
        "git branch x",
        "git branch -d x",
        "git branch -v x",
        "git branch --list -D x",
        "git tag x",
        "git tag -d x",
        "git tag -n x",
      ],
      ...[
        "git tag -v x",
        "git show HEAD:.env",
        "git show HEAD:src/.ENV.local",
        "git show :0:.env",
        "git show ':/x'",
        "git diff -- ':(exclude)x'",
        "git show HEAD:a/id_rsa",
      ],
      ...[
        "git rev-parse --git-dir",
        "git rev-parse --parseopt",
        "git cat-file --batch",
        "git cat-file --textconv a",
        "git ls-files -X x",
        "git blame -L 1,2 a",
        "git blame --contents x a",
      ],
      ...[
        "git stash",
        "git stash list -p",
        "git remote",
        "git remote -v update",
        "git remote show x",
        "git grep x",
        "git status -v",
        "git diff --submodule=diff",
        "git describe --dirty",
      ],
      ...[
        "git log *",
        "git show -c",
        "git shortlog --format=x",
        "git diff -C",
        "git stat",
        "git log --one",
        "git merge-base -C x",
      ],
    ],
  ],
  [[], ["awk x", "xargs x", "env", "less a", "ps", "tee a", "tar tf a", "constructor", "toString x", "__proto__"]],
];

describe.each(CASES.map((each) => [(each[0][0] ?? each[1][0] ?? "").split(" ")[0], ...each] as const))(
  "%s",
  (_, accepted, refused) => {
    const all = [...accepted.map((command) => ["", command]), ...refused.map((command) => ["not ", command])];
    test.each(all)("is %saccepted: %s", (not, command) => {
      expect(read(command ?? "")).toBeTypeOf(not === "" ? "object" : "string");
    });
  },
);

describe("what of a command is judged as a path", () => {
  test.each<[string, readonly string[]]>([
    ["cat -n a -- -b", ["a", "-b"]],
    ["ls a -l b", ["a", "b", "-l"]],
    ["grep foo a b", ["a", "b"]],
    ["grep -e foo a b", ["a", "b"]],
    ["grep foo a -e b", ["foo", "a", "-e", "b"]],
    ["grep foo a -A 3", ["a", "-A", "3"]],
    ["rg foo a", ["a"]],
    ["rg --files a", ["a"]],
    ["sed -n 5p a", ["a"]],
    ["jq .x a b", ["a", "b"]],
    ["find a b -name c", ["a", "b"]],
    ["test -f a", ["a"]],
    ["echo a /etc/passwd", []],
    ["tr a b", []],
    ["git log -n 3 main -- a", ["main", "a"]],
    ["git diff a --stat", ["a", "--stat"]],
    ["sort -k 2 -t , a", ["a"]],
  ])("%s", (command, paths) => {
    expect(read(command)).toMatchObject({ paths });
  });

  test.each<[string, object]>([
    ["grep -r foo", { isRecursive: true, looksBelow: true, keepsOut: "grep" }],
    ["grep foo -r", { isRecursive: true, looksBelow: true, keepsOut: "grep" }],
    ["grep foo a", { isRecursive: false, looksBelow: false }],
    ["rg foo src", { isRecursive: true, looksBelow: false, keepsOut: "rg" }],
    ["ls -R", { isRecursive: true, looksBelow: true }],
    ["find -name x", { isRecursive: true, looksBelow: true }],
    ["tree", { isRecursive: true, looksBelow: true }],
    ["du src", { isRecursive: true, looksBelow: false }],
    ["diff a b", { onlyFiles: true }],
  ])("%s looks at more than its operands", (command, reading) => {
    expect(read(command)).toMatchObject(reading);
  });
});
