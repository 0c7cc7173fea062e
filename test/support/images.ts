// Images for tests, made of programs of this machine: no registry is used.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inject } from "vitest";
import { withLockAsync } from "../../scripts/lib/lock.mjs";
import { runToEnd } from "./ended.ts";
import { type Engine, runLabel } from "./engines.ts";
import { installed } from "./here.ts";

/**
 * - `bash`: busybox as sh and everything else, GNU bash, tmux if this machine has it;
 * - `busybox`: the same without the last two;
 * - `bare`: nothing but `/bin/sleep`, no shell at all. The first two have a user `dev` (1000, /home/dev) beside root,
 *   /tmp, and /work as working directory; the time zone is UTC.
 */
export type ImageKind = "bash" | "busybox" | "bare";

/** Returns the image's name in the engine. The image is created once per run. */
export async function testImage(engine: Engine, kind: ImageKind): Promise<string> {
  const run = inject("runFolder");
  const image = `localhost/${basename(run).toLowerCase()}:${kind}`;
  const note = join(run, `${engine.name}-${kind}`);
  if (existsSync(note)) return image;
  return withLockAsync(note, async () => {
    if (existsSync(note)) return image;
    const archive = await archiveOf(kind);
    const changes = [`LABEL ${runLabel()}`, "ENV TZ=UTC", ...(kind === "bare" ? [] : ["WORKDIR /work"])];
    const options = changes.flatMap((change) => ["--change", change]);
    const { status, stderr } = await engine.run(["import", ...options, archive, image]);
    if (status !== 0) throw new Error(`${engine.name} could not import the image ${kind}: ${stderr}`);
    writeFileSync(note, "");
    return image;
  });
}

/** Creates the image's files as one archive, which both engines accept. */
function archiveOf(kind: ImageKind): Promise<string> {
  const folder = join(inject("runFolder"), `image-${kind}`);
  const archive = `${folder}.tar`;
  return withLockAsync(archive, async () => {
    if (existsSync(archive)) return archive;
    if (kind === "bare") await fillBare(folder);
    else await fillWithShell(folder, kind === "bash" ? ["bash", "tmux", ...POSIX] : POSIX);
    pack(folder, archive);
    return archive;
  });
}

/** POSIX programs that a busybox may lack. */
const POSIX: readonly string[] = ["cksum", "nohup"];

async function fillBare(root: string): Promise<void> {
  const busybox = busyboxHere();
  copy(busybox, root, "/bin/sleep");
  // A dynamically linked busybox needs its libraries.
  for (const library of await librariesOf([busybox])) copy(library, root);
}

async function fillWithShell(root: string, programs: readonly string[]): Promise<void> {
  for (const path of ["bin", "tmp", "root", "home/dev", "work", "var/tmp", "etc"])
    mkdirSync(join(root, path), { recursive: true });
  const busybox = busyboxHere();
  copy(busybox, root, "/bin/busybox");
  const applets = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n");
  for (const applet of applets) {
    if (applet === "" || applet === "busybox" || programs.includes(applet)) continue;
    symlinkSync("busybox", join(root, "bin", applet));
  }
  const found = programs.flatMap((program) => installed(program) ?? []);
  for (const program of found) copy(program, root, `/bin/${basename(program)}`);
  for (const library of await librariesOf([busybox, ...found])) copy(library, root);
  if (programs.includes("bash")) for (const path of ["/usr/lib/locale/C.utf8", "/lib/terminfo"]) copy(path, root);
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n");
  writeFileSync(join(root, "etc/group"), "root:x:0:\ndev:x:1000:\n");
  writeFileSync(join(root, "etc/image"), `${basename(root)}\n`);
}

function busyboxHere(): string {
  const found = installed("busybox");
  if (found === undefined) throw new Error("busybox is not installed");
  return found;
}

/**
 * Returns the shared libraries of programs, including their loader; none for statically linked ones, for which ldd
 * fails.
 */
async function librariesOf(programs: readonly string[]): Promise<Set<string>> {
  const asked = await Promise.all(programs.map((program) => runToEnd(["ldd", program])));
  return new Set(asked.flatMap(({ stdout }) => stdout.toString().match(/\/\S+/g) ?? []));
}

/** Copies existing paths; a link is replaced with its target. */
function copy(from: string, root: string, to = from): void {
  if (!existsSync(from)) return;
  mkdirSync(dirname(join(root, to)), { recursive: true });
  cpSync(realpathSync(from), join(root, to), { recursive: true, dereference: true });
}

/** Owners are set by tar: only root could change them on disk. */
function pack(root: string, archive: string): void {
  const half = `${archive}.half`;
  const tar = (...args: readonly string[]) => execFileSync("tar", ["-C", root, "--numeric-owner", ...args]);
  const ofDev = ["./home/dev", "./work"].filter((path) => existsSync(join(root, path)));
  tar("--owner=0", "--group=0", ...ofDev.map((path) => `--exclude=${path}`), "--exclude=./tmp", "-cf", half, ".");
  if (ofDev.length > 0) {
    tar("--owner=1000", "--group=1000", "-rf", half, ...ofDev);
    tar("--owner=0", "--group=0", "--mode=1777", "-rf", half, "./tmp");
  }
  execFileSync("mv", [half, archive]);
  rmSync(root, { recursive: true });
}
