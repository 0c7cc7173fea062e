# Runs in a job's own shell before the job replaces it: notes the PID, and releases the shell that waits for the start.
# Arguments: the folder, the PID of that shell, then the words of the job.

hr_start=
hr_begun() { [ $# -lt 20 ] || { shift 19; hr_start=$1; }; }
# shellcheck disable=SC2086 # fields of proc(5)
{ IFS= read -r hr_line <"/proc/$$/stat"; } 2>/dev/null && hr_begun ${hr_line##*) }
: >"$1/pid-$$-$hr_start"
kill -s KILL "$2"
shift 2
exec "$@"
