# Functions that find ripgrep, or store ours on the remote host. Each is called in a subshell and ends it.

# hr_ripgrep_probe: 0 if ripgrep is installed and supports all options that are used (13.0.0 does).
hr_ripgrep_probe() {
  always="--no-config --no-require-git --no-ignore-global --no-ignore-dot --color=never --null --hidden --glob=!.git"
  always="$always --type-add=meant:*.x --type=meant"
  set -f
  # shellcheck disable=SC2086 # a list of words
  rg $always --with-filename --line-number --no-heading --no-context-separator --max-columns=9 --max-columns-preview \
    --ignore-case --crlf --context=1 --max-count=1 --sort=path --text --regexp=a - </dev/null >/dev/null 2>&1
  [ $? = 1 ]
}

# hr_ripgrep_look HOME HASH: prints the path of our ripgrep; 0 if it is there and runs.
hr_ripgrep_look() {
  case ${XDG_CACHE_HOME-} in /*) folder=$XDG_CACHE_HOME/handrail ;; *) folder=$1/.cache/handrail ;; esac
  (umask 077; mkdir -p "$folder") 2>/dev/null && [ -O "$folder" ] || exit 1
  find "$folder" -name '.rg-*.part' -mtime +1 -exec rm -f {} + >/dev/null 2>&1
  printf %s "$folder/rg-$2"
  "$folder/rg-$2" --version >/dev/null 2>&1
}

# hr_ripgrep_take PATH HASH LENGTH UNZIP PART: stores LENGTH bytes of stdin at PATH, through PART. Always reads all of
# stdin: the shell would run the rest. An incomplete file is not used.
hr_ripgrep_take() {
  umask 077
  # shellcheck disable=SC2086 # a command with its options
  hr_file_take "$3" | { $4 >"$5" || cat >/dev/null; } 2>/dev/null
  sum=$( (sha256sum <"$5") 2>/dev/null)
  [ "${sum%% *}" = "$2" ] && chmod 700 "$5" && "$5" --version >/dev/null 2>&1 && mv -f "$5" "$1" && exit 0
  rm -f "$5"
  exit 1
}
