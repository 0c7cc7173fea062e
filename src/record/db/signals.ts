/**
 * The types of events by which processes ask something of one another. Nearly every process follows them, and they are
 * rare: they have an index, and on a server a channel.
 */
export const SIGNALS: readonly string[] = [
  "approval.decided",
  "input.requested",
  "job.watched",
  "port.requested",
  "stop.requested",
];

/** The condition of the index `events_signals`. */
export const IS_SIGNAL = `type IN (${SIGNALS.map((type) => `'${type}'`).join(", ")})`;
