import type { Backend, OpenFile } from "../contract/backend.ts";
import type { CheckedCall, ReadAhead } from "../contract/call.ts";
import type { Decision } from "../contract/decision.ts";
import type { EffectKind } from "../contract/effect.ts";
import { absolutePath } from "../util/paths.ts";

/** What saves a far backend's calls a round trip: paths that are judged as if they were real, files opened ahead. */

/** Tools that touch nothing else have changed nothing, and may run again when a path turns out not to be real. */
const ONLY_READ: ReadonlySet<EffectKind> = new Set(["read", "output"]);

/** A path whose reading was allowed, and which is being opened. */
interface Opened extends Pick<ReadAhead, "opening" | "isFresh"> {
  readonly path: string;
}

/**
 * Returns the call with the named paths as its real paths. `undefined` for a backend that is not far, and for calls
 * that do more than read, or that name a path with "..", which a link may lead elsewhere.
 */
export function expectedCall(call: CheckedCall, backend: Backend): CheckedCall | undefined {
  const { effects, tool } = call;
  const isExpectable =
    backend.isFar === true &&
    tool.touches.every((kind) => ONLY_READ.has(kind)) &&
    effects.every(({ kind }) => kind === "read" || kind === "output");
  if (!isExpectable) return undefined;
  const named = effects.map((effect) => {
    const real = effect.kind === "read" ? expectedPath(effect.path, backend) : undefined;
    return effect.kind !== "read" || real === undefined ? effect : { ...effect, real };
  });
  if (named.some((effect) => effect.kind === "read" && effect.real === undefined)) return undefined;
  return { ...call, effects: named, isExpected: true };
}

/**
 * Opens the file that a call reads and then writes, on a far backend, if reading it is allowed. The file has no link on
 * its path, otherwise opening it fails.
 */
export async function openAhead(
  call: CheckedCall,
  backend: Backend,
  judge: (call: CheckedCall) => Promise<Decision>,
): Promise<Opened | undefined> {
  const { effects } = call;
  const [write, ...others] = effects.filter(({ kind }) => kind === "write");
  const read = effects.find(
    (effect) => effect.kind === "read" && write?.kind === "write" && effect.path === write.path,
  );
  if (backend.isFar !== true || others.length > 0 || effects.length !== 2 || read?.kind !== "read") return undefined;
  const path = expectedPath(read.path, backend);
  if (path === undefined) return undefined;
  const { verdict } = await judge({ ...call, effects: [{ ...read, real: path }] });
  if (verdict !== "allow") return undefined;
  const before = writesOn(backend);
  const opening = backend.files.open(path, { real: true });
  opening.catch(() => undefined); // there may be no file
  return { path, opening, isFresh: () => writesOn(backend) === before };
}

/** The opened file for a call that was allowed, if its real path is as expected. Otherwise closes the file. */
export function aheadOf({ path, opening, isFresh }: Opened, call: CheckedCall | undefined): ReadAhead | undefined {
  const isAsExpected =
    call?.found?.has(path) === true && call.effects.every((one) => "real" in one && one.real === path);
  if (isAsExpected) return { real: path, info: call.found.get(path), opening, isFresh };
  void opening.then((file: OpenFile) => file.close()).catch(() => undefined);
  return undefined;
}

function expectedPath(path: string, backend: Backend): string | undefined {
  return path.split("/").includes("..") || path.includes("\0") ? undefined : absolutePath(path, backend);
}

/** How often calls have begun or ended a write on a target. By name: two backends may be the same target. */
const writes = new Map<string, number>();

function writesOn({ name }: Backend): number {
  return writes.get(name) ?? 0;
}

/** Counts the beginning or the end of a write: files that were opened ahead before it may be out of date. */
export function countWrite(backend: Backend): void {
  writes.set(backend.name, writesOn(backend) + 1);
}
