# Types a short line into a pane. The line runs a file with the text $hr_text. The file's arguments are how many lines
# up, and in which column, the line begins. $hr_pane is the pane, $hr_name the end of the file's name, $@ the tmux
# program.

# shellcheck disable=SC2154 # set before
umask 077
hr_file=${TMPDIR:-/tmp}/handrail.$hr_name
set -C
printf %s "$hr_text" >"$hr_file" || exit
read -r hr_x hr_width hr_mode <<END
$("$@" display-message -p -t "$hr_pane" '#{cursor_x} #{pane_width} #{pane_in_mode}')
END
[ -n "$hr_mode" ] || { rm -f "$hr_file"; echo "there is no such pane"; exit 1; }
[ "$hr_mode" = 0 ] || "$@" send-keys -t "$hr_pane" -X cancel
hr_line=" sh $hr_file 99 999"
hr_up=$(((hr_x + ${#hr_line}) / hr_width + 1))
hr_line=$(printf "%-${#hr_line}s." " sh $hr_file $hr_up $((hr_x + 1))")
"$@" send-keys -t "$hr_pane" -l "${hr_line%.}" && "$@" send-keys -t "$hr_pane" Enter
