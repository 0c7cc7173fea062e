# The end of a command's file `start`, which the program replaces. hr_begin and hr_run are those of the command. Its
# environment has only the mark and the terminal. A missing program or folder is reported, and nothing starts.

# shellcheck source=/dev/null
. "$hr_at/environment"
# shellcheck source=/dev/null
[ -s "$hr_state" ] && . "$hr_state"
hr_say() { { printf '%s\n' "$hr_n $*" 1<>"$hr_at/events"; } 2>/dev/null; }
hr_begin || {
  hr_say unready $?
  echo "handrail: there is no such program or folder, or it may not be used" >&2
  exit 127
}
[ -e "$hr_at/$hr_n.d/stopped" ] && exit 143
printf '%s\n' "$$" >"$hr_at/$hr_n.d/pid"
hr_say started "$$"
hr_run
