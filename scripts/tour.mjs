/**
 * The tour of `npm start`: real calls of the built command line on real files.
 *
 * In:  dist/cli.js (scripts/start.mjs builds it).
 * Out: each command on stdout as a person would type it, and its output. Exit code 1 when a step did not end as
 *      expected. Everything, including the state, is in a scratch folder that is removed at the end.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const program = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** The steps: an explanation, the arguments, and the expected exit code. */
const STEPS = [
  { say: "The tools that a model gets", argv: ["tools"], exit: 0 },
  { say: "It looks at a file", argv: ["call", "read", '{"path":"greet.mjs"}'], exit: 0 },
  {
    say: "It changes exactly one place, and gets the diff",
    argv: ["call", "edit", '{"path":"greet.mjs","old_text":"\\"world\\"","new_text":"\\"Handrail\\""}'],
    exit: 0,
  },
  {
    say: "It wants to leave the sandbox: a person is asked. Here nobody can be asked, so it does not run",
    argv: ["call", "bash", '{"command":"node greet.mjs","sandbox":false}'],
    exit: 1,
  },
  {
    say: "In the sandbox it runs. Where there is no sandbox, it is approved in advance",
    argv: ["call", "bash", '{"command":"node greet.mjs"}', "--yes"],
    exit: 0,
  },
  {
    say: "What is forbidden stays forbidden, whoever approves",
    argv: ["call", "read", '{"path":"/etc/shadow"}', "--yes"],
    exit: 1,
  },
  {
    say: "A wrong call gets a message that says what is wrong",
    argv: ["call", "raed", '{"file":"greet.mjs"}'],
    exit: 1,
  },
  {
    say: "An agent works with these tools. This one needs no key: a script makes a small project and repairs it",
    argv: ["run", "practice", "--model", "demo", "--yes"],
    exit: 0,
  },
];

/** The project of the tour. */
const FILES = {
  "greet.mjs": 'const name = "world";\nconsole.log(`Hello, ${name}!`);\n',
};

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for await (const part of tour()) process.stdout.write(part);
}

/**
 * Runs the tour and yields its output step by step.
 *
 * @returns {AsyncGenerator<string, void>}
 */
export async function* tour() {
  const scratch = mkdtempSync(join(tmpdir(), "handrail-tour-"));
  try {
    const workDir = join(scratch, "project");
    mkdirSync(workDir);
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(workDir, name), text);
    for (const { say, argv, exit } of STEPS) {
      yield `# ${say}\n$ handrail ${argv.map(quoted).join(" ")}\n`;
      const { text, status } = await run(argv, workDir, join(scratch, "state"));
      yield `${text}\n`;
      if (status === exit) continue;
      yield `this should have ended with exit code ${exit}, not ${status}\n`;
      process.exitCode = 1;
      return;
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {string[]} argv
 * @param {string} cwd
 * @param {string} state
 * @returns {Promise<{ text: string, status: number | null }>}
 */
function run(argv, cwd, state) {
  const child = spawn(process.execPath, [program, ...argv], {
    cwd,
    detached: true, // a separate session has no terminal, so that the tour is the same for everyone
    env: { ...process.env, XDG_STATE_HOME: state, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  // An agent's progress on stderr contains times. It is omitted, so that the tour is the same each time.
  const shown = argv[0] === "run" ? [child.stdout] : [child.stdout, child.stderr];
  for (const stream of shown) stream.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (status) => resolve({ text, status }));
  });
}

/** @param {string} word */
function quoted(word) {
  return /^[\w/.=-]+$/.test(word) ? word : `'${word}'`;
}
