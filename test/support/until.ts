/** Waits until the condition holds (looked at every 10 ms); fails after the time with what was waited for. */
export async function until(what: string, condition: () => unknown, milliseconds = 10_000): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** True while the process lives (one that has ended but was not reaped does not). */
export async function isAlive(pid: number): Promise<boolean> {
  const { readFile } = await import("node:fs/promises");
  try {
    const status = await readFile(`/proc/${pid}/stat`, "utf8");
    return !/^\d+ \(.*\) [ZX]/s.test(status);
  } catch {
    return false;
  }
}
