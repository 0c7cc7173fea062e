# Functions that answer questions about files of a remote system. Each prints one answer, then hr_z. They are called in
# a subshell that began with `hr_file_begin` (path.sh), so LC_ALL is C and variables need not be local.

hr_z() { printf '\n%s\n' "$hr_end_of_answer"; }

# k PATH: the kind, links not followed. t PATH: the kind, links followed, and the real path; nothing if nothing is there.
k() { if [ -L "$1" ]; then printf other; else hr_kind "$1"; fi; hr_z; }
t() {
  if [ -e "$1" ]; then
    hr_kind "$1"
    printf '\n'
    if hr_file_real "$1"; then printf %s "$hr_real"; fi
    cd /
  fi
  hr_z
}
hr_kind() { if [ -d "$1" ]; then printf folder; elif [ -f "$1" ]; then printf 'file'; elif [ -e "$1" ]; then printf other; fi; }

# n FOLDER: the names in a folder, each with a NUL.
n() {
  if cd -P "$1" 2>/dev/null; then
    set +f
    for hr_one in * .[!.]* ..?*; do
      if [ -e "./$hr_one" ] || [ -L "./$hr_one" ]; then printf '%s\0' "$hr_one"; fi
    done
    set -f
    cd /
  fi
  hr_z
}

# r MOST PATH: "+" and the content of a regular file, up to one byte more than MOST.
r() { if [ -f "$2" ] && [ -r "$2" ]; then printf +; head -c "$(($1 + 1))" "$2"; fi; hr_z; }

# s PATH: the size of a file.
s() { if [ -f "$1" ] && [ -r "$1" ]; then wc -c <"$1"; fi; hr_z; }

# l PATH: the path with its links followed, as far as it exists.
l() { if hr_file_real "$1"; then printf %s "$hr_real"; fi; cd /; hr_z; }

# f SECONDS WORD...: the paths that find(1) prints, each with a NUL; "!" at the end if it took longer.
f() {
  hr_seconds=$1
  shift
  timeout -s KILL "$hr_seconds" find "$@" 2>/dev/null
  [ $? -lt 124 ] || printf '!'
  hr_z
}

# u: the names of sockets on which a process listens, each with a NUL. A name may be relative to any folder. Those in
# folders that commands do not see are left out, unless they are in the workspace (hr_workspace).
u() {
  if [ -r /proc/net/unix ]; then
    sed -n 's/^[^ ]* [^ ]* [^ ]* 00010000 [^ ]* [^ ]* *[^ ]* \([^@]\)/\1/p' /proc/net/unix | while IFS= read -r hr_one; do
      case $hr_one in
      "$hr_workspace"/*) ;;
      /run/* | /var/run/* | /tmp/* | /var/tmp/*) continue ;;
      esac
      case $hr_one in /*) [ -S "$hr_one" ] || continue ;; esac
      printf '%s\0' "$hr_one"
    done
  fi
  hr_z
}
