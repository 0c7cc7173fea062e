import { type Instruction, assemble } from "./assembler.ts";
import { type Answer, type Architecture, type Condition, type Family, NEWEST_CALL, REFUSED } from "./refused.ts";

// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h.
const AUDIT_ARCHITECTURES: { readonly [architecture in Architecture]: number } = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

// Offsets in struct seccomp_data of linux/seccomp.h.
const CALL_NUMBER = 0;
const CALL_ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff_0000; // SECCOMP_RET_ALLOW
const FAIL = 0x0005_0000; // SECCOMP_RET_ERRNO, the error in the lower half
const ERRORS: { readonly [answer in Answer]: number } = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 };

/**
 * A filter of system calls, as bubblewrap's `--seccomp` reads it: classic BPF that lets pass everything but `REFUSED`. Calls of another
 * architecture (32 bit programs) and those newer than this filter answer ENOSYS.
 *
 * @param architecture as in `process.arch`
 * @returns `undefined` where none is known for the architecture.
 */
export function seccompFilter(architecture: string = process.arch): Uint8Array<ArrayBuffer> | undefined {
  return isKnown(architecture) ? assemble(programFor(architecture)) : undefined;
}

function isKnown(architecture: string): architecture is Architecture {
  return Object.hasOwn(AUDIT_ARCHITECTURES, architecture);
}

// The call's number is compared with one after the other. That is done once a number, not once a call: the kernel (5.11 and later) runs a filter
// for each number when it is installed, and does not run it again for those that are let pass whatever their arguments.
function programFor(architecture: Architecture): readonly Instruction[] {
  const jumps: Instruction[] = [];
  const conditions: Instruction[] = [];
  for (const family of REFUSED) {
    for (const [name, number] of numbersOf(family, architecture)) {
      jumps.push({ when: "equal", value: number, goTo: family.when === undefined ? family.answer : name });
      if (family.when !== undefined) conditions.push({ label: name }, ...conditionOf(family.when, family.answer));
    }
  }
  return [
    { load: CALL_ARCHITECTURE },
    { when: "equal", value: AUDIT_ARCHITECTURES[architecture], elseGoTo: "ENOSYS" },
    { load: CALL_NUMBER },
    { when: "greater", value: NEWEST_CALL, goTo: "ENOSYS" },
    ...jumps,
    { verdict: ALLOW },
    ...conditions,
    { label: "allow" },
    { verdict: ALLOW },
    ...Object.entries(ERRORS).flatMap(([answer, error]) => [{ label: answer }, { verdict: FAIL | error }]),
  ];
}

function numbersOf(
  { calls }: Family,
  architecture: Architecture,
): readonly (readonly [name: string, number: number])[] {
  return Object.entries(calls).flatMap(([name, [x64, arm64]]) => {
    const number = architecture === "x64" ? x64 : arm64;
    return number === undefined ? [] : [[name, number] as const];
  });
}

/** Ends in a jump whatever the argument. */
function conditionOf(condition: Condition, answer: Answer): readonly Instruction[] {
  if ("all" in condition) {
    const tests = condition.all.flatMap(({ argument, hasAnyBit }): readonly Instruction[] => [
      loadOf(argument),
      { when: "anyBit", value: hasAnyBit, elseGoTo: "allow" },
    ]);
    return [...tests.slice(0, -1), ...tests.slice(-1).map((last) => ({ ...last, goTo: answer }))];
  }
  const load = loadOf(condition.argument);
  const jumpTo = (goTo: string) => (value: number) => ({ when: "equal" as const, value, goTo });
  if ("hasAnyBit" in condition) {
    const { hasAnyBit, unless = [] } = condition;
    return [
      load,
      ...unless.map(jumpTo("allow")),
      { when: "anyBit", value: hasAnyBit, goTo: answer, elseGoTo: "allow" },
    ];
  }
  const [values, found, elseGoTo] =
    "is" in condition ? [condition.is, answer, "allow"] : [condition.isNot, "allow", answer];
  const tests = values.map(jumpTo(found));
  return [load, ...tests.slice(0, -1), ...tests.slice(-1).map((last) => ({ ...last, elseGoTo }))];
}

/** Of an argument the low half, which comes first: little endian. */
function loadOf(argument: number): Instruction {
  return { load: FIRST_ARGUMENT + ARGUMENT_BYTES * argument };
}
