import type { Facts } from "./facts.ts";
import { WRITE_FUNCTIONS } from "./write-script.ts";

/** Where they are found: which file system object a path leads to, and what is known of it. */
const FIND_FUNCTIONS = `
hr_file_begin() {
  LC_ALL=C hr_form=$1
  export LC_ALL
  unset IFS TIME_STYLE BLOCK_SIZE LS_BLOCK_SIZE QUOTING_STYLE
  set -f +e +u +C
}

hr_file_say() { printf '\\0%s\\0%s\\0' "$hr_word" "$hr_real"; }

hr_file_link() {
  if command -v readlink >/dev/null; then hr_target=$(readlink "$1" && printf x)
  else
    hr_target=$(ls -ld "$1" && printf x)
    hr_target=\${hr_target#*" $1 -> "}
  fi
  hr_target=\${hr_target%?x}
}

hr_file_walk() {
  hr_todo=\${1#/}/ hr_real= hr_gone=0 hr_links=0 hr_word=ok
  cd /
  while [ -n "$hr_todo" ]; do
    hr_part=\${hr_todo%%/*}
    hr_todo=\${hr_todo#*/}
    case $hr_part in
    '' | .) continue ;;
    ..)
      hr_real=\${hr_real%/*}
      if [ "$hr_gone" -gt 0 ]; then hr_gone=$((hr_gone - 1))
      else cd -P .. 2>/dev/null || { hr_word=denied; return 1; }; fi
      continue ;;
    esac
    if [ "$hr_gone" -gt 0 ]; then
      hr_gone=$((hr_gone + 1)) hr_real=$hr_real/$hr_part
    elif [ -L "./$hr_part" ]; then
      [ "$2" = follow ] || { hr_word=changed; return 1; }
      hr_links=$((hr_links + 1))
      [ "$hr_links" -le 40 ] || { hr_word=circle; return 1; }
      hr_file_link "./$hr_part"
      case $hr_target in /*) hr_real=; cd / ;; esac
      hr_todo=$hr_target/$hr_todo
    elif cd -P "./$hr_part" 2>/dev/null; then hr_real=$hr_real/$hr_part
    else
      hr_real=$hr_real/$hr_part hr_gone=1 hr_stop=missing
      if [ -d "./$hr_part" ]; then
        hr_stop=denied
        [ -z "$hr_todo" ] || { hr_word=denied; return 1; }
      elif [ -e "./$hr_part" ]; then hr_stop=not-a-folder; fi
    fi
  done
  hr_real=\${hr_real:-/}
}

hr_file_enter() {
  hr_word=ok
  case $1 in /) hr_up=/ hr_name=. ;; *) hr_up=\${1%/*} hr_name=\${1##*/} ;; esac
  hr_up=\${hr_up:-/}
  if cd -P "$hr_up" 2>/dev/null; then
    { [ "$PWD" = "$hr_up" ] && [ ! -L "./$hr_name" ]; } || hr_word=changed
  else
    hr_stop=denied
    if hr_file_walk "$hr_up" stay; then hr_word=$hr_stop; fi
  fi
  hr_real=$1
  [ "$hr_word" = ok ]
}

hr_file_real() {
  case $1 in /) hr_file_enter /; return ;; esac
  hr_up=\${1%/*} hr_name=\${1##*/} hr_word=ok
  if cd -P "\${hr_up:-/}" 2>/dev/null && [ ! -L "./$hr_name" ]; then
    hr_at=\${PWD%/}
    case $hr_at in / | //*) hr_at=\${hr_at#/} ;; esac # bash has // where a link led to the root
    hr_real=$hr_at/$hr_name
    return 0
  fi
  hr_file_walk "$1" follow
}

hr_file_find() {
  if [ "$2" = real ]; then
    hr_file_enter "$1"
    return
  fi
  hr_file_real "$1" || return
  [ "\${PWD%/}/$hr_name" = "$hr_real" ] || hr_file_enter "$hr_real"
}

hr_file_kind() {
  if [ -f "$1" ]; then hr_kind=file; elif [ -d "$1" ]; then hr_kind=folder; elif [ -p "$1" ]; then hr_kind=fifo
  elif [ -S "$1" ]; then hr_kind=socket; else hr_kind=device; fi
}

hr_file_regular() {
  if [ ! -e "./$hr_name" ]; then hr_word=missing; return 1; fi
  hr_file_kind "./$hr_name"
  [ "$hr_kind" = file ] || { hr_word="kind $hr_kind"; return 1; }
}

hr_file_into() {
  hr_file_find "$1" "$2" || return
  if [ "$hr_name" != . ]; then
    if [ ! -e "./$hr_name" ]; then hr_word=missing; return 1; fi
    hr_file_kind "./$hr_name"
    if [ "$hr_kind" != folder ]; then hr_word="kind $hr_kind"; return 1; fi
    cd -P "./$hr_name" 2>/dev/null || { hr_word=denied; return 1; }
    [ "$PWD" = "$hr_real" ] || { hr_word=changed; return 1; }
  fi
}

hr_file_info() {
  case $hr_form in
  gnu) stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' "$1" ;;
  bsd) stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' "$1" ;;
  *)
    hr_line=$(TZ=UTC0 ls -ldn "$1") && hr_inode=$(ls -di "$1") || return
    printf '%s inode %s\\n' "\${hr_line%% ./*}" "\${hr_inode%% ./*}" ;;
  esac
}

hr_file_held() {
  case $hr_form in
  gnu) stat -L -c '%a %h %u %g %s %f %d:%i %Y %y %w' /dev/fd/0 <&3 ;;
  bsd) stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' <&3 ;;
  *)
    hr_line=$(TZ=UTC0 ls -ldnL /dev/fd/0 <&3) && hr_inode=$(ls -diL /dev/fd/0 <&3) || return
    printf '%s inode %s\\n' "\${hr_line%% /*}" "\${hr_inode%% /*}" ;;
  esac
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
  if hr_file_find "$1" "$2" && hr_file_regular; then
    hr_word=failed
    {
      hr_word=ok
      hr_file_say
      hr_file_both "./$hr_name"
      printf '\\0'
      head -c "$3" <&3
    } 3<"./$hr_name"
  fi
  [ "$hr_word" = ok ] || { hr_file_say; printf '\\0'; }
}

hr_file_read() {
  hr_real=$1 hr_word=missing
  if [ -f "$1" ]; then
    hr_word=failed
    {
      hr_word=ok
      hr_file_say
      hr_file_held
      printf '\\0'
      dd bs="$2" skip="$3" count="$4" <&3 2>/dev/null
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
 * What files need there, as functions of a POSIX shell. They are called in a subshell that began with `fileSettings`, so variables need not be local.
 *
 * A folder is entered with `cd -P`, and only when `PWD` says that this is where one is does a name in it get touched, as `./NAME`: so no link that was swapped in on the way
 * is followed, and no name is taken for an option. An answer is: what programs complained of, NUL, a word, NUL, the real path, NUL, and what the function tells beyond.
 * The words: ok, missing, not-a-folder, denied, circle, changed, failed, short, `kind KIND`, `owner UID:GID`.
 */
export const FILE_FUNCTIONS = `
unalias -a 2>/dev/null
unset -f cd printf command ls stat cat head tail dd mv rm mkdir chmod chown readlink find xargs sed kill umask trap 2>/dev/null
${FIND_FUNCTIONS}${ASKED_FUNCTIONS}${WRITE_FUNCTIONS}`;

/** What each script about files begins with; `form` is which stat(1) there is. What a profile may have set is put right. */
export function fileSettings(form: Facts["stat"]): string {
  return `hr_file_begin ${form}`; // short: bash reads a script byte by byte
}
