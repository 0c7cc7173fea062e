import { expect, test } from "vitest";
import { PROGRAM, commandLine } from "../../cli/program.ts";

/** Characters of one class without a break: more states than V8's stack for expressions has room for. */
const LONG = 12_000_000;

test("megabytes without a break are read and searched in a process that compiles expressions the simple way", async () => {
  const picture = JSON.stringify({ cells: [{ outputs: [{ data: { "image/png": "A".repeat(LONG) } }] }] });
  const { shell } = await commandLine({ "nb.ipynb": picture, "key.txt": `x ghp_${"a1".repeat(LONG / 2)}\nfound\n` });
  const calls = [
    'read \'{"path":"nb.ipynb"}\'',
    'bash \'{"command":"cat key.txt"}\'',
    'grep \'{"pattern":"found|ghp"}\'',
  ];
  const program = `node --no-regexp-optimization ${PROGRAM} call --preset all --yes`;
  const { stdout, stderr } = await shell(calls.map((call) => `${program} ${call}`).join("; "));
  expect(stderr).not.toContain("stack");
  expect(stdout).toMatch(/11\.4MB of base64 left out/);
  expect(stdout).toMatch(/^found\s+\[Output truncated/m);
  expect(stdout).toMatch(/key\.txt:1: x \[masked: GitHub token\].*\n.*key\.txt:2: found/);
  expect(stdout).not.toContain("a1a1a1a1");
});
