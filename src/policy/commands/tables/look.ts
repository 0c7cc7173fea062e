import type { CommandSpec, Finding, Use } from "../spec.ts";
import { isNoOption } from "../words.ts";

/** Commands that only look, or only say something. */
export const LOOK: readonly CommandSpec[] = [
  {
    names: ["echo"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    anyWords: true,
    match: ["echo hi", 'echo -n "$x"', "echo $(date)", "echo *.ts"],
    notMatch: ['echo "$(sudo id)"', "echo $((a[$(id)]))", "echo ${!x}"],
  },
  {
    names: ["printf"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    anyWords: true,
    refine: ({ operands: [format] }) =>
      format === undefined || isNoOption(format) || format.value === "--"
        ? []
        : [{ kind: "unclear", why: "its format is not plain text: -v sets a variable" }],
    match: ["printf '%s\\n' \"$x\"", "printf hello"],
    notMatch: ["printf -v x y", "printf $x"],
  },
  {
    names: ["test", "["],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    anyWords: true,
    refine: conditions,
    match: ["test -f package.json", "[ -d dist ]", '[ -n "$x" ]', '[ "$a" = b ]', "[ 1 -lt 2 ]"],
    notMatch: ["test -v 'a[$(id)]'", "[ $x ]", '[ "$a" "$b" ]', "[ -R x ]"],
  },
  {
    names: ["ls", "dir", "vdir"],
    risk: "low",
    options: {
      flags:
        "-a -A -l -h -1 -t -r -R -S -d -F -i -s -p -n -o -g -G -k -m -x -C -c -u -U -X -L -H -Q -N -b -v -Z --all --almost-all --human-readable --recursive " +
        "--reverse --directory --size --inode --group-directories-first --full-time --numeric-uid-gid --no-group --dereference --si --version --help",
      values: {
        "-I --ignore": "text",
        "-w --width": "text",
        "-T --tabsize": "text",
        "--hide": "text",
        "--block-size": "text",
      },
      optional: {
        "--color": "text",
        "--time": "text",
        "--sort": "text",
        "--format": "text",
        "--time-style": "text",
        "--indicator-style": "text",
        "--classify": "text",
        "--hyperlink": "text",
      },
    },
    operands: { rest: "read" },
    match: ["ls", "ls -la src", "ls --color=auto -lhS", "ls *.none", "ls -- -x"],
    notMatch: ["ls /etc", "ls ~root/.ssh", "ls $x", "ls --foo", "ls ../x"],
  },
  {
    names: ["tree"],
    risk: "low",
    options: {
      flags: "-a -d -f -i -s -h -D -p -C -n -r -t -F -N -Q --dirsfirst --noreport --gitignore --prune --du",
      values: { "-L": "text", "-I": "text", "-P": "text" },
    },
    operands: { rest: "folder" },
    match: ["tree -L 2", "tree -I node_modules src"],
    notMatch: ["tree -o out.txt", "tree /etc"],
  },
  {
    names: [
      "cat",
      "tac",
      "nl",
      "rev",
      "fold",
      "expand",
      "unexpand",
      "fmt",
      "pr",
      "column",
      "paste",
      "od",
      "hexdump",
      "xxd",
      "strings",
      "cksum",
      "sum",
      "md5sum",
      "sha1sum",
      "sha224sum",
      "sha256sum",
      "sha384sum",
      "sha512sum",
      "b2sum",
      "shasum",
    ],
    risk: "low",
    options: {
      flags:
        "-A -b -E -n -s -T -u -v -e -t -a -i -c -d -r -z -p -C -x -o -B -f -l --number --show-all --show-ends --show-tabs --squeeze-blank --number-nonblank --check --binary --text --quiet --status --tag --zero --table",
      values: { "-w --width": "text", "-N": "text", "-j": "text", "--tabs": "text", "--algorithm": "text" },
    },
    operands: { rest: "read" },
    refine: ({ words: [name], operands }) =>
      name?.value === "xxd" && operands.length > 1 ? [{ kind: "unclear", why: "xxd writes to its second file" }] : [],
    match: ["cat a.txt b.txt", "cat -n src/a.ts", "cat", "sha256sum -c sums.txt", "od -c a.bin", "cat docs/说明.md"],
    notMatch: ["cat /etc/passwd", "cat $x", "cat --foo a", "cat ../../x", "xxd a b"],
  },
  {
    names: ["base64", "base32"],
    risk: "low",
    options: { flags: "-d --decode -D -i --ignore-garbage", values: { "-w --wrap": "text" } },
    operands: { first: ["read"] },
    match: ["base64 -d a.txt", "base64 -w0 a.png"],
    notMatch: ["base64 ~/.ssh/id_rsa", "base64 a b"],
  },
  {
    names: ["head", "tail"],
    risk: "low",
    options: {
      flags: "-NUM -q -v -z -f -F -r --quiet --silent --verbose --follow --retry",
      values: { "-n --lines": "text", "-c --bytes": "text", "-s --sleep-interval": "text", "--pid": "text" },
    },
    operands: { rest: "read" },
    match: ["head", "head -20 a.txt", "tail -n 5 a.txt", "tail -n +3 a.txt", "head -c100 a b"],
    notMatch: ["tail /var/log/syslog", "head --foo a", "head $x"],
  },
  {
    names: ["wc"],
    risk: "low",
    options: {
      flags: "-l -w -c -m -L --lines --words --bytes --chars --max-line-length",
      values: { "--total": "text" },
    },
    operands: { rest: "read" },
    match: ["wc -l a.txt", "wc"],
    notMatch: ["wc --files0-from=x", "wc -l $x"],
  },
  {
    names: ["stat", "file", "readlink", "realpath"],
    risk: "low",
    options: {
      flags:
        "-L -t -b -i -k -r -z -f -e -m -n -q -s -v -p --dereference --terse --brief --mime --mime-type --mime-encoding --canonicalize --canonicalize-existing " +
        "--canonicalize-missing --no-newline --quiet --strip --no-symlinks --logical --physical --zero --uncompress",
      values: {
        "-c --format": "text",
        "--printf": "text",
        "--relative-to": "read",
        "--relative-base": "read",
        "-F": "text",
      },
    },
    operands: { rest: "read" },
    refine: ({ words: [name], options }) =>
      name?.value === "file" &&
      options.some((option) => option.name === "-m" || option.name === "-z" || option.name === "-p")
        ? [{ kind: "unclear", why: "the option is not one that is known here for file" }]
        : [],
    match: ["stat package.json", "stat -c %s a", "file -b a.png", "realpath src", "readlink -f a"],
    notMatch: ["stat /etc/shadow", "file -m magic a", "file -C"],
  },
  {
    names: ["du", "df"],
    risk: "low",
    options: {
      flags:
        "-h -s -a -c -k -m -b -x -i -T -P -H -L -0 -S --human-readable --summarize --all --total --apparent-size --bytes --inodes --si --one-file-system",
      values: {
        "-d --max-depth": "text",
        "--exclude": "text",
        "-t --threshold": "text",
        "-B --block-size": "text",
        "--type": "text",
      },
      optional: { "--output": "text", "--time": "text" },
    },
    operands: { rest: "folder" },
    match: ["du -sh .", "du -h --max-depth=1 src", "df -h"],
    notMatch: ["du /", "du --files0-from=x"],
  },
  {
    names: [
      "pwd",
      "tty",
      "whoami",
      "hostname",
      "uname",
      "arch",
      "nproc",
      "uptime",
      "free",
      "logname",
      "sw_vers",
      "lscpu",
      "locale",
      "cal",
      "getconf",
    ],
    risk: "low",
    options: {
      flags:
        "-L -P -a -s -n -r -m -p -u -g -G -h -i -o -v --all --kernel-name --machine --release --version --help --human --mega",
    },
    refine: ({ words: [name], operands }) =>
      name?.value === "hostname" && operands.length > 0 ? [{ kind: "unclear", why: "hostname NAME sets it" }] : [],
    match: ["pwd", "uname -a", "whoami", "nproc"],
    notMatch: ["hostname other", "pwd --foo", "id"],
  },
  {
    names: ["date"],
    risk: "low",
    options: {
      flags: "-u --utc --universal -R --rfc-email -j",
      values: { "-d --date": "text", "-r --reference": "read", "-v": "text" },
      optional: { "-I --iso-8601": "text", "--rfc-3339": "text" },
    },
    operands: { first: ["text"] },
    refine: ({ operands }) =>
      operands.some(({ prefix }) => !prefix.startsWith("+"))
        ? [{ kind: "unclear", why: "without + it sets the clock" }]
        : [],
    match: ["date", "date -u +%FT%TZ", "date -d yesterday +%s", "date -Iseconds"],
    notMatch: ["date -s 2020-01-01", "date 010100002020", "date -f x"],
  },
  {
    names: ["basename", "dirname"],
    risk: "low",
    options: { flags: "-a -z --multiple --zero", values: { "-s --suffix": "text" } },
    operands: { rest: "text" },
    match: ["basename src/a.ts .ts", "dirname a/b"],
    notMatch: ["basename --foo a"],
  },
  {
    names: ["seq", "expr", "factor", "numfmt"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    anyWords: true,
    match: ["seq 1 10", "expr 1 + 2"],
    notMatch: ["bc x"],
  },
  {
    names: ["sort"],
    risk: "low",
    options: {
      flags:
        "-b -d -f -g -h -i -M -n -r -R -V -c -C -m -s -u -z --reverse --numeric-sort --unique --human-numeric-sort --version-sort --check --stable --ignore-case --zero-terminated --merge",
      values: {
        "-k --key": "text",
        "-t --field-separator": "text",
        "-o --output": "write",
        "-S --buffer-size": "text",
        "--parallel": "text",
        "--sort": "text",
      },
      raise: { "-o --output": ["medium", "writes a file", "ordinary"] },
    },
    operands: { rest: "read" },
    match: ["sort a.txt", "sort -rn -k2,2 a.txt", "sort -t, -k1 a.csv", "sort -u"],
    notMatch: ["sort -o out.txt a", "sort --compress-program=x a", "sort -T /tmp a", "sort -o/etc/x a"],
  },
  {
    names: ["uniq"],
    risk: "low",
    options: {
      flags: "-c -d -D -i -u -z --count --repeated --unique --ignore-case",
      values: { "-f --skip-fields": "text", "-s --skip-chars": "text", "-w --check-chars": "text" },
    },
    operands: { first: ["read"] },
    match: ["uniq -c", "uniq -c a.txt"],
    notMatch: ["uniq a.txt out.txt"],
  },
  {
    names: ["cut"],
    risk: "low",
    options: {
      flags: "-s -n -z --complement --only-delimited",
      values: {
        "-d --delimiter": "text",
        "-f --fields": "text",
        "-c --characters": "text",
        "-b --bytes": "text",
        "--output-delimiter": "text",
      },
    },
    operands: { rest: "read" },
    match: ["cut -d: -f1 a.txt", "cut -c 1-5"],
    notMatch: ["cut -f1 /etc/passwd", "cut --foo"],
  },
  {
    names: ["tr"],
    risk: "low",
    options: { flags: "-c -C -d -s -t --complement --delete --squeeze-repeats" },
    operands: { rest: "text" },
    match: ["tr a-z A-Z", "tr -d '\\n'"],
    notMatch: ["tr --foo a"],
  },
  {
    names: ["diff", "cmp", "comm", "join", "diff3", "sdiff", "colordiff"],
    risk: "low",
    options: {
      flags:
        "-u -r -q -N -i -w -b -B -a -y -s -c -1 -2 -3 -z -l -t -e -n -p --recursive --brief --unified --new-file --ignore-all-space --ignore-space-change --ignore-blank-lines --side-by-side --suppress-common-lines --minimal --nocheck-order --check-order --silent --verbose",
      values: {
        "-U": "text",
        "-C": "text",
        "-x --exclude": "text",
        "-I --ignore-matching-lines": "text",
        "-W --width": "text",
        "-j": "text",
        "--label": "text",
        "-L": "text",
        "--strip-trailing-cr": "text",
      },
      optional: { "--color": "text" },
    },
    operands: { rest: "read" },
    match: ["diff -u a.txt b.txt", "cmp a b", "diff -rq src dist", "comm -12 a b", "diff -U3 a b"],
    notMatch: ["diff a /etc/passwd", "sdiff -o out a b", "diff --foo a b"],
  },
];

/** `-v` and `-R` evaluate the name that they are given; of a word that is not known nobody can say that it is none of these. */
function conditions({ operands }: Use): readonly Finding[] {
  if (operands.some(({ value }) => value === "-v" || value === "-R"))
    return [{ kind: "unclear", why: "-v evaluates what it is given" }];
  const unknown = operands.filter(({ value }) => value === undefined);
  if (unknown.some(({ splits }) => splits))
    return [{ kind: "unclear", why: "unquoted, what is not known may be any condition" }];
  return unknown.length > 1 &&
    operands.length < 4 &&
    !operands.some(({ value }) => /^(!?=|==|<|>|-\w\w)$/.test(value ?? ""))
    ? [{ kind: "unclear", why: "what is not known may be any condition" }]
    : [];
}
