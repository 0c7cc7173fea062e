/** Waits until the condition holds (checked every 10 ms). Fails after the timeout, naming what was awaited. */
export async function until(what: string, condition: () => unknown, milliseconds = 20_000): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns true while the process is alive (and not a zombie). */
export async function isAlive(pid: number): Promise<boolean> {
  const { readFile } = await import("node:fs/promises");
  try {
    const status = await readFile(`/proc/${pid}/stat`, "utf8");
    return !/^\d+ \(.*\) [ZX]/s.test(status);
  } catch {
    return false;
  }
}
