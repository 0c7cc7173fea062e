# Finds out whether commands can be contained, and creates the folder of a session. Prints fields, each as name, NUL,
# value, NUL. $1: Handrail's own folder, $2: the session's folder in it.

field() { printf '%s\0%s\0' "$1" "$2"; }
for program in bwrap find cmp; do
  for folder in /usr/bin /bin /usr/sbin /sbin; do
    [ -x "$folder/$program" ] && { field "$program" "$folder/$program"; break; }
  done
done
if /usr/bin/env --default-signal=TERM true 2>/dev/null; then field env /usr/bin/env; fi
for name in kernel.unprivileged_userns_clone user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns; do
  file=/proc/sys/$(printf %s "$name" | tr . /)
  [ ! -r "$file" ] || field "$name" "$(cat "$file")"
done
if [ -e /.dockerenv ] || [ -e /run/.containerenv ] || [ -n "${container-}" ]; then field container yes; fi
umask 077
if mkdir -p "$2/tmp" "$2/var-tmp" 2>/dev/null && chmod 1777 "$2/tmp" "$2/var-tmp"; then field made "$(cd -P "$2" && pwd -P)"; fi
# What sessions have left whose connection was lost long ago.
find "$1" -mindepth 1 -maxdepth 1 -mtime +2 -exec rm -rf {} + 2>/dev/null
