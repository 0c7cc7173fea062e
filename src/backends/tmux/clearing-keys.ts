/**
 * The keys that put away what somebody has half typed at the prompt of a shell, by the name of its program. In the command mode of vi, where Escape leads, `S` begins the line anew;
 * elsewhere it is one letter more, without which bash would ring the bell when there is nothing to put away. Not for a busybox: it would then draw its prompt again, over an output without
 * a line end.
 */
export function clearingKeys(shell: string): readonly string[] {
  return [...(/^(?:sh|ash|busybox)$/.test(shell) ? [] : ["S"]), "C-e", "C-u"];
}
