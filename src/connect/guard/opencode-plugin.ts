/**
 * Returns the plugin that opencode loads: it sends every call to `handrail hook opencode` and throws when the call may
 * not run, or when Handrail gives no answer. `server` is for opencode 1 (from 1.18.29), `setup` for opencode 2.
 *
 * @param hook the words that start the hook
 */
export function opencodePlugin(hook: readonly string[]): string {
  return `// Written by \`handrail guard install opencode\`. Handrail judges every tool call of opencode.
import { spawn } from "node:child_process";

const [program, ...args] = ${JSON.stringify(hook)};

/** Sends an event. Resolves to the answer; rejects when there is none, so that the call does not run. */
function send(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    let [out, problem] = ["", ""];
    child.stdout.on("data", (piece) => (out += piece));
    child.stderr.on("data", (piece) => (problem += piece));
    child.on("error", (error) => reject(new Error("Handrail could not be started: " + error.message)));
    child.on("close", (code) => {
      if (code === 0) resolve(out === "" ? undefined : JSON.parse(out));
      else reject(new Error(problem.trim() || "Handrail ended with code " + code));
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify(event));
  });
}

/** Judges a call, and returns its arguments, which may have changed. */
async function judge(event) {
  const answer = await send({ ...event, phase: "before" });
  if (answer?.verdict === "deny") throw new Error(answer.reason);
  return answer?.input ?? event.input;
}

const report = (event) => send(event).catch(() => undefined); // the call has run

async function server({ directory, worktree }) {
  const where = { cwd: directory, project: worktree && worktree !== "/" ? worktree : directory };
  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      const text = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\\n");
      if (text !== "") await report({ ...where, phase: "prompt", session: sessionID, text });
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const input = await judge({ ...where, session: sessionID, id: callID, tool, input: output.args });
      Object.assign(output.args, input);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args: input }, { output }) => {
      const result = String(output ?? "");
      await report({ ...where, phase: "after", session: sessionID, id: callID, tool, input, result });
    },
  };
}

async function setup(ctx) {
  const directory = ctx.location?.directory ?? ctx.directory ?? process.cwd();
  const where = { cwd: directory, project: ctx.location?.worktree ?? directory };
  const callOf = ({ tool, input, sessionID, callID }) => ({
    ...where,
    session: sessionID ?? "session",
    id: callID ?? String(Date.now()),
    tool: String(tool).toLowerCase(),
    input,
  });
  await ctx.tool.hook("execute.before", async (event) => {
    Object.assign(event.input, await judge(callOf(event)));
  });
  await ctx.tool.hook("execute.after", async (event) => {
    await report({ ...callOf(event), phase: "after", result: JSON.stringify(event.result?.content ?? "") });
  });
}

export default { id: "handrail-guard", server, setup };
`;
}
