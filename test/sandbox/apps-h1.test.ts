import { test } from "vitest";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { worldFolder, run } from "./world.ts";
import { local } from "../../src/backends/local/backend.ts";
import { sandbox } from "../../src/backends/sandbox/sandbox.ts";
test("apps", async () => {
  const root = worldFolder(); const ws = join(root, "ws"); mkdirSync(join(ws, "src"), { recursive: true });
  writeFileSync(join(ws, "Cargo.toml"), '[package]\nname="x"\nversion="0.1.0"\nedition="2021"\n'); writeFileSync(join(ws, "src/main.rs"), "fn main(){println!(\"hi\");}");
  const b = await sandbox(await local({ workDir: ws, outputFolder: join(root, "o") }), { folder: join(root, "sb"), required: true });
  for (const s of ["cargo build 2>&1 | tail -2; ./target/debug/x", "git config --global -l | head -2", "python3 -c 'import ssl; print(1)'"]) console.log(s, await run(b, ["bash", "-c", s]));
  const time = async (within: any) => { const t: number[] = []; for (let i = 0; i < 40; i++) { const s = performance.now(); const c = await b.spawn({ argv: ["true"], ...(within && { within }) }); await c.exit; t.push(performance.now() - s); await c.refusals; await c.output.dispose(); } t.sort((x, y) => x - y); return `${t[0]!.toFixed(1)} ${t[10]!.toFixed(1)} ${t[20]!.toFixed(1)}`; };
  for (let i = 0; i < 2; i++) console.log("time none", await time("none"), "contained", await time(undefined));
  await b.close();
}, 120000);
