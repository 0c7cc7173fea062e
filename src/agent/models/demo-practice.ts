import { type Abilities, type Call, type Conversation, type Done, type Step, firstLine } from "./demo-conversation.ts";

const PRICE = "export function total(price, count) {\n  return price + count;\n}\n";
const CHECK = `import { total } from "./price.mjs";

const cost = total(4, 3);
console.log(cost === 12 ? "pass: 3 at 4 each cost 12" : \`FAIL: 3 at 4 each cost 12, not \${cost}\`);
process.exitCode = cost === 12 ? 0 : 1;
`;

/** One reply of the script. The scene is left out if no tool for it is offered. */
interface Scene {
  readonly say: string;
  readonly calls: readonly (Call | undefined)[];
  /** What the output of each call must contain; "anything": the call may also fail. Default: the call succeeds. */
  readonly expected?: RegExp | "anything";
}

/** Returns true if the offered tools can make the practice project. */
export function canPractise(can: Abilities): boolean {
  return can.run("true") !== undefined && can.write("file", "") !== undefined;
}

/**
 * Returns the next reply of a script that makes a project in a new folder, repairs it, starts a job and asks one
 * question. Ends early when a call does not go as expected.
 */
export function practiceStep({ rounds, can }: Conversation): Step {
  const scenes = script(can, rounds).filter(({ calls }) => !calls.includes(undefined));
  const last = rounds.at(-1) ?? [];
  const expected = scenes[rounds.length - 1]?.expected;
  const odd = expected === "anything" ? undefined : last.find((done) => !isExpected(done, expected));
  if (odd !== undefined) return { say: `That did not go as planned: ${firstLine(odd.output)} I stop here. ${UNDO}` };
  const { say, calls = [] } = scenes[rounds.length] ?? { say: `That was the practice project. ${UNDO}` };
  return { say, calls: calls.filter((call) => call !== undefined) };
}

const UNDO =
  "Every call was checked against the policy and recorded, and what it changed can be undone: " +
  "/undo shows what that takes back, and asks (outside a chat: handrail undo).";

function isExpected({ output, failed }: Done, expected: RegExp | undefined): boolean {
  return expected === undefined ? !failed : expected.test(output);
}

function script(can: Abilities, [named, , , , begun, asked]: Conversation["rounds"]): readonly Scene[] {
  const folder = freeName(named?.[0]?.output ?? "");
  const check = `cd ${folder} && node check.mjs`;
  const job = /\bjob (\w+)/i.exec(begun?.[0]?.output ?? "")?.[1] ?? "";
  const hook = asked?.[0]?.failed === true ? "The hook was not written. I go on without it." : "The hook is written.";
  return [
    {
      say: "I make a practice project in a new folder. First I look which name is free.",
      calls: [can.run("find . -maxdepth 1 -name 'practice*'")],
    },
    {
      say: `I make ${folder}: a module with a mistake, and a check that finds it.`,
      calls: [can.write(`${folder}/price.mjs`, PRICE), can.write(`${folder}/check.mjs`, CHECK)],
    },
    {
      say: "I run the check. Where there is a sandbox it runs in it; without one you are asked first.",
      calls: [can.run(check)],
      expected: /^FAIL: /m,
    },
    {
      say: "It adds where it should multiply. I change that one place.",
      calls: [can.change(`${folder}/price.mjs`, PRICE, "price + count", "price * count")],
    },
    can.start("") === undefined
      ? { say: "I run the check again.", calls: [can.run(check)], expected: /^pass: /m }
      : {
          say: "Is it right now, every time? A job checks that in the background while I continue.",
          calls: [can.start(`cd ${folder} && for n in 1 2 3; do node check.mjs; sleep 1; done`)],
        },
    {
      say:
        "The check should run before each commit. A git hook runs by itself later, so a person is asked first: " +
        "you may approve or refuse, and both are fine.",
      calls: [can.write(`${folder}/.husky/pre-commit`, "node check.mjs\n")],
      expected: "anything",
    },
    {
      say: `${hook} Now I wait for the job.`,
      calls: [can.start("") && { name: "jobs", input: { action: "wait", id: job, timeout: 60 } }],
      expected: /^pass: /m,
    },
  ];
}

/** Returns the first of practice, practice-2, practice-3 … that is not listed. */
function freeName(listed: string): string {
  const taken = new Set(listed.split("\n").map((line) => line.trim().replace(/^\.\//, "").toLowerCase()));
  for (let number = 2, name = "practice"; ; name = `practice-${number++}`) if (!taken.has(name)) return name;
}
