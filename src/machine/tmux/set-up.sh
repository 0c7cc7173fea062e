# Creates the folder of a backend ($F), the FIFO for the reports of runners, and the environment of commands: that of
# this shell without what belongs to a terminal or to this process. Removes what dead backends left more than a day ago.
# `hr_umask` is the umask of commands. Prints the real folder and the path of sh.

hr_remove_old() {
  for hr_old in "${TMPDIR:-/tmp}"/handrail.*; do
    [ -f "$hr_old/helper" ] && [ ! -h "$hr_old" ] && [ -O "$hr_old" ] || continue
    read -r hr_pid <"$hr_old/helper" && kill -0 "$hr_pid" 2>/dev/null && continue
    [ -n "$(find "$hr_old" -prune -mtime +0 2>/dev/null)" ] && rm -rf "$hr_old"
  done
}
[ -d "$F" ] || { mkdir "$F" && hr_remove_old 2>/dev/null; }
[ -p "$F/events" ] || mkfifo "$F/events"
[ -s "$F/environment" ] || (
  unset TERM TMUX TMUX_PANE HANDRAIL_PROCESS PWD OLDPWD SHLVL _
  { printf 'umask %s\n' "$hr_umask"; export -p; } >"$F/environment"
)
printf '%s\n' "$PATH" >"$F/path"
exec 4<>"$F/events"
cd -P "$F" && F=$PWD && printf '%s\n%s\n' "$F" "$(command -v sh)" && [ -p "$F/events" ] && [ -f "$F/environment" ]
