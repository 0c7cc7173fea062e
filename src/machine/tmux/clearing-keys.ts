/**
 * Returns the keys that clear half-typed input at a prompt, by the name of the shell's program. In vi's command mode,
 * which Escape enters, `S` clears the line; otherwise it is an added letter, without which bash would ring the bell on
 * an empty line. Not for busybox, which would draw its prompt again over output without a line end.
 */
export function clearingKeys(shell: string): readonly string[] {
  return [...(/^(?:sh|ash|busybox)$/.test(shell) ? [] : ["S"]), "C-e", "C-u"];
}
