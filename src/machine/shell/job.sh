# Functions that start and watch a job. They use those of processes.sh. The caller defines hr_begin, which sets the
# job's environment and enters its folder, and hr_run, which the job replaces.

# hr_job FOLDER pipe|closed PLAN WATCH: starts a job in a new folder. Reports "started PID-START", "unready CODE" (of
# hr_begin), "unmade WHY" or "failed WHY". Creates everything that needs disk space before the start.
#
# The shell waits for the job's start, and the job ends that shell. So nothing is started in the background, where
# SIGINT is ignored.
hr_job() {
  exec 7>&1 >/dev/null 2>&1
  ( hr_begin ) || { echo "unready $?" >&7; exit 0; }
  hr_why=$( { mkdir -m 700 "$1" && printf '' >"$1/running" && printf '' >"$1/filling" && printf '' >"$1/out" &&
    { [ "$2" != pipe ] || mkfifo -m 600 "$1/in"; } && printf %s "$3" >"$1/job"; } 2>&1) ||
    { printf 'unmade %s' "$hr_why" >&7; rm -rf "$1"; exit 0; }
  # shellcheck disable=SC2016,SC2086 # expanded by another shell; words of a command
  ( hr_me=$(exec "$hr_sh" -c 'echo "$PPID"')
    printf 'hr_me=%s\n%s\n' "$hr_me" "$4" | $hr_session "$hr_sh" 7>&-
    : )
  hr_folder=$1
  set -- "$1"/pid-*
  if [ -e "$1" ]; then printf 'started %s' "${1##*/pid-}" >&7
  else printf 'failed ' >&7; head -c 2000 "$hr_folder/out" >&7; rm -rf "$hr_folder"; fi
}

# hr_watch FOLDER pipe|closed START END: runs in the shell that watches the job, in its own session. Keeps its output as
# hr_spool does, holds stdin open, and notes the end.
hr_watch() {
  cd "$1" || exit
  hr_holder=
  if [ "$2" = pipe ]; then sleep 2147483647 >in & hr_holder=$!; : >"holder-$hr_holder"; fi
  {
    ( hr_begin && hr_run 2>&1 )
    hr_code=$?
    mv -f running "exited-$hr_code-$(date +%s)"
    [ -z "$hr_holder" ] || kill "$hr_holder"
  } | { hr_missing=$(hr_spool out end "$3" "$4"); mv -f filling "dropped-$hr_missing"; }
}
