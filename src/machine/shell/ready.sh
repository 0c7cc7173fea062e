# The function that prepares the start of a command.

# hr_ready FOLDER PROGRAM: enters the folder and finds the program (hr_found). Fails with 1: no such folder, 2: the
# folder may not be entered or is another one, 3: no such program, 4: not executable.
hr_ready() {
  cd -P -- "$1" 2>/dev/null && [ "$PWD" = "$1" ] || { [ -d "$1" ] && return 2; return 1; }
  case $2 in
    */*) hr_found=$2; [ -e "$2" ] || return 3; [ -f "$2" ] && [ -x "$2" ] || return 4; return 0 ;;
  esac
  hr_found= hr_ifs=$IFS IFS=:
  set -f
  for hr_dir in $PATH; do
    hr_dir=${hr_dir:-.} # an empty folder is the current one
    [ -f "$hr_dir/$2" ] || continue
    hr_found=$hr_dir/$2
    [ -x "$hr_found" ] && break
  done
  set +f
  IFS=$hr_ifs
  [ -n "$hr_found" ] || return 3
  [ -x "$hr_found" ] || return 4
}
