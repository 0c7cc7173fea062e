import { readlinkSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { tried } from "../../../core/util/errors.ts";
import { textOf } from "../read-files.ts";
import type { Features } from "./bubblewrap.ts";

/**
 * Keeps the result of a probe in `folder`, valid for this boot, kernel, bubblewrap, user and container, and for a probe
 * that begins with the same features. Failures are not kept: their cause may have been mended.
 */
export function keptProbe(folder: string, program: string, first: Features) {
  const file = join(folder, "probe.json");
  const { size, mtimeMs, ino } = statSync(realpathSync(program));
  const conditions = JSON.stringify([
    textOf("/proc/sys/kernel/random/boot_id"),
    release(),
    [program, size, mtimeMs, ino],
    process.getuid?.(),
    // A container differs in its namespaces, its capabilities or its filter of system calls.
    ["mnt", "user", "pid", "net"].map((name) => tried(() => readlinkSync(`/proc/self/ns/${name}`))),
    textOf("/proc/self/status").match(/^(?:CapEff|NoNewPrivs|Seccomp(?:_filters)?):.*$/gm),
    first,
  ]);
  return {
    /** `undefined` if no result was kept, or if something that the result depends on has changed since. */
    read(): Features | undefined {
      const kept = tried(() => JSON.parse(textOf(file)) as { conditions?: string; features?: Features });
      return kept?.conditions === conditions ? kept.features : undefined;
    },
    keep(features: Features) {
      // Another process may read a half-written file: it is not valid JSON, so that process runs the probe itself.
      tried(() => writeFileSync(file, JSON.stringify({ conditions, features }), { mode: 0o600 }));
    },
    /** The next session probes again. */
    forget() {
      rmSync(file, { force: true });
    },
  };
}
