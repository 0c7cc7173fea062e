import { type Answer, type Architecture, type Condition, NEWEST_CALL, REFUSED } from "./refused.ts";

// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h.
const AUDIT_ARCHITECTURES: { readonly [architecture in Architecture]: number } = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

// Offsets in struct seccomp_data of linux/seccomp.h. The low half of an argument comes first: little endian.
const CALL_NUMBER = 0;
const CALL_ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff_0000; // SECCOMP_RET_ALLOW
const FAIL = 0x0005_0000; // SECCOMP_RET_ERRNO, the error in the lower half
const ERRORS: { readonly [answer in Answer]: number } = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 };

// Operations of classic BPF (linux/bpf_common.h) on 32 unsigned bits. Jumps compare the value that was loaded last.
const LOAD = 0x20; // LD W ABS
const EQUAL = 0x15; // JMP JEQ K
const GREATER = 0x25; // JMP JGT K
const ANY_BIT = 0x45; // JMP JSET K
const RETURN = 0x06; // RET K

/** A struct sock_filter (linux/filter.h). A jump skips `whenTrue` instructions if the comparison is true. */
type Instruction = readonly [operation: number, value: number, whenTrue?: number, whenFalse?: number];
const INSTRUCTION_BYTES = 8;

/**
 * Returns a system call filter for bubblewrap's `--seccomp`: classic BPF that allows everything except `REFUSED`. Calls
 * of another architecture (32 bit programs) and calls newer than this filter fail with ENOSYS.
 *
 * @param architecture As in `process.arch`.
 * @returns `undefined` for an unknown architecture.
 */
export function seccompFilter(architecture: string = process.arch): Uint8Array<ArrayBuffer> | undefined {
  if (!isKnown(architecture)) return undefined;
  const program = programFor(architecture);
  const bytes = new Uint8Array(program.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, [operation, value, whenTrue = 0, whenFalse = 0]] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    view.setUint16(at, operation, true);
    view.setUint8(at + 2, whenTrue);
    view.setUint8(at + 3, whenFalse);
    view.setUint32(at + 4, value, true);
  }
  return bytes;
}

function isKnown(architecture: string): architecture is Architecture {
  return Object.hasOwn(AUDIT_ARCHITECTURES, architecture);
}

// Compares the call's number with each refused number in turn. This costs little: from 5.11 on, the kernel runs a new
// filter once for each number, and never again for numbers that are allowed whatever their arguments.
function programFor(architecture: Architecture): readonly Instruction[] {
  const blocks = REFUSED.flatMap(({ calls, answer, when }) =>
    Object.values(calls).flatMap(([x64, arm64]) => {
      const number = architecture === "x64" ? x64 : arm64;
      const judged = [...(when === undefined ? [] : judging(when)), refuse(answer), allow];
      return number === undefined ? [] : [[EQUAL, number, 0, judged.length] as const, ...judged];
    }),
  );
  return [
    [LOAD, CALL_ARCHITECTURE],
    [EQUAL, AUDIT_ARCHITECTURES[architecture], 1, 0],
    refuse("ENOSYS"),
    [LOAD, CALL_NUMBER],
    [GREATER, NEWEST_CALL, 0, 1],
    refuse("ENOSYS"),
    ...blocks,
    allow,
  ];
}

const allow: Instruction = [RETURN, ALLOW];
const refuse = (answer: Answer): Instruction => [RETURN, FAIL | ERRORS[answer]];

/** Instructions that jump over the refusal, to the following "allow", unless the condition holds. */
function judging(condition: Condition): readonly Instruction[] {
  const load = (argument: number): Instruction => [LOAD, FIRST_ARGUMENT + ARGUMENT_BYTES * argument];
  if ("all" in condition) {
    const { all } = condition;
    return all.flatMap(({ argument, hasAnyBit }, index) => [
      load(argument),
      [ANY_BIT, hasAnyBit, 0, 2 * (all.length - index) - 1] as const,
    ]);
  }
  const { argument } = condition;
  if ("is" in condition) {
    // The last comparison skips the refusal if it differs; the earlier ones jump to the refusal if they are equal.
    const others = condition.is.length - 1;
    return [
      load(argument),
      ...condition.is.map((value, index) => [EQUAL, value, others - index, index === others ? 1 : 0] as const),
    ];
  }
  const allowed = "isNot" in condition ? condition.isNot : (condition.unless ?? []);
  const bits = "isNot" in condition ? [] : [[ANY_BIT, condition.hasAnyBit, 0, 1] as const];
  const behind = allowed.length + bits.length;
  return [load(argument), ...allowed.map((value, index) => [EQUAL, value, behind - index, 0] as const), ...bits];
}
