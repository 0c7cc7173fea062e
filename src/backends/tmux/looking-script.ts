/** Functions of POSIX sh that look at panes and commands, for the keeper's shell. */
export const LOOKING = String.raw`
# hr_stat PID: sets hr_state, hr_group, hr_front (the group in the foreground of its terminal).
hr_stat() {
  read -r hr_line 2>/dev/null <"/proc/$1/stat" || return 1
  set -f
  set -- ${"$"}{hr_line##*) }
  set +f
  hr_state=$1 hr_group=$3 hr_front=$6
}
# hr_idle PID: whether a shell stands at its prompt: it is in the foreground of its terminal, and reads; and its name then. Elsewhere than on Linux nobody knows.
hr_idle() {
  [ -d "/proc/$$" ] || { echo unknown; return; }
  hr_stat "$1" 2>/dev/null || { echo gone; return; }
  [ "$hr_group" = "$hr_front" ] && [ "$hr_state" = S ] || { echo busy; return; }
  hr_in=
  read -r hr_in 2>/dev/null <"/proc/$1/wchan"
  case $hr_in in
    ''|0|*tty*|*wait_woken*|*select*|*poll*)
      read -r hr_name <"/proc/$1/comm"
      echo "idle $hr_name" ;;
    *) echo busy ;;
  esac
}
# hr_status N...: what is known of commands, as their runners would tell it.
hr_status() {
  for hr_n; do
    hr_d=$F/$hr_n.d
    [ -s "$hr_d/pid" ] && read -r hr_pid <"$hr_d/pid" && echo "$hr_n started $hr_pid"
    if [ -s "$hr_d/code" ]; then
      read -r hr_code <"$hr_d/code" && echo "$hr_n exited $hr_code"
    elif [ -s "$hr_d/pids" ] && read -r hr_pid <"$hr_d/pids" && ! kill -0 "$hr_pid" 2>/dev/null; then
      echo "$hr_n gone"
    fi
  done
}
# hr_passed N: how far those are who pass on what a command writes: the state, bytes read and written of each.
hr_passed() {
  hr_sum=0
  for hr_pid in $(sed 1d "$F/$1.d/pids"; cat "$F/$1.d/readers"); do
    hr_stat "$hr_pid" && printf '%s ' "$hr_state"
    while read -r hr_key hr_value; do
      case $hr_key in rchar:|wchar:) printf '%s ' "$hr_value" ;; esac
    done <"/proc/$hr_pid/io"
  done 2>/dev/null
}
# hr_all_passed N: true when what was written has been passed on: each byte that the copying wrote to the pane is written by the reader too, and a single reader wrote
# its own number besides (and whoever started it may have written a byte more in its name).
hr_all_passed() {
  [ -r /proc/self/io ] || return 0
  hr_own=0
  [ -e "$F/$1.d/out-errors" ] || hr_own=$(($(wc -c <"$F/$1.d/readers")))
  awk -v own="$hr_own" '/^wchar/ { w[n++] = $2 } END { for (i = 0; i < n / 2; i++) { copied += w[i]; read += w[i + n / 2] } exit copied > 2 * (read - own) }' \
    $(sed '1d; s,.*,/proc/&/io,' "$F/$1.d/pids"; sed 's,.*,/proc/&/io,' "$F/$1.d/readers") 2>/dev/null
}
# hr_settle N: a child in the background holds the output of a command that has ended. Waits until what was written before is through, half a second at most; then the
# runner lets go of the pane.
hr_settle() {
  hr_before=none hr_i=0
  while [ $hr_i -lt 25 ]; do
    sleep 0.02 2>/dev/null || sleep 1
    hr_now=$(hr_passed "$1")
    [ "$hr_now" = "$hr_before" ] && hr_all_passed "$1" && break
    hr_before=$hr_now hr_i=$((hr_i + 1))
  done
  printf '%s\n' "$1 settled" 1<>"$F/events"
  read -r hr_pid <"$F/$1.d/pids" || return 0
  hr_i=0
  while [ $hr_i -lt 100 ] && kill -USR1 "$hr_pid" 2>/dev/null; do
    sleep 0.02 2>/dev/null || sleep 1
    hr_i=$((hr_i + 1))
  done
}
# hr_waits PID: whether somebody in the foreground of the terminal of PID waits for a person: reads from it, or has made it ready for keys or a password and waits.
hr_waits() {
  [ -d "/proc/$$" ] || { echo unknown; return; }
  hr_stat "$1" && [ "$hr_group" = "$hr_front" ] || { echo no; return; }
  hr_ready=$(stty -a <"/proc/$1/fd/0" 2>/dev/null)
  case $hr_ready in *-icanon*|*'-echo '*) hr_ready=yes ;; *) hr_ready= ;; esac
  for hr_pid in $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v front="$hr_front" '{ pid = $1; sub(/^.*\) /, ""); if ($3 == front && $1 == "S") print pid }'); do
    hr_in=
    read -r hr_in <"/proc/$hr_pid/wchan"
    case $hr_in in
      *tty*|*wait_woken*)
        set -- $(cat "/proc/$hr_pid/syscall")
        case $2 in 0x*) hr_fd=$((${"$"}2)) ;; *) hr_fd=0 ;; esac
        case $(readlink "/proc/$hr_pid/fd/$hr_fd") in /dev/pts/*|/dev/tty*) echo yes; return ;; esac ;;
      *select*|*poll*)
        [ -n "$hr_ready" ] && { echo yes; return; }
        # The read of busybox polls; a shell polls for nothing else.
        read -r hr_name <"/proc/$hr_pid/comm"
        case $hr_name in sh|ash|busybox) ;; *) continue ;; esac
        case $(readlink "/proc/$hr_pid/fd/0") in /dev/pts/*|/dev/tty*) echo yes; return ;; esac ;;
    esac
  done 2>/dev/null
  echo no
}
`;
