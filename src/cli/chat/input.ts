import { StdinBuffer, setKittyProtocolActive } from "@earendil-works/pi-tui";
import type { Io } from "../io.ts";

/** Reads the keys of a terminal. */
export interface Input {
  /** Lets another program read the terminal until `enter`. The terminal gets its usual modes for that program. */
  leave(): void;
  enter(): void;
  close(): void;
}

export interface InputOptions {
  /** Called with the bytes of each key. */
  readonly onKey: (data: string) => void;
  /** Called with a pasted text, as the terminal sends it. */
  readonly onPaste: (text: string) => void;
  /** Called when the terminal is gone. */
  readonly onEnd: () => void;
}

/**
 * Pastes are marked (bracketed paste), and keys such as Shift-Enter are reported: by the kitty keyboard protocol
 * (https://sw.kovidgoyal.net/kitty/keyboard-protocol/, flag 1), or by modifyOtherKeys of xterm. Terminals ignore modes
 * that they do not know.
 */
const MODES_ON = "\x1b[?2004h\x1b[>1u\x1b[>4;1m";
const MODES_OFF = "\x1b[?2004l\x1b[<u\x1b[>4;0m";

/** A key as the kitty protocol reports it. */
const KITTY_KEY = /^\x1b\[\d+(?::\d*)*(?:;[\d:]*)*u$/;

/**
 * How long the rest of a sequence may take after an Escape, before it counts as the key Escape, in milliseconds. Over
 * SSH a sequence may arrive in two pieces.
 */
const ESCAPE_MS = { here: 20, overSsh: 100 };

/** Reads stdin, which must be a terminal, in raw mode. The terminal gets its modes back also when the process exits. */
export function createInput(io: Io, { onKey, onPaste, onEnd }: InputOptions): Input {
  const { stdin, stdout, env } = io;
  const escapeTimeout = env["SSH_CONNECTION"] === undefined ? ESCAPE_MS.here : ESCAPE_MS.overSsh;
  let isOpen = false;
  const buffer = new StdinBuffer({ escapeTimeout });
  buffer.on("data", (data) => {
    if (KITTY_KEY.test(data)) setKittyProtocolActive(true);
    if (data === "\x1b\x1b") onKey("\x1b"); // two Escapes that arrived together
    onKey(data === "\x1b\x1b" ? "\x1b" : data);
  });
  buffer.on("paste", onPaste);
  const read = (data: Buffer | string) => buffer.process(data);

  const enter = () => {
    if (isOpen) return;
    isOpen = true;
    stdin.setRawMode?.(true);
    stdin.on("data", read);
    stdin.resume();
    stdout.write(MODES_ON);
  };
  const leave = () => {
    if (!isOpen) return;
    isOpen = false;
    buffer.clear();
    stdin.off("data", read);
    stdin.pause();
    stdout.write(MODES_OFF);
    stdin.setRawMode?.(false);
  };

  io.signals.on("exit", leave);
  stdin.setEncoding("utf8");
  stdin.on("end", onEnd);
  enter();
  return {
    enter,
    leave,
    close() {
      leave();
      io.signals.off("exit", leave);
      stdin.off("end", onEnd);
      stdin.unref?.();
    },
  };
}
