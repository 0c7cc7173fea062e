/**
 * What runs a command in a pane, as a child of the shell there: text of POSIX sh. Read by a file of the command's own, which sets: `F` the folder of
 * the backend, `d` that of the command, `n` its number, `mode` (closed, pipe, terminal, dispatch), `streams` (merged, split), `session` ("setsid" or
 * nothing), `mark`, `hr_sh` and `shown`. Arguments: how many lines up and in which column the line was typed that started it.
 *
 * A pane is a terminal, and Ctrl-C there goes to all that stands in its foreground: this script, the copying and the command. The script and the copying
 * pay no heed, so that the output is complete and the exit code told. A command without a terminal stands in a session of its own; it is passed on to it.
 */
export const RUNNER = String.raw`
mkdir "$d/claimed" 2>/dev/null || exit 0
hr_say() { { printf '%s\n' "$n $*" 1<>"$F/events"; } 2>/dev/null; }
trap : INT QUIT HUP TERM USR1

hr_program() {
  exec $session env -i HANDRAIL_PROCESS="$mark" TERM="${"$"}{TERM:-dumb}" TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" PATH="$PATH" "$hr_sh" "$d/start"
}
hr_command() {
  trap : INT QUIT HUP TERM
  case $mode-$streams in
    dispatch-*) ( hr_program ) ;;
    terminal-merged) ( hr_program >"$d/in" 2>&1 ) ;;
    terminal-split) ( hr_program >"$d/in" 2>"$d/in-errors" ) ;;
    pipe-merged) ( hr_program <"$d/stdin" >"$d/in" 2>&1 ) ;;
    pipe-split) ( hr_program <"$d/stdin" >"$d/in" 2>"$d/in-errors" ) ;;
    *-merged) ( hr_program </dev/null >"$d/in" 2>&1 ) ;;
    *) ( hr_program </dev/null >"$d/in" 2>"$d/in-errors" ) ;;
  esac
  hr_code=$?
  { printf '%s\n' "$hr_code" >"$d/code"; } 2>/dev/null
  hr_say exited "$hr_code"
}
hr_copy() {
  trap '' INT QUIT HUP PIPE TSTP TTOU
  exec tee "$d/out$1" <"$d/in$1" 2>/dev/null
}
hr_pass_on() { read -r hr_pid <"$d/pid" && kill "-$1" "-$hr_pid"; }
hr_watch() {
  trap 'hr_pass_on INT' INT
  trap 'hr_pass_on QUIT' QUIT
  trap 'hr_pass_on HUP' HUP
  trap : TERM
  exec 3<&0
  ( trap '' INT QUIT HUP TERM TSTP; exec cat <&3 >/dev/null ) &
  while kill -0 $! 2>/dev/null; do wait $!; done
}

if [ $# -eq 2 ]; then
  printf '\033[%sA\033[%sG\033[J%s\n' "$1" "$2" "$shown"
else
  printf '$ %s\n' "$shown"
fi
if [ "$mode" = dispatch ]; then
  printf '%s\n' "$$" >"$d/pids"
  hr_command
  exit "$hr_code"
fi
[ "$mode" = terminal ] && hr_tty=$(stty -g 2>/dev/null)
hr_copy '' & hr_copies=$!
[ "$streams" = split ] && { hr_copy -errors & hr_copies="$hr_copies $!"; }
printf '%s\n' "$$" $hr_copies >"$d/pids"
if [ -z "$session" ]; then
  hr_command 2>/dev/null
else
  hr_command 2>/dev/null | hr_watch 2>/dev/null
  hr_code=129
  [ -s "$d/code" ] && read -r hr_code <"$d/code"
fi
wait $hr_copies 2>/dev/null
[ -n "$hr_tty" ] && stty "$hr_tty" 2>/dev/null
# What a binary file may have begun or set: a text for the terminal itself (until ESC \), colours, other characters, another screen, a region that scrolls, inserting, no wrapping, the mouse.
printf '\033\\\033[m\017\033(B\033[?25h\033[?1047l\033[?1l\033>\0337\033[r\0338\033[4l\033[?7h\033[?1000l\033[?1002l\033[?1003l'
exit "$hr_code"
`;

/**
 * What becomes the program itself: begins the file `start` of a command, in an environment that has only the mark and the terminal in it. Where the program or its
 * folder is missing that is told, and nothing starts.
 */
export const STARTER = String.raw`
hr_path=$PATH
. "$F/environment"
hr_say() { { printf '%s\n' "$n $*" 1<>"$F/events"; } 2>/dev/null; }
hr_fail() { hr_say failed "$1"; printf 'handrail: %s\n' "$3" >&2; exit "$2"; }
hr_in() { cd -P "$1" 2>/dev/null && { [ -z "$2" ] || [ "$PWD" = "$1" ] || hr_fail folder 126 "$1 leads to another folder now"; } || { [ -d "$1" ] && hr_fail closed 126 "the folder $1 may not be entered"; hr_fail folder 126 "there is no folder $1"; }; }
hr_start() {
  case $1 in
    */*) [ -f "$1" ] || hr_fail program 127 "there is no program $1"; [ -x "$1" ] || hr_fail executable 126 "$1 is not executable" ;;
    *) hr_find "$1" || hr_fail program 127 "there is no program $1 on the PATH" ;;
  esac
  [ -e "$d/stopped" ] && exit 143
  printf '%s\n' "$$" >"$d/pid"
  hr_say started "$$"
  unset F d n hr_path 2>/dev/null
  exec "$@"
}
hr_find() {
  case $1 in ''|-*) return 1 ;; esac
  set -f
  IFS=:
  for hr_folder in $PATH; do
    [ -f "$hr_folder/$1" ] && [ -x "$hr_folder/$1" ] && { set +f; unset IFS; return 0; }
  done
  set +f
  unset IFS
  return 1
}
`;
