# Sends a signal to an sshd and the processes of its connections, or to the latter alone. What users run over them is not touched.
#
# usage: sh signal-sshd.sh SIGNAL LISTENER all|connections
signal=$1 listener=$2 whom=$3

# An sshd has a process or two for each connection: children and grandchildren, until the user's program.
connections() {
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
    case $(cat "/proc/$child/comm" 2>/dev/null) in
      sshd*) echo "$child" && connections "$child" ;;
    esac
  done
}

# While it is stopped, no connection is added behind our back.
kill -STOP "$listener" 2>/dev/null || exit 0
of=$(connections "$listener")
if [ -n "$of" ]; then kill "-$signal" $of; fi
if [ "$whom" = connections ]; then signal=CONT; fi
kill "-$signal" "$listener"
