import { quoteWord } from "../../util/shell.ts";

export interface LoginOptions {
  /** Letters and digits, of one line alone: so no noise of a profile looks like a sign. */
  readonly secret: string;
  /** Whose profile is read: that of the login shell (`$SHELL`), or that of /bin/sh. */
  readonly profile: "login-shell" | "sh";
  /** True: the folders of PATH as it was before the profile stay, in front, since a profile often sets PATH anew. Default false. */
  readonly keepPath?: boolean;
  /** True: `overSign` is written to stderr when the shell has ended, for a program here that does not end with it. Default false. */
  readonly tellsEnd?: boolean;
}

/** Stands on stdout as soon as the script runs there: what comes now is the profile. */
export const begunSign = (secret: string) => `\x01${secret} begun\n`;

/** Stands on stdout when the shell is there and reads. */
export const readySign = (secret: string) => `\x01${secret} ready\n`;

/** Stands on stderr when the shell has ended; only with `tellsEnd`. */
export const overSign = (secret: string) => `\x01${secret} over\n`;

/**
 * A POSIX script that becomes a POSIX shell which reads from its stdin, in the folder in which it began, with the environment of a login. The profile meets an
 * empty stdin and its words go nowhere; the real streams wait as 6, 7 and 8.
 */
export function loginScript({ secret, profile, keepPath = false, tellsEnd = false }: LoginOptions): string {
  const become = `cd -- "$HR_FOLDER"
${keepPath ? KEEP_PATH : ""}
unset HR_FOLDER HR_PATH HR_START
printf '\\001%s ready\\n' ${secret} >&7
exec /bin/sh <&6 >&7 2>&8 6<&- 7>&- 8>&-`;
  const script = `exec 6<&0 7>&1 8>&2 </dev/null >/dev/null 2>&1
printf '\\001%s begun\\n' ${secret} >&7
HR_FOLDER=$(pwd) HR_PATH=$PATH HR_START=${quoteWord(become)}
export HR_FOLDER HR_PATH HR_START
${profile === "sh" ? SH_PROFILE : LOGIN_SHELL_PROFILE}`;
  return tellsEnd ? `(\n${script}\n)\nhr_status=$?\nprintf '\\001%s over\\n' ${secret} >&2\nexit $hr_status` : script;
}

/**
 * The script as one command line that every login shell reads alike, be it a POSIX shell, fish or csh: in single quotes, and within them only characters
 * that mean nothing to any of them.
 */
export function plainCommand(script: string): string {
  const encoded = Buffer.from(script, "utf8")
    .toString("latin1")
    .replaceAll(/[^\w /:;=.,<>&()|-]/g, octal);
  return `exec /bin/sh -c 'eval "$(printf %b "${encoded}")"'`;
}

const octal = (character: string) => `\\0${character.charCodeAt(0).toString(8).padStart(3, "0")}`;

const SH_PROFILE = `exec /bin/sh -l -c 'exec /bin/sh -c "$HR_START"'`;

/** csh and tcsh read their file before any command and have no `-l -c`; of a shell that is not known nothing is asked. */
const LOGIN_SHELL_PROFILE = `case \${SHELL##*/} in
sh | bash | dash | ash | ksh | ksh93 | mksh | yash | zsh | fish) exec "$SHELL" -l -c 'exec /bin/sh -c "$HR_START"' ;;
csh | tcsh) exec /bin/sh -c "$HR_START" ;;
*) ${SH_PROFILE} ;;
esac`;

const KEEP_PATH = `if [ -n "$HR_PATH" ]; then
  hr_profile=$PATH PATH=$HR_PATH IFS=:
  set -f
  for hr_folder in $hr_profile; do
    case :$PATH: in *:"$hr_folder":*) ;; *) PATH=$PATH\${hr_folder:+:$hr_folder} ;; esac
  done
fi`;
