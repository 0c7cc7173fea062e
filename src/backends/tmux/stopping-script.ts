/**
 * Functions of POSIX sh that end commands, for the keeper's shell. Who belongs to a command: who has its mark in the environment, their descendants, and all of
 * the session that the command leads. Marks and sessions are only to be seen on Linux; elsewhere there are the descendants.
 */
export const STOPPING = String.raw`
# hr_marked MARK: "m PID" lines of those that have it in their environment. (Not by grep: that of busybox reads a line to its first NUL.)
hr_marked() {
  tail -n +1 /proc/[0-9]*/environ | tr '\000' '\n' | LC_ALL=C sed -n -e '/^==> \/proc\/[0-9]*\/environ <==$/{' -e 's/[^0-9]//g' -e h -e d -e '}' -e "/$1/{" -e 'g' -e 's/^/m /p' -e '}'
}
# hr_family MARK PID SESSION KNOWN: those that live, as "PID:START" words. Found once, a process stays one of them.
hr_family() {
  if [ -d "/proc/$$" ]; then
    { hr_marked "$1"; cat /proc/[0-9]*/stat; } 2>/dev/null
  else
    ps -A -o pid= -o ppid= | awk '{ print $1, "() S", $2, "0 0" }'
  fi | awk -v pid="$2" -v session="$3" -v known="$4" '
    BEGIN { count = split(known, each, " "); for (i = 1; i <= count; i++) before[each[i]] = 1; if (pid != "") member[pid] = 1 }
    $1 == "m" { member[$2] = 1; next }
    { id = $1; sub(/^.*\) /, ""); if ($1 == "Z" || $1 == "X") next
      parent[id] = $2; start[id] = $20
      if ((id ":" $20) in before || (session != "" && $4 == session)) member[id] = 1 }
    END {
      do { more = 0; for (id in parent) if (!(id in member) && (parent[id] in member)) { member[id] = 1; more = 1 } } while (more)
      for (id in parent) if (id in member) printf "%s:%s ", id, start[id]
    }'
}
# hr_signal SIGNAL FAMILY
hr_signal() {
  hr_name=$1
  shift
  for hr_each in $*; do kill "-$hr_name" "${"$"}{hr_each%%:*}" 2>/dev/null; done
}
# hr_end MARK PID SESSION: TERM, two seconds of grace, KILL. Says "left" when some go on. (hr_i: hundredths of a second; looking takes its time, so it is done less often after a while.)
hr_end() {
  hr_living=$(hr_family "$1" "$2" "$3" "")
  hr_signal TERM "$hr_living"
  hr_i=0
  while hr_living=$(hr_family "$1" "$2" "$3" "$hr_living"); [ -n "$hr_living" ] && [ $hr_i -lt 400 ]; do
    [ $hr_i -ge 200 ] && hr_signal KILL "$hr_living"
    if [ $hr_i -lt 20 ] && sleep 0.02 2>/dev/null; then hr_i=$((hr_i + 4))
    elif sleep 0.1 2>/dev/null; then hr_i=$((hr_i + 12))
    else sleep 1; hr_i=$((hr_i + 100)); fi
  done
  [ -z "$hr_living" ] || printf left
}
`;
