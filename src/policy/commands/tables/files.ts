import { posix } from "node:path";
import type { CommandSpec, Finding, Use } from "../spec.ts";
import { literalWord } from "../words.ts";
import { gives } from "./shared.ts";

/** Commands that make, move, change and remove files. */
export const FILES: readonly CommandSpec[] = [
  {
    names: ["cp"],
    risk: "medium",
    why: "copies files",
    ordinary: true,
    options: {
      flags:
        "-a --archive -d -f --force -i --interactive -H -l --link -L --dereference -n --no-clobber -P --no-dereference " +
        "-p -R -r --recursive " +
        "-s --symbolic-link -T --no-target-directory -u -v --verbose -x --one-file-system --parents --remove-destination",
      values: { "-t --target-directory": "write", "-S --suffix": "text" },
      optional: {
        "-b --backup": "text",
        "--preserve": "text",
        "--reflink": "text",
        "--update": "text",
        "--sparse": "text",
      },
    },
    operands: { rest: "read", last: "write" },
    match: ["cp a.txt b.txt", "cp -r src/. dist", "cp --preserve=mode a b", "cp -t out a b"],
    notMatch: ["cp --no-such a b", "cp a $x"],
  },
  {
    names: ["mv"],
    risk: "medium",
    why: "moves files",
    ordinary: true,
    options: {
      flags: "-f --force -i --interactive -n --no-clobber -T --no-target-directory -u -v --verbose",
      values: { "-t --target-directory": "write", "-S --suffix": "text" },
      optional: { "-b --backup": "text", "--update": "text" },
    },
    operands: { rest: "remove", last: "write" },
    match: ["mv old.ts new.ts", "mv -n a b folder"],
    notMatch: ["mv --what a b"],
  },
  {
    names: ["rm"],
    risk: "medium",
    why: "removes files",
    ordinary: true,
    options: {
      flags:
        "-f --force -i -I -r -R --recursive -d --dir -v --verbose --one-file-system --preserve-root --no-preserve-root",
      optional: { "--interactive": "text" },
      raise: { "--no-preserve-root": ["high", "may remove the whole file system"] },
    },
    operands: { rest: "remove" },
    match: ["rm -rf node_modules", "rm -- -rf", "rm -f dist/a.js dist/b.js"],
    notMatch: ["rm -rf --no-preserve-root x", "rm --rec x"],
  },
  {
    names: ["rmdir", "unlink"],
    risk: "medium",
    why: "removes files",
    ordinary: true,
    options: { flags: "-p --parents -v --verbose --ignore-fail-on-non-empty" },
    operands: { rest: "remove" },
    match: ["rmdir -p out/empty", "unlink link"],
    notMatch: ["rmdir -r x"],
  },
  {
    names: ["mkdir", "mkfifo"],
    risk: "medium",
    why: "makes folders",
    ordinary: true,
    options: { flags: "-p --parents -v --verbose", values: { "-m --mode": "text" } },
    operands: { rest: "write" },
    match: ["mkdir -p src/api src/web", "mkdir -m 755 out"],
    notMatch: ["mkdir -Z out"],
  },
  {
    names: ["touch"],
    risk: "medium",
    why: "makes files or changes their times",
    ordinary: true,
    options: {
      flags: "-a -c --no-create -f -h --no-dereference -m",
      values: { "-d --date": "text", "-t": "text", "--time": "text", "-r --reference": "read" },
    },
    operands: { rest: "write" },
    match: ["touch a.txt", "touch -d '2 days ago' a b"],
    notMatch: ["touch --what a"],
  },
  {
    names: ["ln"],
    risk: "medium",
    why: "makes links",
    ordinary: true,
    options: {
      flags:
        "-s --symbolic -f --force -i --interactive -n --no-dereference -r --relative -T --no-target-directory -v " +
        "--verbose -P --physical",
    },
    operands: { rest: "text", last: "write" },
    refine: linkTargets,
    match: ["ln -s ../lib/tool.js bin/tool", "ln -sf a b"],
    notMatch: ["ln -F a b"],
  },
  {
    names: ["chmod"],
    risk: "medium",
    why: "changes permissions",
    ordinary: true,
    options: {
      flags: "-R --recursive -v --verbose -c --changes -f --silent --quiet --preserve-root",
      values: { "--reference": "read" },
    },
    operands: { first: ["text"], rest: "write" },
    refine: ({ operands }) => (setsId(operands[0]?.value) ? [SET_ID] : []),
    match: ["chmod +x run.sh", "chmod -R 755 bin"],
    notMatch: ["chmod u+s tool", "chmod 4755 tool", "chmod 6755 tool"],
  },
  {
    names: ["tee"],
    risk: "medium",
    why: "writes files",
    ordinary: true,
    options: { flags: "-a --append -i --ignore-interrupts -p" },
    operands: { rest: "write" },
    match: ["tee -a log.txt"],
    notMatch: ["tee --what x"],
  },
  {
    names: ["truncate"],
    risk: "medium",
    why: "changes the size of files",
    ordinary: true,
    options: { flags: "-c --no-create -o --io-blocks", values: { "-s --size": "text", "-r --reference": "read" } },
    operands: { rest: "write" },
    match: ["truncate -s 0 log.txt"],
    notMatch: ["truncate --zap x"],
  },
  {
    names: ["shred"],
    risk: "high",
    why: "destroys files beyond recovery",
    options: {
      flags: "-f --force -u -v --verbose -z --zero -x --exact",
      values: { "-n --iterations": "text", "-s --size": "text" },
    },
    operands: { rest: "remove" },
    match: ["shred -u a.txt"],
    notMatch: ["rm a.txt"],
  },
  {
    names: ["dd"],
    risk: "medium",
    why: "copies raw data",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: ({ operands }) => operands.flatMap(({ value }) => rawCopy(value)),
    match: ["dd if=a.bin of=b.bin bs=1M count=1 status=progress", "dd of=zeros count=1"],
    notMatch: ["dd what=1", 'dd of="$x"'],
  },
  {
    names: ["install"],
    risk: "medium",
    why: "copies files",
    ordinary: true,
    options: {
      flags: "-C --compare -D -d --directory -p --preserve-timestamps -v --verbose -T --no-target-directory",
      values: { "-m --mode": "text", "-t --target-directory": "write" },
    },
    operands: { rest: "read", last: "write" },
    refine: ({ options, operands }) => [
      ...(options.some(({ name, value }) => name === "-m" && setsId(value?.value)) ? [SET_ID] : []),
      ...(gives(options, "-d", "--directory") ? operands : []).map((word): Finding => ({
        kind: "path",
        use: "write",
        word,
      })),
    ],
    match: ["install -m 755 tool bin/tool", "install -d out/a out/b"],
    notMatch: ["install -o root tool bin/tool", "install -m 4755 tool bin/tool"],
  },
  {
    names: ["split"],
    risk: "medium",
    why: "writes the parts of a file",
    ordinary: true,
    options: {
      flags: "-d -x -e --elide-empty-files --verbose",
      values: {
        "-l --lines": "text",
        "-b --bytes": "text",
        "-n --number": "text",
        "-a --suffix-length": "text",
        "-C --line-bytes": "text",
      },
    },
    operands: { first: ["read", "write"] },
    match: ["split -l 100 big.txt part-"],
    notMatch: ["split --filter='sh -c id' big.txt"],
  },
  {
    names: ["mktemp"],
    risk: "medium",
    why: "makes a temporary file",
    ordinary: true,
    options: { flags: "-d --directory -q --quiet -u --dry-run -t", values: { "-p": "write", "--suffix": "text" } },
    operands: { first: ["write"] },
    match: ["mktemp -d", "mktemp tmp.XXXX"],
    notMatch: ["mktemp --what"],
  },
  {
    names: ["patch"],
    risk: "medium",
    why: "changes the files that a patch names",
    ordinary: true,
    options: {
      flags:
        "-b --backup -E --remove-empty-files -f --force -l --ignore-whitespace -N --forward -R --reverse -s --quiet " +
        "--silent --dry-run -t --batch --verbose",
      values: {
        "-p --strip": "text",
        "-i --input": "read",
        "-d --directory": "directory",
        "-F --fuzz": "text",
        "-o --output": "write",
        "-r --reject-file": "write",
      },
    },
    operands: { first: ["write", "read"] },
    match: ["patch -p1 -i fix.patch", "patch --dry-run -p1"],
    notMatch: ["patch -D NAME a b"],
  },
];

const SET_ID: Finding = { kind: "risk", risk: "high", why: "lets others run the file with its owner's rights" };

function setsId(mode = ""): boolean {
  return /^(0?[2-7]\d{3}|.*[+=][rwxXt]*s.*)$/.test(mode);
}

/** A relative target of a symbolic link is seen from the folder of the link. */
function linkTargets({ options, operands }: Use): readonly Finding[] {
  const symbolic = gives(options, "-s", "--symbolic") && !gives(options, "-r", "--relative");
  const link = operands.length > 1 ? operands.at(-1)?.value : undefined;
  const from = link === undefined || link.endsWith("/") ? (link ?? ".") : posix.dirname(link);
  return operands.slice(0, Math.max(1, operands.length - 1)).map((word) => {
    const seen =
      symbolic && word.value !== undefined
        ? literalWord(posix.resolve("/", word.value) === word.value ? word.value : `${from}/${word.value}`)
        : word;
    return { kind: "path", use: "read", word: seen };
  });
}

const RAW_TEXT = /^(bs|ibs|obs|cbs|count|skip|seek|iseek|oseek|conv|iflag|oflag|status)=/;

function rawCopy(operand: string | undefined): readonly Finding[] {
  const path = /^(if|of)=(.*)$/s.exec(operand ?? "");
  if (path) return [{ kind: "path", use: path[1] === "of" ? "write" : "read", word: literalWord(path[2] ?? "") }];
  return operand !== undefined && RAW_TEXT.test(operand)
    ? []
    : [{ kind: "unclear", why: "expected operands of dd such as if=FILE or bs=1M" }];
}
