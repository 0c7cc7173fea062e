# Functions that resolve a path, follow or refuse links, and report on files. See files.sh for the conventions.
#
# hr_file_info reports on a path, hr_file_held on the file that is open as descriptor 3, hr_file_both on both.
#
# When a path is resolved, the shell is in its folder, `./$hr_name` is its last part, and hr_real its real path.

# hr_file_begin FORM: called first in each subshell. Resets what a profile may have set. FORM: gnu or bsd (which stat).
hr_file_begin() {
  LC_ALL=C hr_form=$1
  export LC_ALL
  unset IFS TIME_STYLE BLOCK_SIZE LS_BLOCK_SIZE QUOTING_STYLE
  set -f +e +u +C
}

hr_file_say() { printf '\0%s\0%s\0' "$hr_word" "$hr_real"; }

# hr_file_link LINK: sets hr_target to the link's target, without the newline at its end.
hr_file_link() {
  hr_target=$(readlink "$1" && printf x)
  hr_target=${hr_target%?x}
}

# hr_file_walk PATH follow|stay: resolves the path part by part into hr_real. Sets hr_gone to the number of missing
# parts.
hr_file_walk() {
  hr_todo=${1#/}/ hr_real= hr_gone=0 hr_links=0 hr_word=ok
  cd /
  while [ -n "$hr_todo" ]; do
    hr_part=${hr_todo%%/*}
    hr_todo=${hr_todo#*/}
    case $hr_part in
    '' | .) continue ;;
    ..)
      hr_real=${hr_real%/*}
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
      # The link was just removed or replaced: check this part again.
      [ -n "$hr_target" ] || { hr_todo=$hr_part/$hr_todo; continue; }
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
  hr_real=${hr_real:-/}
}

# hr_file_enter REAL: enters the folder of a real path. Fails if a link is now on the way.
hr_file_enter() {
  hr_word=ok
  case $1 in /) hr_up=/ hr_name=. ;; *) hr_up=${1%/*} hr_name=${1##*/} ;; esac
  hr_up=${hr_up:-/}
  if cd -P "$hr_up" 2>/dev/null; then
    { [ "$PWD" = "$hr_up" ] && [ ! -L "./$hr_name" ]; } || hr_word=changed
  else
    hr_stop=denied
    if hr_file_walk "$hr_up" stay; then hr_word=$hr_stop; fi
  fi
  hr_real=$1
  [ "$hr_word" = ok ]
}

# hr_file_real PATH: enters the folder of a path, with links followed, and sets hr_real.
hr_file_real() {
  case $1 in /) hr_file_enter /; return ;; esac
  hr_up=${1%/*} hr_name=${1##*/} hr_word=ok
  if cd -P "${hr_up:-/}" 2>/dev/null && [ ! -L "./$hr_name" ]; then
    hr_at=${PWD%/}
    case $hr_at in / | //*) hr_at=${hr_at#/} ;; esac # bash reports // where a link led to the root
    hr_real=$hr_at/$hr_name
    return 0
  fi
  hr_file_walk "$1" follow
}

# hr_file_find PATH real|: resolves a path; a real one must be real. If it is not, hr_real is its real path, or empty.
hr_file_find() {
  if [ "$2" = real ]; then
    hr_file_enter "$1" && return
    [ "$hr_word" = changed ] || return
    hr_file_walk "$1" follow || hr_real=
    hr_word=changed
    return 1
  fi
  hr_file_real "$1" || return
  [ "${PWD%/}/$hr_name" = "$hr_real" ] || hr_file_enter "$hr_real"
}

hr_file_kind() {
  # shellcheck disable=SC2209
  if [ -f "$1" ]; then hr_kind='file'; elif [ -d "$1" ]; then hr_kind=folder; elif [ -p "$1" ]; then hr_kind=fifo
  elif [ -S "$1" ]; then hr_kind=socket; else hr_kind=device; fi
}

hr_file_regular() {
  if [ ! -e "./$hr_name" ]; then hr_word=missing; return 1; fi
  hr_file_kind "./$hr_name"
  [ "$hr_kind" = file ] || { hr_word="kind $hr_kind"; return 1; }
}

# hr_file_into PATH real|: resolves the path of a folder and enters it.
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
  esac
}

hr_file_is_file() { [ "$hr_form" = bsd ] || [ -f /dev/fd/3 ]; }

hr_file_held() {
  case $hr_form in
  gnu) stat -L -c '%a %h %u %g %s %f %d:%i %Y %y %w' /dev/fd/0 <&3 ;;
  bsd) stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' <&3 ;;
  esac
}

# hr_file_self: prints "PID PARENT" of this subshell, so that hr_file_free can end it.
hr_file_self() {
  hr_self=
  if cd -P /proc/self 2>/dev/null; then hr_self="${PWD#/proc/} $$"; fi
  printf '%s\0' "$hr_self"
}

# hr_file_free PID PARENT: ends a subshell that still waits to open a file.
hr_file_free() {
  hr_line=
  { IFS= read -r hr_line <"/proc/$1/stat"; } 2>/dev/null || return 0
  # shellcheck disable=SC2086 # fields of /proc/PID/stat
  set -- "$1" "$2" ${hr_line##*) }
  # After opening the file, the subshell runs programs that write: their output must not follow the end of the answer.
  [ "$4" != "$2" ] || [ -L "/proc/$1/fd/3" ] || kill -s KILL "$1"
}

hr_file_both() {
  case $hr_form in
  gnu)
    # busybox treats "-" as a name, not as stdin.
    if [ -e - ] || [ -L - ]; then hr_file_info "$1" && hr_file_held
    else stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' "$1" - <&3 2>/dev/null || hr_file_held; fi ;;
  *) hr_file_info "$1" && hr_file_held ;;
  esac
}
