/** An instruction of a filter, or a place in it that jumps name. Where a jump names none, the next instruction follows. */
export type Instruction =
  /** Takes the 32 bits at this offset of struct seccomp_data to compare with. */
  | { readonly load: number }
  /** `anyBit`: the two have a bit in common. Numbers are unsigned, 32 bits. */
  | {
      readonly when: "equal" | "greater" | "anyBit";
      readonly value: number;
      readonly goTo?: string;
      readonly elseGoTo?: string;
    }
  /** The filter's verdict, a SECCOMP_RET_ value. */
  | { readonly verdict: number }
  | { readonly label: string };

// Operation codes of classic BPF, from linux/bpf_common.h: class | size or operation | mode or source.
const LOAD = 0x00 | 0x00 | 0x20; // LD W ABS
const JUMPS = { equal: 0x05 | 0x10, greater: 0x05 | 0x20, anyBit: 0x05 | 0x40 }; // JMP JEQ K, JGT K, JSET K
const RETURN = 0x06; // RET K

/** Bytes of a struct sock_filter (linux/filter.h): code in two, the two jumps in one each, a number in four. */
const INSTRUCTION_BYTES = 8;

/**
 * The program in classic BPF as the kernel reads it, little endian.
 *
 * @throws RangeError for a jump to no label, backwards, or over more than 255 instructions, which the kernel does not have.
 */
export function assemble(program: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const places = placesOf(program);
  const instructions = program.flatMap((each) => ("label" in each ? [] : [each]));
  const bytes = new Uint8Array(instructions.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, instruction] of instructions.entries()) {
    const put = (code: number, value: number, goTo = 0, elseGoTo = 0) => {
      const at = index * INSTRUCTION_BYTES;
      view.setUint16(at, code, true);
      view.setUint8(at + 2, goTo);
      view.setUint8(at + 3, elseGoTo);
      view.setUint32(at + 4, value, true);
    };
    if ("load" in instruction) put(LOAD, instruction.load);
    else if ("verdict" in instruction) put(RETURN, instruction.verdict);
    else {
      const distance = (label: string | undefined) => (label === undefined ? 0 : distanceTo(label, index, places));
      put(JUMPS[instruction.when], instruction.value, distance(instruction.goTo), distance(instruction.elseGoTo));
    }
  }
  return bytes;
}

function placesOf(program: readonly Instruction[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  let index = 0;
  for (const each of program) {
    if ("label" in each) places.set(each.label, index);
    else index += 1;
  }
  return places;
}

function distanceTo(label: string, from: number, places: ReadonlyMap<string, number>): number {
  const distance = (places.get(label) ?? Number.NaN) - from - 1;
  if (distance >= 0 && distance <= 255) return distance;
  throw new RangeError(
    `A jump from instruction ${from} to "${label}": expected a label at most 255 further on, got a distance of ${distance}`,
  );
}
