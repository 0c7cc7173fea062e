import type { CommandSpec, Finding, Use } from "../spec.ts";
import { isNoOption, literalWord } from "../words.ts";
import type { Word } from "../tree.ts";
import { isOneOf, isProgramText, mediumUnlessVersion, runsOrdinarily } from "./shared.ts";

/** Builders and compilers of C, the JVM and others. What they build is the project's own code. */
export const BUILD: readonly CommandSpec[] = [
  {
    names: ["make", "gmake"],
    risk: "low",
    options: {
      flags:
        "-v --version -h --help -n --just-print --dry-run -s --silent -k --keep-going -B --always-make -i -q -r -R -w " +
        "-d -p -e --no-print-directory --trace -t --touch",
      values: {
        "-C --directory": "directory",
        "-f --file --makefile": "read",
        "-o": "text",
        "-W": "text",
        "-I": "read",
      },
      optional: { "-j --jobs": "text", "-l --load-average": "text", "-O --output-sync": "text" },
    },
    operands: { rest: "text" },
    ordinary: true,
    refine: mediumUnlessVersion("runs the project's makefile", ({ operands }) => !operands.some(setsProgram)),
    match: ["make --version"],
    notMatch: ["make", "make test", "make -j8 all CC=clang", "make -n", "make --eval='x:;id' x", "make -j $(nproc)"],
  },
  {
    names: [
      ...["cmake", "ctest", "cpack", "meson", "ninja", "bazel", "bazelisk", "buck2", "scons", "waf", "autoreconf"],
      ...["autoconf", "automake", "just", "task", "mage", "rake", "pants", "gn", "xmake"],
    ],
    risk: "low",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion("builds the project", ({ operands }) => !operands.some(runsOther)),
    match: ["cmake --version", "ninja --version"],
    notMatch: ["cmake -S . -B build", "cmake --build build", "ctest --test-dir build", "ninja -C build", "just build"],
  },
  {
    names: ["libtool", "earthly", "conan", "vcpkg"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion("runs commands, containers or package servers of a build"),
    match: ["conan --version"],
    notMatch: ["conan install .", "libtool --mode=execute x"],
  },
  {
    names: [
      "gcc",
      "g++",
      "cc",
      "c++",
      "clang",
      "clang++",
      "cpp",
      "ld",
      "as",
      "ar",
      "ranlib",
      "strip",
      "objcopy",
      "rustdoc",
      "swiftc",
      "phpunit",
      "rspec",
      "rubocop",
    ],
    risk: "low",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: compiles,
    match: ["gcc --version", "clang -v"],
    notMatch: ["gcc -O2 main.c -o main", "gcc -o /etc/x main.c $y", "gcc main.c -o $x", "gcc -wrapper ./p main.c"],
  },
  {
    names: [
      ...["zig", "cabal", "stack", "dotnet", "dart", "flutter", "mix", "rebar3", "dune", "composer", "bundle"],
      ...["bundler", "swift", "nimble", "shards"],
    ],
    risk: "low",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion("builds, tests or installs what the project says", buildsOrdinarily),
    match: ["dotnet --version", "zig version"],
    notMatch: ["dotnet build", "bundle exec rspec", "mix run -e x"],
  },
  {
    names: [
      ...["tcc", "ghc", "nim", "crystal", "opam", "ocamlfind", "sbt", "lein", "gem", "rails", "artisan", "pod"],
      ...["xcodebuild", "fastlane"],
    ],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: compiles,
    match: ["ghc --version"],
    notMatch: ["ghc -e x", "gem push x.gem", "tcc -run x.c"],
  },
  {
    names: ["pkg-config", "pkgconf", "llvm-config"],
    risk: "low",
    options: {
      flags:
        "--cflags --libs --modversion --exists --list-all --static --version --cflags-only-I --libs-only-l " +
        "--libs-only-L --print-errors --short-errors --prefix --includedir --libdir --ldflags --cxxflags --system-libs",
      values: { "--variable": "text", "--atleast-version": "text" },
    },
    operands: { rest: "text" },
    match: ["pkg-config --cflags --libs openssl"],
    notMatch: ["pkg-config --define-variable=a=b x"],
  },
  {
    names: [
      "clang-format",
      "clang-tidy",
      "cppcheck",
      "shellcheck",
      "shfmt",
      "hadolint",
      "yamllint",
      "actionlint",
      "markdownlint",
      "vale",
      "typos",
      "codespell",
    ],
    risk: "medium",
    why: "runs a tool with the project's configuration",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    match: ["shellcheck scripts/a.sh", "clang-format -i src/a.c"],
    notMatch: ["shellcheck $x"],
  },
  {
    names: ["java", "javac", "javadoc", "kotlinc", "mvn", "mvnd", "gradle", "ant"],
    risk: "low",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion("builds or runs the project", ({ operands }) => !operands.some(runsOther)),
    match: ["java -version", "mvn --version", "gradle --version"],
    notMatch: ["mvn -q test", "gradle build", "java -jar app.jar", "javac -d out src/A.java"],
  },
  {
    names: ["jar", "jshell", "kotlin", "spring", "quarkus", "sdk"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: mediumUnlessVersion("builds or runs the project, or program text"),
    match: ["kotlin -version"],
    notMatch: ["jshell x", "jar cf a.jar out"],
  },
  {
    names: ["rr", "heaptrack", "hyperfine"],
    risk: "medium",
    why: "runs a program under watch",
    syntax: "words",
    operands: { rest: "program" },
    match: ["heaptrack ./out/app", "hyperfine 'npm test'"],
    notMatch: ["hyperfine $x"],
  },
  {
    names: ["nm", "objdump", "readelf", "size", "addr2line", "c++filt"],
    risk: "low",
    options: {
      flags:
        "-a --all -C --demangle -D -g -u -n -S -d --disassemble -h -x -t -T -r -p -f -s -l -W -e -A -B -V --version -i " +
        "--segments --sections --symbols --dyn-syms --dynamic -w -H --headers --source -M",
      values: { "-j --section": "text", "--start-address": "text", "--stop-address": "text" },
    },
    operands: { rest: "read" },
    match: ["nm -C out/app", "objdump -d out/a.o", "readelf -h out/app"],
    notMatch: ["objdump --dwarf-x a"],
  },
];

/** Compilers are told what they write by `-o`, apart or glued. */
function compiles(use: Use): readonly Finding[] {
  const { operands } = use;
  const apart = operands.filter((_, index) => operands[index - 1]?.value === "-o");
  const glued = operands.flatMap(({ value }) => /^-o(.+)/s.exec(value ?? "")?.[1] ?? []).map(literalWord);
  return [
    ...mediumUnlessVersion("compiles the project", () => !operands.some(loads))(use),
    ...[...apart, ...glued].map((word): Finding => ({ kind: "path", use: "write", word })),
  ];
}

/** Options of compilers that name other programs and libraries to run; a file of options (`@file`) may have any. */
function loads(word: Word): boolean {
  if (word.value === undefined) return !isNoOption(word) || word.prefix.startsWith("@");
  return /^(@|-wrapper|-B|-?-specs|-fplugin|-fuse-ld|-Xclang|-load|-run|-Wl,.*plugin|-e$)/.test(word.value);
}

/** Words of builders, and of Java's, that run commands of their own or publish: `cmake -E env x`, `-XX:OnError=x`, `-javaagent:x`, `mvn deploy`. */
function runsOther(word: Word): boolean {
  return (
    isProgramText(word) ||
    /^((deploy|publish|release|site-deploy)[\w:]*|-E|-I|-agent.*|-javaagent.*|-XX:On.*|@.*|exec:.*|antrun:.*|-Dexec\..*|--(build-and-)?test-command|--overlay.*|-DCMAKE_.*LAUNCHER.*)$/i.test(
      word.value ?? "",
    )
  );
}

/** `make SHELL=./p`, and `make CC='sh -c x'`: a variable whose value is more than a name with options. */
function setsProgram({ value }: Word): boolean {
  if (value === undefined) return true;
  const [, name = "", text = ""] = /^([^=]*)[:+?]?=(.*)$/s.exec(value) ?? [];
  if (/^(\.?SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|PATH)$/.test(name)) return true;
  return !/^[\w./+,:@%-]*( -[\w./+,:=@%-]*)*$/.test(text);
}

const BUILDING = isOneOf(
  "build build-exe build-lib test run check fmt format lint clean restore install update require add remove get pub deps " +
    "compile analyze list show outdated dump-autoload doc docs bench coverage",
);

function buildsOrdinarily({ words: [tool], operands: given }: Use): boolean {
  // Their `-c` names a configuration.
  const isPlain = tool?.value === "dotnet" || tool?.value === "swift";
  const operands = isPlain ? given.filter(({ value }) => value !== "-c") : given;
  return operands[0]?.value === "exec" ? runsOrdinarily(operands.slice(1)) : BUILDING({ operands });
}
