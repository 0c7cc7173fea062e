# Finds out whether commands can be contained, and creates the files of a session. Prints fields, each as name, NUL,
# value, NUL. $1: Handrail's own folder, $2: the session's folder in it, $3: the functions of look.sh, $4: the filter as
# a format of printf(1). The other words are those of bwrap, for a trial. Fails if nothing can be contained.

field() { printf '%s\0%s\0' "$1" "$2"; }
bwrap= made=
for program in bwrap find cmp timeout; do
  for folder in /usr/bin /bin /usr/sbin /sbin; do
    [ -x "$folder/$program" ] || continue
    field "$program" "$folder/$program"
    [ "$program" != bwrap ] || bwrap=$folder/$program
    break
  done
done
if /usr/bin/env --default-signal=TERM true 2>/dev/null; then field env /usr/bin/env; fi
for name in kernel.unprivileged_userns_clone user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns; do
  file=/proc/sys/$(printf %s "$name" | tr . /)
  [ ! -r "$file" ] || field "$name" "$(cat "$file")"
done
if [ -e /.dockerenv ] || [ -e /run/.containerenv ] || [ -n "${container-}" ]; then field container yes; fi
[ -n "$bwrap" ] || exit 1
umask 077
if mkdir -p "$2/tmp" "$2/var-tmp" && chmod 1777 "$2/tmp" "$2/var-tmp"; then
  made=$(cd -P "$2" && pwd -P)
  field made "$made"
  printf %s "$3" >"$2/look"
  # shellcheck disable=SC2059 # it is a format
  printf "$4" >"$2/filter"
  if [ -n "$bwrap" ]; then
    (
      exec 8<"$2/filter" 9>/dev/null
      shift 4
      exec "$bwrap" "$@" -- /bin/sh -c :
    ) </dev/null >/dev/null && field works yes
  fi
fi
# What sessions have left whose connection was lost long ago.
find "$1" -mindepth 1 -maxdepth 1 -mtime +2 -exec rm -rf {} +
[ -n "$made" ]
