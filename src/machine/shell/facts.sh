# Prints facts about the system, each as name, NUL, value, NUL. `programs`: the programs to look for.

LC_ALL=C; export LC_ALL
field() { printf '%s\0%s\0' "$1" "$2"; }
field system "$(uname -s)"
field machine "$(uname -m)"
field folder "$(pwd -P)"
field home "$(cd -P -- "${HOME:-/}" 2>/dev/null && pwd -P)"
field temporary "$(cd -P -- "${TMPDIR:-/tmp}" 2>/dev/null && pwd -P || echo /tmp)"
field path "$PATH"
if [ "$(stat -c %F / 2>/dev/null)" = directory ]; then field stat gnu
elif [ "$(stat -f %HT / 2>/dev/null)" = Directory ]; then field stat bsd; fi
for program in $programs; do
  if command -v "$program" >/dev/null 2>&1; then field "program $program" ""; fi
done
field names "$(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p')"
