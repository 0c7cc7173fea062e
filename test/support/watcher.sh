# Keeps something going for the tests until who asked for it is done (TERM) or the test run has ended, however that ended.
#
# usage: sh watcher.sh RUN FOLDER BEGIN END
#   RUN     the run's folder; its main process holds RUN/alive, a FIFO, open for writing as long as it lives
#   FOLDER  files of what is kept; removed at the end
#   BEGIN   script that begins it; a process it leaves in the background it names as $child
#   END     script that ends it
# Out: $child, or an empty line, once it has begun. While this runs there is a file of its process id in RUN/watchers.
set -u
run=$1 folder=$2 begin=$3 end=$4
mark=$run/watchers/$$
: >"$mark"
# Opening a FIFO waits for its other end. With that open here it cannot, even when the run ends this moment.
exec 3<>"$run/alive" 4<"$run/alive" 3>&-
cat <&4 >/dev/null 2>&1 &
waiter=$!
trap 'kill "$waiter" 2>/dev/null' TERM
exec 4<&-

child=
eval "$begin"
echo "$child"
exec >/dev/null 2>&1

wait "$waiter"
ended=$?
trap '' TERM
eval "$end"
tries=0
until rm -rf "$folder" || [ "$tries" -ge 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
rm -f "$mark"
# The run is over: the last one tidies up after it.
if [ "$ended" -eq 0 ] && rmdir "$run/watchers"; then rm -rf "$run"; fi
