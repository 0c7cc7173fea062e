import type { CommandSpec, Finding, Use } from "../spec.ts";
import type { Word } from "../tree.ts";
import { literalWord } from "../words.ts";
import { gives } from "./shared.ts";

/** Archives and compressed files. */
export const ARCHIVES: readonly CommandSpec[] = [
  {
    names: ["tar", "gtar", "bsdtar"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: tar,
    match: ["tar tf a.tar", "tar -tzvf a.tgz", "tar --list --file=a.tar", "tar --version"],
    notMatch: [
      ...[
        "tar czf out.tgz dist",
        "tar -xf a.tar",
        "tar xPf a.tar",
        "tar -I 'sh -c id' -xf a.tar",
        "tar cf a.tar --checkpoint=1 --checkpoint-action=exec=id x",
      ],
      ...[
        "tar xf a.tar --to-command=id",
        "tar -tf $x --what",
        "tar -cf host:a.tar x",
        "tar -F ./p -tf a.tar",
        "tar tIf ./p a.tar",
      ],
    ],
  },
  {
    names: ["zip"],
    risk: "medium",
    why: "writes an archive",
    ordinary: true,
    syntax: "long-dash",
    options: {
      flags:
        "-r -q -v -9 -0 -1 -j -u -y -x -i -rq -qr -r9 -9r -ry -yr -jr -rj -X -rX -FS -D -l -d -f -g -rv -rqX -T --test -m -rm",
      values: { "-TT --unzip-command": "program" },
      raise: { "-TT --unzip-command": ["high", "runs a command of its own choosing"] },
    },
    operands: { first: ["write"], rest: "read" },
    match: ["zip -r out.zip dist", "zip -qr a.zip src README.md"],
    notMatch: ["zip x.zip f -T -TT 'sh -c id'", "zip --what a.zip b"],
  },
  {
    names: ["unzip"],
    risk: "low",
    options: {
      flags: "-o -n -q -qq -j -u -f -a -L -v -t -l -p -c -Z -1 -z -h",
      values: { "-d": "write", "-x": "text" },
    },
    operands: { first: ["read"], rest: "text" },
    refine: ({ options }) =>
      gives(options, "-l", "-v", "-t", "-p", "-c", "-Z", "-z", "-h")
        ? []
        : [{ kind: "risk", risk: "medium", why: "unpacks an archive", ordinary: true }],
    match: ["unzip -l a.zip", "unzip -p a.zip README.md"],
    notMatch: ["unzip -q a.zip -d out", "unzip a.zip", "unzip -: a.zip", "unzip -P secret a.zip"],
  },
  {
    names: ["zipinfo"],
    risk: "low",
    options: { flags: "-1 -2 -s -m -l -v -h -t -T -z" },
    operands: { first: ["read"], rest: "text" },
    match: ["zipinfo -1 a.zip"],
    notMatch: ["zipinfo --what a.zip"],
  },
  {
    names: [
      "gzip",
      "gunzip",
      "bzip2",
      "bunzip2",
      "xz",
      "unxz",
      "lzma",
      "unlzma",
      "zstd",
      "unzstd",
      "lz4",
      "compress",
      "uncompress",
      "pigz",
      "brotli",
    ],
    risk: "low",
    options: {
      flags:
        "-d --decompress -c --stdout --to-stdout -k --keep -f --force -v --verbose -q --quiet -t --test -l --list -r " +
        "--recursive -n --no-name -N --name -z --compress -NUM --best --fast -V --version --rm -e --extreme -h --help",
      values: { "-S --suffix": "text", "-o": "write" },
      optional: { "-T --threads": "text" },
      raise: { "-o": ["medium", "writes a file", "ordinary"] },
    },
    operands: { rest: "read" },
    refine: compresses,
    match: ["gzip -dc a.gz", "gunzip -c a.gz", "gzip -l a.gz", "xz --test a.xz"],
    notMatch: ["gzip a.txt", "gunzip a.gz", "zstd -o out a", "gzip -rc . --what"],
  },
  {
    names: ["zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "lz4cat"],
    risk: "low",
    options: { flags: "-f --force -q --quiet -v --verbose -h --help -V --version" },
    operands: { rest: "read" },
    match: ["zcat a.gz", "xzcat -q a.xz"],
    notMatch: ["zcat --what a.gz"],
  },
  {
    names: ["7z", "7za", "7zz", "rar", "unrar", "cpio", "pax", "cabextract"],
    risk: "medium",
    why: "packs or unpacks an archive",
    syntax: "words",
    operands: { rest: "text" },
    match: ["7z l a.7z", "7z x a.7z"],
    notMatch: ["7z x $x"],
  },
];

const TAR_LETTERS: { readonly [letter: string]: "flag" | "text" | "file" | "folder" | "input" } = {
  ...Object.fromEntries(Array.from("ctxruAvzjJZkmpOShwWlBsdani", (letter) => [letter, "flag" as const])),
  f: "file",
  C: "folder",
  T: "input",
  X: "input",
  b: "text",
  N: "text",
  K: "text",
};
const TAR_LONG: { readonly [name: string]: string } = {
  "--create": "c",
  "--list": "t",
  "--extract": "x",
  "--get": "x",
  "--append": "r",
  "--update": "u",
  "--diff": "d",
  "--compare": "d",
  "--file": "f",
  "--directory": "C",
  "--files-from": "T",
  "--exclude-from": "X",
  "--verbose": "v",
  "--gzip": "z",
  "--gunzip": "z",
  "--bzip2": "j",
  "--xz": "J",
  "--auto-compress": "a",
  "--keep-old-files": "k",
  "--preserve-permissions": "p",
  "--to-stdout": "O",
  "--dereference": "h",
  "--zstd": "z",
  "--totals": "v",
  "--version": "v",
  "--no-same-owner": "v",
  "--same-owner": "v",
  "--numeric-owner": "v",
  "--wildcards": "v",
  "--no-recursion": "v",
  "--overwrite": "v",
  "--skip-old-files": "v",
  "--one-top-level": "v",
  "--exclude-vcs": "v",
  "--exclude": "N",
  "--strip-components": "N",
  "--strip": "N",
  "--owner": "N",
  "--group": "N",
  "--mtime": "N",
  "--sort": "N",
  "--mode": "N",
};
// Options that run a program, whatever the archive. Source: the GNU tar manual.
const TAR_RUNS =
  /^(-I|-F|--use-compress-program|--to-command|--checkpoint-action|--info-script|--new-volume-script|--rsh-command|--rmt-command)(=|$)/;
const COMPRESSORS = /^(gzip|bzip2|xz|zstd|lz4|pigz|lzma|pixz|zstdmt|pbzip2)( -[0-9T]+)*$/;

/** tar's own language: the first word may be letters without a dash, whose values follow in their order. */
function tar({ operands }: Use): readonly Finding[] {
  const findings: Finding[] = [];
  const members: Word[] = [];
  let mode = "";
  let folder: Word | undefined;
  const archives: Word[] = [];
  const queue = [...operands];
  const unclear = (why: string): readonly Finding[] => [...findings, { kind: "unclear", risk: "medium", why }];
  const letter = (name: string, value: () => Word | undefined): string | undefined => {
    const kind = TAR_LETTERS[name];
    if (kind === undefined) return `its option ${name} is not one that is known here`;
    if ("ctxruAd".includes(name)) mode += name;
    if (kind === "flag") return undefined;
    const given = value();
    if (given === undefined) return `-${name} lacks its value`;
    if (kind === "file") archives.push(given);
    else if (kind === "folder") folder = given;
    else if (kind === "input") findings.push({ kind: "path", use: "read", word: given });
    return undefined;
  };
  for (let first = true, word = queue.shift(); word !== undefined; word = queue.shift(), first = false) {
    const text = word.value;
    if (text !== undefined && TAR_RUNS.test(text)) {
      const program = text.includes("=") ? text.slice(text.indexOf("=") + 1) : queue.shift()?.value;
      if (program === undefined || !COMPRESSORS.test(program))
        findings.push({ kind: "risk", risk: "high", why: `${text} runs a program of its own choosing` });
      continue;
    }
    if (text === "--") {
      members.push(...queue.splice(0));
      continue;
    }
    if (text?.startsWith("--")) {
      const [name = "", glued] = text.split(/=(.*)/s);
      const short = TAR_LONG[name];
      const problem =
        short === undefined
          ? `its option ${name} is not one that is known here`
          : letter(short, () => (glued === undefined ? queue.shift() : literalWord(glued)));
      if (problem !== undefined) return unclear(problem);
      continue;
    }
    const old = first && text !== undefined && /^[a-zA-Z]+$/.test(text);
    if (!old && (text === undefined || !/^-./.test(text))) {
      if (text === undefined && !/^[^-$`*?[{]/.test(word.text))
        return unclear(`what ${word.text} stands for is known only when it runs`);
      members.push(word);
      continue;
    }
    const letters = Array.from(text.replace(/^-/, ""));
    for (const [index, name] of letters.entries()) {
      if (/[IF]/.test(name))
        return [...findings, { kind: "risk", risk: "high", why: `-${name} runs a program of its own choosing` }];
      const glued = !old && index + 1 < letters.length ? letters.slice(index + 1).join("") : undefined;
      const takes = (TAR_LETTERS[name] ?? "flag") !== "flag";
      const problem = letter(name, () => (glued === undefined ? queue.shift() : literalWord(glued)));
      if (problem !== undefined) return unclear(problem);
      if (takes && glued !== undefined) break;
    }
  }
  return [...findings, ...tarPaths(mode, archives, members, folder)];
}

function tarPaths(
  mode: string,
  archives: readonly Word[],
  members: readonly Word[],
  folder: Word | undefined,
): readonly Finding[] {
  const findings: Finding[] = [];
  if (archives.some(({ value }) => value !== undefined && /^[^/]+:/.test(value)))
    findings.push({ kind: "risk", risk: "high", why: "an archive on another machine" });
  const reads = /^[td]*$/.test(mode);
  for (const word of archives)
    if (word.value !== "-") findings.push({ kind: "path", use: /[crua]/i.test(mode) ? "write" : "read", word });
  if (reads) return findings;
  const why = mode.includes("x") ? "unpacks files" : "writes an archive";
  findings.push({ kind: "risk", risk: "medium", why, ordinary: true });
  if (folder !== undefined) findings.push({ kind: "directory", word: folder });
  if (mode.includes("x")) findings.push({ kind: "path", use: "write", word: literalWord(".") });
  else findings.push(...members.map((word): Finding => ({ kind: "path", use: "folder", word })));
  return findings;
}

/** Without -c the file is replaced by the other one. */
function compresses({ options, operands }: Use): readonly Finding[] {
  const only = gives(options, "-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list");
  if (only || operands.length === 0) return [];
  return [
    { kind: "risk", risk: "medium", why: "replaces files", ordinary: true },
    ...operands.map((word): Finding => ({ kind: "path", use: "write", word })),
  ];
}
