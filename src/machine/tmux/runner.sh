# Runs a command in a pane, as a child of its shell. A file of the command sources this after setting: F the folder of
# the backend, d that of the command, n its number, mode (closed, pipe, terminal, dispatch), streams (merged, split),
# session ("setsid" or nothing), mark, hr_sh and shown. Arguments: how many lines up, and in which column, the line
# begins that was typed to start it.
#
# Ctrl-C goes to everything in the foreground of the pane: this script, the copiers and the command. The script and the
# copiers ignore it, so that the output is complete and the exit code is reported. A command without a terminal has its
# own session; the signal is passed on to it.

# A person or a command may have changed the variables of the pane's shell.
read -r PATH <"$F/path"
mkdir "$d/claimed" 2>/dev/null || exit 0
hr_say() { { printf '%s\n' "$n $*" 1<>"$F/events"; } 2>/dev/null; }
trap : INT QUIT HUP TERM USR1

hr_program() {
  exec $session env -i HANDRAIL_PROCESS="$mark" TERM="${TERM:-dumb}" TMUX="$TMUX" TMUX_PANE="$TMUX_PANE" PATH="$PATH" \
    "$hr_sh" "$d/start"
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
# shellcheck disable=SC2317 # called by traps
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
# shellcheck disable=SC2086 # process numbers
printf '%s\n' "$$" $hr_copies >"$d/pids"
if [ -z "$session" ]; then
  hr_command 2>/dev/null
else
  hr_command 2>/dev/null | hr_watch 2>/dev/null
  hr_code=129
  [ -s "$d/code" ] && read -r hr_code <"$d/code"
fi
# shellcheck disable=SC2086 # process numbers
wait $hr_copies 2>/dev/null
[ -n "$hr_tty" ] && stty "$hr_tty" 2>/dev/null
# Resets what binary output may have set: an unfinished control string (ended by ESC \), colours, character set,
# alternate screen, scroll region, insert mode, wrapping, the mouse.
printf '\033\\\033[m\017\033(B\033[?25h\033[?1047l\033[?1l\033>\0337\033[r\0338\033[4l'
printf '\033[?7h\033[?1000l\033[?1002l\033[?1003l'
exit "$hr_code"
