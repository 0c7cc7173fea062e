/** The mark of a process stands in this variable of its environment, and of all that it starts. */
export const MARK_VARIABLE = "HANDRAIL_PROCESS";

/**
 * Functions for starting, finding and ending processes there. Marks consist of letters, digits, ":", "_" and "-", since they stand in a pattern of sed(1). A process is told from a
 * later one of the same number by its start (field 22 of /proc/PID/stat); where there is no /proc, the start is empty, and only descendants are found, by ps(1).
 */
export const PROCESS_FUNCTIONS = `
hr_sh=/bin/sh; [ -x "$hr_sh" ] || hr_sh=$(command -v sh)

# Words that run a program in a session of its own, where that can be had. (No function: with that the shell itself would have the program's streams meanwhile.)
if hr_session=$(command -v setsid); then :
elif hr_session=$(command -v perl); then hr_session="$hr_session -MPOSIX -e POSIX::setsid();exec{\\$ARGV[0]}@ARGV"
elif hr_session=$(command -v python3); then
hr_session="$hr_session -c __import__('os').setsid();__import__('os').execv(__import__('sys').argv[1],__import__('sys').argv[1:])"
else hr_session=; fi

# FOLDER PROGRAM: goes there and finds the program (hr_found). Fails with 1: no folder, 2: no entry or another folder, 3: no program, 4: not executable.
hr_ready() {
  cd -P -- "$1" 2>/dev/null && [ "$PWD" = "$1" ] || { [ -d "$1" ] && return 2; return 1; }
  case $2 in
    */*) hr_found=$2; [ -e "$2" ] || return 3; [ -f "$2" ] && [ -x "$2" ] || return 4; return 0 ;;
  esac
  hr_found= hr_ifs=$IFS IFS=:
  set -f
  for hr_dir in $PATH; do
    [ -f "$hr_dir/$2" ] || continue
    hr_found=$hr_dir/$2
    [ -x "$hr_found" ] && break
  done
  set +f
  IFS=$hr_ifs
  [ -n "$hr_found" ] || return 3
  [ -x "$hr_found" ] || return 4
}

# What a command's own shell does before it becomes the command: tells its number on descriptor 8.
hr_inner='printf "\\001%s started %s\\n" "$1" "$$" >&8; shift; exec "$@" 8>&-'

# CODE FIRST: tells the exit code. When the first shell has gone, everything was being ended, and the code says nothing.
hr_exited() {
  if kill -0 "$2" 2>/dev/null; then hr_tell exited "$1"; else hr_tell orphaned "$1"; fi
}

# Copies stdin to stdout. When the copying cat is ended, the rest goes nowhere and nobody waits for it.
hr_copy() {
  {
    cat <&5 5<&- 6>&- 8>&- 9>&- &
    hr_tell copying $! >&8
    wait $!
    [ $? -le 128 ] || { cat <&5 5<&- 6>&- 8>&- 9>&- >/dev/null & }
  } 5<&0 </dev/null 2>/dev/null
}

# BLOCKS: keeps so many blocks of 512 bytes of stdin in the file "out", or what the disk takes, and notes how many bytes came after them.
hr_spool() {
  ( ulimit -c 0; ulimit -f "$1"; exec cat ) >out
  hr_rest=$(wc -c)
  mv -f filling "dropped-$((hr_rest))"
}

# PID START: lives, and is not one that has only not been reaped.
hr_lives() {
  [ -r /proc/self/stat ] || { kill -0 "$1" 2>/dev/null; return; }
  hr_line=
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null || return 1
  case $hr_line in *") "[ZX]*) return 1 ;; esac
  [ -n "$2" ] || return 0
  hr_begun \${hr_line##*) }
  [ -z "$hr_start" ] || [ "$hr_start" = "$2" ]
}
hr_begun() { hr_start=; [ $# -lt 20 ] || { shift 19; hr_start=$1; }; }

# PID: "PID START", START maybe empty.
hr_who() {
  hr_line= hr_start=
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null && hr_begun \${hr_line##*) }
  printf '%s %s\\n' "$1" "$hr_start"
}

# Every process that has not ended: number, parent, group, session, start.
hr_table() {
  if [ -r /proc/self/stat ]; then
    cat /proc/[0-9]*/stat 2>/dev/null |
      LC_ALL=C sed -n 's/^\\([0-9]*\\) (.*) [^ZX ] \\([0-9]*\\) \\([0-9]*\\) \\([0-9]*\\) \\(-\\{0,1\\}[0-9]* \\)\\{15\\}\\([0-9]*\\) .*/\\1 \\2 \\3 \\4 \\6/p'
  else
    ps -A -o pid= -o ppid= -o pgid= -o stat= 2>/dev/null | sed -e '/Z/d' -e 's/[^0-9 ].*/0 0/'
  fi
}

# MARK: the numbers of those that have it in their environment. (Not by grep: that of busybox reads a line to its first NUL.)
hr_marked() {
  [ -r /proc/self/environ ] || return 0
  tail -n +1 /proc/[0-9]*/environ 2>/dev/null | tr '\\000' '\\n' |
    LC_ALL=C sed -n -e '/^==> \\/proc\\/[0-9]*\\/environ <==$/{' -e 's/[^0-9]//g' -e h -e d -e '}' -e "/$1/{" -e g -e p -e '}'
}

# Puts into hr_set the processes that live of hr_mark: those with the mark, hr_leader, its group, its session, and all that descends from one of them. Who was found once
# stays one of them (hr_known), whoever becomes its parent.
hr_living() {
  hr_all=$(hr_table)
  hr_with=" $(hr_marked "$hr_mark" | tr '\\n' ' ')"
  hr_set=' '
  while :; do
    hr_was=$hr_set
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

# Sleeps a little. hr_slept: about how many hundredths of a second since it was 0 (by /proc/uptime, where there is one).
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

# MARK [LEADER]: ends them: TERM, two seconds, KILL until none is left.
hr_end() {
  hr_mark=$1 hr_leader=\${2:-none} hr_known=' ' hr_slept=0
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

# MARK [LEADER]: the same in the background, so that it is done whatever becomes of the connection. Says who does it.
hr_kill() {
  ( trap '' HUP INT TERM; hr_end "$1" "\${2-}" ) </dev/null >/dev/null 2>&1 &
  printf '%s\\n' $!
}

# KILLER MARK [LEADER]: 0 when he has ended all of them, 1 when he has given up, 2 while he is at it.
hr_left_of() {
  hr_lives "$1" '' && return 2
  hr_mark=$2 hr_leader=\${3:-none} hr_known=' '
  hr_living
  [ "$hr_set" = ' ' ]
}

# The first shell has come to its end, so the connection has: in a session of its own, out of reach for whoever ends what is left of this one, hr_leave sees to it.
hr_left() {
  trap - EXIT HUP
  printf '%s\\n' "$hr_text" 'hr_leave "$@"' |
    $hr_session "$hr_sh" -s "$hr_id" "$hr_lease" "$hr_wait" $$ "$hr_jobs" >/dev/null 2>&1
}

# ID LEASE SECONDS FIRST [FOLDER]: ends what ran in the foreground, and the rest when nobody has claimed it in time.
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

# ID LEASE SECONDS [FOLDER]: from now on this shell is the first one. Says who it is, and who has started it.
hr_arm() {
  hr_id=$1 hr_lease=$2 hr_wait=$3 hr_jobs=\${4-}
  [ -z "$hr_jobs" ] || hr_claim "$hr_jobs"
  hr_who $$
  hr_who $PPID
}
hr_claim() {
  hr_jobs=$1
  rm -f "$1"/claim-*
  [ -d "$1" ] && : >"$1/claim-$hr_id"
}

# PID START PARENT START: ends what sits there still of a lost connection: its first shell, and the sshd that had started it, unless this shell comes from the same.
hr_bury() {
  [ -n "$2" ] && hr_lives "$1" "$2" && kill -s KILL "$1" 2>/dev/null
  [ -n "$4" ] && [ "$3" != $PPID ] && hr_lives "$3" "$4" || return 0
  hr_line=
  { IFS= read -r hr_line <"/proc/$3/comm"; } 2>/dev/null
  case $hr_line in sshd*) kill -s KILL "$3" 2>/dev/null ;; esac
  return 0
}

# FOLDER: the notes on a job, with "gone" when it has ended and that is not noted, and on a second line the size of its output.
hr_notes() {
  hr_names= hr_pid=
  for hr_file in "$1"/pid-* "$1"/exited-* "$1"/dropped-* "$1"/holder-*; do
    [ -e "$hr_file" ] || continue
    hr_file=\${hr_file##*/}
    hr_names="$hr_names$hr_file "
    case $hr_file in pid-*) hr_pid=\${hr_file#pid-} ;; esac
  done
  case $hr_names in
    *exited-*) ;;
    *) hr_lives "\${hr_pid%%-*}" "\${hr_pid#*-}" || hr_names="$hr_names gone" ;;
  esac
  hr_size() { hr_size=\${5:-0}; }
  hr_size $(LC_ALL=C ls -ln "$1/out" 2>/dev/null)
  printf '%s\\n%s\\n' "$hr_names" "$hr_size"
}
`;
