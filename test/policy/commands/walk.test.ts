import { describe, expect, test } from "vitest";
import { lookUp } from "../../../src/policy/commands/look-up.ts";
import { walkScript } from "../../../src/policy/commands/walk.ts";

const seen = (script: string) => walkScript(script, { cwd: "/srv/ws", home: "/home/dev", lookUp });
const unclear = (script: string) => seen(script).parts.flatMap((part) => part.unclear);
const pathsOf = (script: string) =>
  seen(script).parts.flatMap(({ paths }) => paths.map(({ from, path }) => `${from}:${path}`));

describe("every command of a script is seen", () => {
  test.each([
    ["a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]],
    ["(a; { b; })", ["a", "b"]],
    ["if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]],
    ["while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]],
    ["for x in $(a); do b; done", ["a", "b"]],
    ["for ((i=$(a);i<1;i++)); do b; done", ["a", "b"]],
    ["case $(a) in $(b)) c;; *) d;; esac", ["a", "b", "c", "d"]],
    ["f() { a; }; f", ["a", "f"]],
    ['echo "$(a "$(b)")" `c` <(d) >(e)', ["a", "b", "c", "d", "e", "echo"]],
    ["X=$(a) Y=(`b`) c", ["a", "b", "c"]],
    ["cat <<E\n$(a)\nE", ["a", "cat"]],
    ["cat <<'E'\n$(a)\nE", ["cat"]],
    ['cat <<< "$(a)"', ["a", "cat"]],
    ["a > $(b)", ["a", "b"]],
    ["echo ${x:-$(a)} ${y/$(b)/$(c)} $((1+$(d)))", ["a", "b", "c", "d", "echo"]],
    ["[[ $(a) == b && -f $(c) ]]", ["a", "c"]],
    ["coproc a", ["a"]],
    ["time -p a; ! b", ["a", "b"]],
    ["env X=1 nice -n 5 timeout 5 a", ["a", "env", "nice", "timeout"]],
    ["env = a; env -uX a.b=c ./x=y b; env - = = c", ["a", "b", "c", "env"]],
    ["env env=1 env =x - a", ["-", "env"]],
    ["busybox env = a; nice env = b; xargs env = c", ["a", "b", "busybox", "c", "env", "nice", "xargs"]],
    ["env -S 'nice a' b; env -vS'c' -x", ["a", "c", "env", "nice"]],
    ["env -S '-i = a'; env --split-string='X=1' b", ["a", "b", "env"]],
    ["cross-env A.B=1 a; cross-env b", ["a", "b", "cross-env"]],
    ["python -m pip install x; python -m pytest -k a", ["pip", "python"]],
    ["sh -c 'a; bash -c \"b\"'", ["a", "b", "bash", "sh"]],
    ["eval a '; b'", ["a", "b", "eval"]],
    ["eval -- a b", ["a", "eval"]],
    ["{env,} a", ["a", "env"]],
    ["command a; builtin b; exec c", ["a", "b", "builtin", "c", "command", "exec"]],
    ["xargs -n1 a", ["a", "xargs"]],
    ["find . -name x -exec a {} \\; -execdir b {} +", ["a", "b", "find"]],
    ["trap 'a' EXIT", ["a", "trap"]],
    ["watch -n1 'a | b'", ["a", "b", "watch"]],
  ])("%s", (script, names) => {
    const found = seen(script);
    expect([...new Set(found.names)].toSorted()).toEqual(names);
    expect(found.complete).toBe(true);
  });

  test.each(["$x a", 'eval "$x"', "sh -c $x", "/b*n/[s]h -c id", "a $(", "env ".repeat(9) + "a"])(
    "%s may run others, and that is said",
    (script) => {
      expect(seen(script).complete).toBe(false);
      expect(unclear(script).length).toBeGreaterThan(0);
    },
  );
});

describe("what is not understood", () => {
  test.each([
    "ls(){ a; }; ls",
    "hash -p /x git; git status",
    "alias ls=a",
    "echo $((a[$(id)]))",
    "echo ${!x}",
    "echo ${x@P}",
    "echo ${x:=y}",
    "[[ -v 'a[$(id)]' ]]",
    "[[ $x -eq 1 ]]",
    "(( x ))",
    "read 'a[$(id)]'",
    "printf -v x a",
    "PATH=. ls",
    "PATH=.; ls",
    "A[$(id)]=1 ls",
    "FOO=1 ls",
    "exec {fd}> x",
    "source x",
    "ls -$x",
    "ls $x",
  ])("%s", (script) => {
    expect(unclear(script).length).toBeGreaterThan(0);
  });

  test.each([
    "x=1; echo $x",
    "CI=1 ls",
    "for f in a b; do echo $f; done",
    "[[ -f a && $x == b ]]",
    "ls 2>&1 >/dev/null",
    "echo $((1 + 2))",
  ])("%s is understood", (script) => {
    expect(unclear(script)).toEqual([]);
  });
});

describe("the working directory is followed", () => {
  test.each([
    ["cd src && cat a", ["/srv/ws:src", "/srv/ws/src:a"]],
    ["cd src; cat a", ["/srv/ws:src", "/srv/ws:a", "/srv/ws/src:a"]],
    ["(cd src); cat a", ["/srv/ws:src", "/srv/ws:a"]],
    ["cd src | cat a", ["/srv/ws:src", "/srv/ws:a"]],
    ["cd /x && cat a", ["/:/x", "/x:a"]],
    ["cd && cat a", ["/:/home/dev", "/home/dev:a"]],
    ["cat a > b", ["/srv/ws:b", "/srv/ws:a"]],
    ["cat ~/a /b", ["/:/home/dev/a", "/:/b"]],
    ["cat /dev/null - < /dev/stdin 2>/dev/null", []],
  ])("%s", (script, paths) => {
    expect(pathsOf(script)).toEqual(paths);
    expect(unclear(script)).toEqual([]);
  });

  test.each([
    "cd $x; cat a",
    "cd - && cat a",
    "if a; then cd x; fi; cat a",
    "f() { cat a; }",
    "popd; cat a",
    "eval 'cd x'; cat a",
  ])("%s: which folder a is in is not known", (script) => {
    expect(unclear(script).join("\n")).toMatch(/which folder a is in/);
  });
});

describe("hostile scripts", () => {
  test.each([
    ["lists", "ls;".repeat(5_000)],
    ["substitutions", "echo " + "$(".repeat(8_000)],
    ["closed substitutions", "echo " + "$(echo ".repeat(1_500) + ")".repeat(1_500)],
    ["braces", "echo " + "{1..64} ".repeat(2_000)],
    ["nested shells", 'sh -c "'.repeat(1_500)],
    ["wrappers", "env ".repeat(3_900) + "ls"],
    ["evals", "eval ".repeat(3_000) + "ls"],
    ["words", "ls " + "a ".repeat(8_000)],
    ["loops", "for i in a; do ".repeat(200) + "cd x; " + "done;".repeat(200)],
  ])("%s of 16 KiB do not end as a script that is understood", (_, script) => {
    const { parts, complete } = seen(script);
    expect(parts.length).toBeLessThan(1_000);
    expect(complete && parts.every((part) => part.unclear.length === 0)).toBe(false);
  });
});
