# The beginning of a command's file `start`, which the program replaces. Its environment has only the mark and the
# terminal. A missing program or folder is reported, and nothing starts.

hr_path=$PATH
# shellcheck source=/dev/null
. "$F/environment"
hr_say() { { printf '%s\n' "$n $*" 1<>"$F/events"; } 2>/dev/null; }
hr_fail() { hr_say failed "$1"; printf 'handrail: %s\n' "$3" >&2; exit "$2"; }
# hr_in FOLDER [real]: enters a folder.
hr_in() {
  if cd -P "$1" 2>/dev/null; then
    [ -z "$2" ] || [ "$PWD" = "$1" ] || hr_fail folder 126 "$1 leads to another folder now"
  else
    [ -d "$1" ] && hr_fail closed 126 "the folder $1 may not be entered"
    hr_fail folder 126 "there is no folder $1"
  fi
}
hr_start() {
  case $1 in
    */*)
      [ -f "$1" ] || hr_fail program 127 "there is no program $1"
      [ -x "$1" ] || hr_fail executable 126 "$1 is not executable" ;;
    *) hr_find "$1" || hr_fail program 127 "there is no program $1 on the PATH" ;;
  esac
  [ -e "$d/stopped" ] && exit 143
  printf '%s\n' "$$" >"$d/pid"
  hr_say started "$$"
  unset F d n hr_path 2>/dev/null
  exec "$@"
}
hr_find() {
  case $1 in ''|-*) return 1 ;; esac
  set -f
  IFS=:
  for hr_folder in $PATH; do
    [ -f "$hr_folder/$1" ] && [ -x "$hr_folder/$1" ] && { set +f; unset IFS; return 0; }
  done
  set +f
  unset IFS
  return 1
}
