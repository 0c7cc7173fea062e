# Functions that inspect panes and the commands in them.

# hr_stat PID: sets hr_state, hr_group, hr_front (the group in the foreground of its terminal).
hr_stat() {
  read -r hr_line 2>/dev/null <"/proc/$1/stat" || return 1
  set -f
  # shellcheck disable=SC2086 # fields
  set -- ${hr_line##*) }
  set +f
  hr_state=$1 hr_group=$3 hr_front=$6
}
# hr_idle PID: prints "idle NAME" for a shell at its prompt (in the foreground of its terminal, and reading), "busy",
# "gone", or "unknown" on other systems than Linux.
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
# hr_status N...: prints the state of commands, in the words of runner.sh.
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
# hr_passed N: prints the state and the bytes read and written of each process that copies the output of a command.
# shellcheck disable=SC2013 # process numbers
hr_passed() {
  hr_sum=0
  for hr_pid in $(sed 1d "$F/$1.d/pids"; cat "$F/$1.d/readers"); do
    hr_stat "$hr_pid" && printf '%s ' "$hr_state"
    while read -r hr_key hr_value; do
      case $hr_key in rchar:|wchar:) printf '%s ' "$hr_value" ;; esac
    done <"/proc/$hr_pid/io"
  done 2>/dev/null
}
# hr_all_passed N: true when all output has been copied: the reader has written every byte that the copier wrote to the
# pane. A single reader has also written its own PID, and perhaps one byte of its starter.
# shellcheck disable=SC2046 # paths without blanks
hr_all_passed() {
  [ -r /proc/self/io ] || return 0
  hr_own=0
  [ -e "$F/$1.d/out-errors" ] || hr_own=$(($(wc -c <"$F/$1.d/readers")))
  awk -v own="$hr_own" '/^wchar/ { w[n++] = $2 }
    END { for (i = 0; i < n / 2; i++) { copied += w[i]; read += w[i + n / 2] } exit copied > 2 * (read - own) }' \
    $(sed '1d; s,.*,/proc/&/io,' "$F/$1.d/pids"; sed 's,.*,/proc/&/io,' "$F/$1.d/readers") 2>/dev/null
}
# hr_settle N: for a command that has ended while a background child holds its output open. Waits until the output so
# far is copied, at most half a second; then the runner frees the pane.
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
# hr_waits PID: prints whether a foreground process of the terminal of PID waits for input: it reads from the terminal,
# or has prepared it for keys or a password and sleeps. "yes", "no" or "unknown".
# shellcheck disable=SC2013 # process numbers
hr_waits() {
  [ -d "/proc/$$" ] || { echo unknown; return; }
  hr_stat "$1" && [ "$hr_group" = "$hr_front" ] || { echo no; return; }
  hr_ready=$(stty -a <"/proc/$1/fd/0" 2>/dev/null)
  case $hr_ready in *-icanon*|*'-echo '*) hr_ready=yes ;; *) hr_ready= ;; esac
  for hr_pid in $(cat /proc/[0-9]*/stat 2>/dev/null |
    awk -v front="$hr_front" '{ pid = $1; sub(/^.*\) /, ""); if ($3 == front && $1 == "S") print pid }'); do
    hr_in=
    read -r hr_in <"/proc/$hr_pid/wchan"
    case $hr_in in
      *tty*|*wait_woken*)
        # shellcheck disable=SC2046 # fields
        set -- $(cat "/proc/$hr_pid/syscall")
        case $2 in 0x*) hr_fd=$(($2)) ;; *) hr_fd=0 ;; esac
        case $(readlink "/proc/$hr_pid/fd/$hr_fd") in /dev/pts/*|/dev/tty*) echo yes; return ;; esac ;;
      *select*|*poll*)
        [ -n "$hr_ready" ] && { echo yes; return; }
        # The `read` of busybox polls; a shell polls for nothing else.
        read -r hr_name <"/proc/$hr_pid/comm"
        case $hr_name in sh|ash|busybox) ;; *) continue ;; esac
        case $(readlink "/proc/$hr_pid/fd/0") in /dev/pts/*|/dev/tty*) echo yes; return ;; esac ;;
    esac
  done 2>/dev/null
  echo no
}
