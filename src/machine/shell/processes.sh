# Functions that start, find and end processes. Marks consist of letters, digits, ":", "_" and "-", since they become
# part of a sed(1) pattern. PIDs are reused, so a process is identified by its PID and start time (field 22 of
# /proc/PID/stat). Without /proc the start is empty, and only descendants are found, by ps(1).

hr_sh=/bin/sh; [ -x "$hr_sh" ] || hr_sh=$(command -v sh)

# The word that runs a program in its own session, or nothing. (Not a function: the shell would keep the program's
# streams open meanwhile.)
hr_session=$(command -v setsid) || hr_session=

# Runs in a command's own shell before the command replaces it: reports the PID on descriptor 8.
# shellcheck disable=SC2016 # expanded by that shell
hr_inner='printf "\001%s started %s\n" "$1" "$$" >&8; shift; exec "$@" 8>&-'

# hr_foreground merged|split FIRST: runs a command in a pipeline. (In the background it would ignore SIGINT.) The caller
# defines hr_begin, which sets the command's environment and enters its folder, and hr_run, which the command replaces.
# Descriptors: reports go to 8, 9 is the stderr of the shell, 6 the stdout of a command whose streams are split. The
# command gets none of them.
hr_foreground() {
  case $1 in
  merged) { hr_command merged "$2" | hr_copy; } 8>&1 ;;
  *) { { hr_command split "$2" | hr_copy >&9; } 6>&1 | hr_copy; } 8>&1 9>&2 ;;
  esac
}

# hr_command merged|split FIRST: runs the command itself. In a subshell, so that the shell's message about a signal that
# ended the command goes to the redirected stderr. Reports through the command's own pipes come after all of its output.
hr_command() {
  exec 2>/dev/null
  hr_begin || { hr_tell unready $? >&8; return; }
  case $1 in
  merged) ( hr_run 2>&1 ) ;;
  *) ( hr_run 2>&1 >&6 6>&- 9>&- ) ;;
  esac
  hr_code=$?
  hr_after >&8
  hr_exited "$hr_code" "$2" >&8
  hr_tell written
  [ "$1" = merged ] || hr_tell written >&6
}

# hr_after: called after a command. A contained command's script defines another one.
hr_after() { :; }

# hr_exited CODE FIRST: reports the exit code. If the first shell has ended, everything was being ended, and the code
# means nothing.
hr_exited() {
  if kill -0 "$2" 2>/dev/null; then hr_tell exited "$1"; else hr_tell orphaned "$1"; fi
}

# hr_copy: copies stdin to stdout. If its cat is killed, the rest is discarded and nothing waits for it.
hr_copy() {
  {
    cat <&5 5<&- 6>&- 8>&- 9>&- &
    hr_tell copying $! >&8
    wait $!
    [ $? -le 128 ] || { cat <&5 5<&- 6>&- 8>&- 9>&- >/dev/null & }
  } 5<&0 </dev/null 2>/dev/null
}

# hr_lives PID START: true if the process runs and is no zombie. START may be empty.
hr_lives() {
  [ -r /proc/self/stat ] || { kill -0 "$1" 2>/dev/null; return; }
  hr_line=
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null || return 1
  case $hr_line in *") "[ZX]*) return 1 ;; esac
  [ -n "$2" ] || return 0
  # shellcheck disable=SC2086 # fields
  hr_begun ${hr_line##*) }
  [ -z "$hr_start" ] || [ "$hr_start" = "$2" ]
}
hr_begun() { hr_start=; [ $# -lt 20 ] || { shift 19; hr_start=$1; }; }

# hr_who PID: prints "PID START", where START may be empty.
hr_who() {
  hr_line= hr_start=
  # shellcheck disable=SC2086 # fields
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null && hr_begun ${hr_line##*) }
  printf '%s %s\n' "$1" "$hr_start"
}

# hr_table: prints each running process: PID, parent, group, session, start.
hr_table() {
  if [ -r /proc/self/stat ]; then
    cat /proc/[0-9]*/stat 2>/dev/null |
      LC_ALL=C sed -n \
's/^\([0-9]*\) (.*) [^ZX ] \([0-9]*\) \([0-9]*\) \([0-9]*\) \(-\{0,1\}[0-9]* \)\{15\}\([0-9]*\) .*/\1 \2 \3 \4 \6/p'
  else
    ps -A -o pid= -o ppid= -o pgid= -o stat= 2>/dev/null | sed -e '/Z/d' -e 's/[^0-9 ].*/0 0/'
  fi
}

# hr_marked MARK: prints the PIDs of processes that have the mark in their environment. (Not with grep: busybox grep
# reads a line up to its first NUL.)
hr_marked() {
  [ -r /proc/self/environ ] || return 0
  tail -n +1 /proc/[0-9]*/environ 2>/dev/null | tr '\000' '\n' |
    LC_ALL=C sed -n -e '/^==> \/proc\/[0-9]*\/environ <==$/{' \
      -e 's/[^0-9]//g' -e h -e d -e '}' -e "/$1/{" -e g -e p -e '}'
}

# hr_living: sets hr_set to the running processes of hr_mark: those with the mark, hr_leader, its group, its session,
# and all descendants. A process that was found once stays in the set (hr_known), even if its parent changes.
hr_living() {
  hr_all=$(hr_table)
  hr_with=" $(hr_marked "$hr_mark" | tr '\n' ' ')"
  hr_set=' '
  while :; do
    hr_was=$hr_set
    # shellcheck disable=SC2086 # fields
    set -- $hr_all
    while [ $# -gt 4 ]; do
      case $hr_set in
        *" $1 "*) ;;
        *)
          case "$hr_with$hr_leader $hr_known" in
            *" $1 "*|*" $1:$5 "*) hr_is=1 ;;
            *) case "$hr_set$hr_leader " in *" $2 "*|*" $3 "*|*" $4 "*) hr_is=1 ;; *) hr_is= ;; esac ;;
          esac
          if [ -n "$hr_is" ] && [ "$1" -gt 1 ] && [ "$1" != $$ ]; then
            hr_set="$hr_set$1 "
            case $hr_known in *" $1:$5 "*) ;; *) hr_known="$hr_known$1:$5 " ;; esac
          fi ;;
      esac
      shift 5
    done
    [ "$hr_set" != "$hr_was" ] || break
  done
}

# hr_nap: sleeps for 0.01 to 1 s. Updates hr_slept, in hundredths of a second (by /proc/uptime, or roughly).
hr_nap() {
  [ "$hr_slept" != 0 ] || hr_zero=$(hr_now)
  if [ "$hr_slept" -lt 10 ] && sleep 0.01 2>/dev/null; then hr_step=4
  elif sleep 0.05 2>/dev/null; then hr_step=8
  else sleep 1; hr_step=101; fi
  if [ -n "$hr_zero" ]; then hr_slept=$(($(hr_now) - hr_zero + 1)); else hr_slept=$((hr_slept + hr_step)); fi
}
hr_now() {
  [ -r /proc/uptime ] || return 0
  IFS='. ' read -r hr_whole hr_part hr_line </proc/uptime
  printf '%s' "$hr_whole$hr_part"
}

# hr_end MARK [LEADER]: ends the processes of a mark: TERM, two seconds, then KILL until none is left, for five seconds.
# shellcheck disable=SC2086 # process numbers
hr_end() {
  hr_mark=$1 hr_leader=${2:-none} hr_known=' ' hr_slept=0
  hr_living
  [ "$hr_set" != ' ' ] || return 0
  kill -s TERM $hr_set 2>/dev/null
  while [ $hr_slept -lt 200 ]; do
    hr_nap
    hr_living
    [ "$hr_set" != ' ' ] || return 0
  done
  while [ $hr_slept -lt 700 ]; do
    kill -s KILL $hr_set 2>/dev/null
    hr_nap
    hr_living
    [ "$hr_set" != ' ' ] || return 0
  done
}

# hr_kill MARK [LEADER]: runs hr_end in the background, so that it continues after a lost connection. Prints the PID of
# that process.
hr_kill() {
  ( trap '' HUP INT TERM; hr_end "$1" "${2-}" ) </dev/null >/dev/null 2>&1 &
  printf '%s\n' $!
}

# hr_left_of KILLER MARK [LEADER]: 0 when all have ended, 1 when the killer has given up, 2 while it works.
hr_left_of() {
  hr_lives "$1" '' && return 2
  hr_mark=$2 hr_leader=${3:-none} hr_known=' '
  hr_living
  [ "$hr_set" = ' ' ]
}

# hr_left: the exit trap of the first shell, which runs when the connection has ended. Runs hr_leave in a new session,
# so that what ends this session does not reach it.
# shellcheck disable=SC2086 # words of a command
hr_left() {
  trap - EXIT HUP
  printf '%s\n' "$hr_text" 'hr_leave "$@"' |
    $hr_session "$hr_sh" -s "$hr_id" "$hr_lease" "$hr_wait" $$ "$hr_jobs" >/dev/null 2>&1
}

# hr_leave ID LEASE SECONDS FIRST [FOLDER]: ends foreground commands, and the rest unless it is claimed in time.
hr_leave() {
  (
    trap '' HUP INT TERM PIPE
    hr_slept=0
    while hr_lives "$4" '' && [ $hr_slept -lt 100 ]; do hr_nap; done
    hr_end "$2f$1_"
    [ -n "$5" ] || exit 0
    hr_count=0
    while [ $hr_count -lt "$3" ] && [ -e "$5/claim-$1" ]; do
      sleep 1
      hr_count=$((hr_count + 1))
    done
    [ -e "$5/claim-$1" ] || exit 0
    hr_end "$2"
    rm -rf "$5"
  ) </dev/null >/dev/null 2>&1 &
}

# hr_arm ID LEASE SECONDS [FOLDER]: makes this shell the first one. Prints hr_who of it and of its parent.
hr_arm() {
  hr_id=$1 hr_lease=$2 hr_wait=$3 hr_jobs=${4-}
  [ -z "$hr_jobs" ] || hr_claim "$hr_jobs"
  hr_who $$
  hr_who $PPID
}
hr_claim() {
  hr_jobs=$1
  rm -f "$1"/claim-*
  [ -d "$1" ] && : >"$1/claim-$hr_id"
}

# hr_bury PID START PARENT START: kills what remains of a lost connection: its first shell, and the sshd that started
# it, unless that is also the parent of this shell.
hr_bury() {
  [ -n "$2" ] && hr_lives "$1" "$2" && kill -s KILL "$1" 2>/dev/null
  [ -n "$4" ] && [ "$3" != $PPID ] && hr_lives "$3" "$4" || return 0
  hr_line=
  { IFS= read -r hr_line <"/proc/$3/comm"; } 2>/dev/null
  case $hr_line in sshd*) kill -s KILL "$3" 2>/dev/null ;; esac
  return 0
}

# hr_notes FOLDER: prints the notes on a job, plus "gone" if it has ended without a note, and on a second line the size
# of its output.
hr_notes() {
  hr_names= hr_pid=
  for hr_file in "$1"/pid-* "$1"/exited-* "$1"/dropped-* "$1"/holder-*; do
    [ -e "$hr_file" ] || continue
    hr_file=${hr_file##*/}
    hr_names="$hr_names$hr_file "
    case $hr_file in pid-*) hr_pid=${hr_file#pid-} ;; esac
  done
  case $hr_names in
    *exited-*) ;;
    *) hr_lives "${hr_pid%%-*}" "${hr_pid#*-}" || hr_names="$hr_names gone" ;;
  esac
  hr_size() { hr_size=${5:-0}; }
  # shellcheck disable=SC2046 # fields
  hr_size $(LC_ALL=C ls -ln "$1/out" 2>/dev/null)
  printf '%s\n%s\n' "$hr_names" "$hr_size"
}

# hr_seen SEPARATOR FOLDER...: prints for each job folder its name, the notes, the plan and the separator.
hr_seen() {
  hr_separator=$1
  shift
  for hr_each; do
    [ -f "$hr_each/job" ] || continue
    printf '%s\n' "${hr_each##*/}"
    hr_notes "$hr_each"
    cat "$hr_each/job"
    printf '\n%s\n' "$hr_separator"
  done
}

# hr_give FOLDER BYTES: writes that many bytes of its stdin to the stdin of a job. Always reads all of them: the shell
# would run the rest as a script.
hr_give() {
  head -c "$2" | {
    hr_status=1
    hr_in=$1/in
    set -- "$1"/exited-*
    [ -e "$1" ] || { cat >"$hr_in"; hr_status=$?; } 2>/dev/null
    cat >/dev/null
    exit "$hr_status"
  }
}
