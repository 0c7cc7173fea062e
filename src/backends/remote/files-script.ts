import type { Facts } from "./facts.ts";
import { FIND_FUNCTIONS } from "./find-script.ts";
import { WRITE_FUNCTIONS } from "./write-script.ts";

/** What is known of a file: of one at a path, of one that is held open, and of both. */
const KNOW_FUNCTIONS = `
hr_file_info() {
  case $hr_form in
  gnu) stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' "$1" ;;
  bsd) stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' "$1" ;;
  *)
    hr_line=$(TZ=UTC0 ls -ldn "$1") && hr_inode=$(ls -di "$1") || return
    printf '%s inode %s\\n' "\${hr_line%% ./*}" "\${hr_inode%% ./*}" ;;
  esac
}

hr_file_is_file() { [ "$hr_form" = bsd ] || [ -f /dev/fd/3 ]; }

hr_file_held() {
  case $hr_form in
  gnu) stat -L -c '%a %h %u %g %s %f %d:%i %Y %y %w' /dev/fd/0 <&3 ;;
  bsd) stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' <&3 ;;
  *)
    hr_line=$(TZ=UTC0 ls -ldnL /dev/fd/0 <&3) && hr_inode=$(ls -diL /dev/fd/0 <&3) || return
    printf '%s inode %s\\n' "\${hr_line%% /*}" "\${hr_inode%% /*}" ;;
  esac
}

hr_file_self() {
  hr_self=
  if cd -P /proc/self 2>/dev/null; then hr_self="\${PWD#/proc/} $$"; fi
  printf '%s\\0' "$hr_self"
}

hr_file_free() {
  hr_line=
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null || return 0
  set -- "$1" "$2" \${hr_line##*) }
  # Who has it open runs programs that write: their output must not come behind the end of the answer.
  [ "$4" != "$2" ] || [ -L "/proc/$1/fd/3" ] || kill -s KILL "$1"
}

hr_file_both() {
  case $hr_form in
  gnu)
    # To a busybox "-" is a name, and not stdin.
    if [ -e - ] || [ -L - ]; then hr_file_info "$1" && hr_file_held
    else stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' "$1" - <&3 2>/dev/null || hr_file_held; fi ;;
  *) hr_file_info "$1" && hr_file_held ;;
  esac
}
`;

/** What is asked for: each answers once. */
const ASKED_FUNCTIONS = `
hr_file_path() { hr_file_real "$1"; hr_file_say; printf '\\0'; }

hr_file_stat() {
  hr_file_find "$1" "$2" && { [ -e "./$hr_name" ] || hr_word=missing; }
  hr_file_say
  [ "$hr_word" != ok ] || hr_file_info "./$hr_name" 2>/dev/null
  printf '\\0'
}

hr_file_open() {
  hr_file_self
  if hr_file_find "$1" "$2" && hr_file_regular; then
    hr_word=failed
    {
      hr_word=changed
      if hr_file_is_file; then
        hr_word=ok
        hr_file_say
        hr_file_both "./$hr_name"
        printf '\\0'
        head -c "$3" <&3
      fi
    } 3<"./$hr_name"
  fi
  [ "$hr_word" = ok ] || { hr_file_say; printf '\\0'; }
}

hr_file_read() {
  hr_file_self
  hr_real=$1 hr_word=missing
  if [ -f "$1" ]; then
    hr_word=failed
    {
      hr_word=missing
      if hr_file_is_file; then
        hr_word=ok
        hr_file_say
        hr_file_held
        printf '\\0'
        case $5 in
        blocks) dd bs="$2" skip="$3" count="$4" <&3 2>/dev/null ;;
        # What the kernel makes up comes in shorter pieces than were asked for.
        *) dd bs="$2" skip="$3" <&3 2>/dev/null | head -c "$(($2 * $4))" ;;
        esac
      fi
    } 3<"$1"
  fi
  [ "$hr_word" = ok ] || { hr_file_say; printf '\\0'; }
}

hr_file_list() {
  if hr_file_into "$1" "$2" && [ ! -r . ]; then hr_word=denied; fi
  hr_file_say
  [ "$hr_word" = ok ] || return
  case $3 in
  find)
    find . ! -name . -prune -printf '%f\\0%y\\0%s\\0%T@\\0%l\\0' 2>/dev/null && { printf '/\\0'; return; }
    printf '/other\\0' ;;
  esac
  hr_way=$3
  set +f
  set -- ./.[!.]*
  [ -e "$1" ] || [ -L "$1" ] || shift
  set -- ./..?* "$@"
  [ -e "$1" ] || [ -L "$1" ] || shift
  set -- ./* "$@"
  [ -e "$1" ] || [ -L "$1" ] || shift
  [ $# -gt 0 ] || return
  case $hr_way in each) hr_file_each "$@" ;; *) hr_file_glob "$@" ;; esac
}

hr_file_each() {
  for hr_one; do
    printf '%s\\0' "$hr_one"
    hr_file_info "$hr_one" 2>/dev/null
    printf '\\0'
  done
  printf '/\\0'
  for hr_one; do
    [ ! -L "$hr_one" ] || { hr_file_link "$hr_one" 2>/dev/null && printf '%s\\0%s\\0' "$hr_one" "$hr_target"; }
  done
}

hr_file_glob() {
  printf '%s\\0' "$@"
  printf '/\\0'
  printf '%s\\0' "$@" | case $hr_form in
  gnu) xargs -0 stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' 2>/dev/null ;;
  bsd) xargs -0 stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' 2>/dev/null ;;
  esac
  printf '\\0'
  hr_file_links "$@"
  printf '/\\0'
  hr_file_links "$@" | case $hr_form in
  gnu) xargs -0 stat -c %N 2>/dev/null ;;
  bsd) xargs -0 stat -f "'%N' -> '%Y'" 2>/dev/null ;;
  esac
  printf '\\0'
}

hr_file_links() {
  for hr_one; do
    [ ! -L "$hr_one" ] || printf '%s\\0' "$hr_one"
  done
}

hr_file_remove() {
  if hr_file_into "$1" "$2"; then
    if [ -e "./$3" ] || [ -L "./$3" ]; then
      rm -rf "./$3"
      if [ -e "./$3" ] || [ -L "./$3" ]; then hr_word=failed; fi
    else hr_word=missing; fi
  fi
  hr_file_say
  printf '\\0'
}
`;

/**
 * What files need there, as functions of a POSIX shell. They are called in a subshell that began with `fileSettings`, so variables need not be
 * local.
 *
 * A folder is entered with `cd -P`, and only when `PWD` says that this is where one is does a name in it get touched, as `./NAME`: so no link that
 * was swapped in on the way is followed, and no name is taken for an option. An answer is: what programs complained of, NUL, a word, NUL, the real
 * path, NUL, and what the function tells beyond. Where a file is opened to be read, who does it stands before all that: "PID PARENT", NUL.
 * The words: ok, missing, not-a-folder, denied, circle, changed, failed, short, `kind KIND`, `owner UID:GID`.
 */
export const FILE_FUNCTIONS = `
unalias -a 2>/dev/null
unset -f cd printf command ls stat cat head tail dd mv rm mkdir chmod chown readlink find xargs sed kill umask trap 2>/dev/null
${FIND_FUNCTIONS}${KNOW_FUNCTIONS}${ASKED_FUNCTIONS}${WRITE_FUNCTIONS}`;

/** What each script about files begins with; `form` is which stat(1) there is. What a profile may have set is put right. */
export function fileSettings(form: Facts["stat"]): string {
  return `hr_file_begin ${form}`; // short: bash reads a script byte by byte
}
