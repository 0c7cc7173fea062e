// A job swaps folders of the workspace for links to the outside, again and again, while the sandboxes of other commands
// are made: neither bubblewrap nor Handrail itself may make, open or change anything through such a link.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { cases } from "../../support/cases.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const ROUNDS = cases(4);

const SWAPS = `
import os, sys
names = ["part", "deep/part"]
while True:
    for name in names:
        os.rename(name, name + ".kept"); os.symlink(sys.argv[1], name)
    for name in names:
        os.unlink(name); os.rename(name + ".kept", name)
    open("runs", "w").close()
`;

test.skipIf(noSandbox !== undefined)(
  "while a job swaps folders for links, no sandbox that is made opens or makes anything outside",
  async () => {
    const one = await world();
    const { workDir, backend } = one;
    const outside = dirname(one.file("outside/file", "the person's\n"));
    for (const name of ["part", "deep/part"]) mkdirSync(join(workDir, name, "sub"), { recursive: true });
    writeFileSync(join(workDir, "swap.py"), SWAPS);
    const job = await backend.spawn({ argv: ["python3", "swap.py", outside] });
    await until("the job swaps", () => existsSync(join(workDir, "runs")));
    const attack = "for at in part deep/part; do echo x >$at/new; rm -rf $at/file; mkdir -p $at/made; done";
    const at = (name: string) => join(workDir, name);
    const two = await one.again({ writable: [at("part"), at("deep/part/sub")] });
    let ran = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const results = await Promise.allSettled([
        one.bash(attack),
        two.bash(attack),
        one.bash(attack, { within: { write: [at("part")] } }),
        one.bash(attack, { within: { write: [at("deep/part/sub")] } }),
        one.bash(attack, { within: { write: [at(`part/coming-${round}/`), at(`deep/part/${round}/coming/`)] } }),
        one.bash(attack, { within: { read: [at("part/file")], readOnly: true } }),
      ]);
      for (const result of results)
        if (result.status === "fulfilled") ran++;
        else expect(result.reason).toBeInstanceOf(ToolFailure);
    }
    await job.kill();
    await Promise.all([one.backend.close(), two.backend.close()]);
    expect(ran).toBeGreaterThan(0);
    expect(readdirSync(outside)).toEqual(["file"]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("the person's\n");
  },
  60_000,
);
