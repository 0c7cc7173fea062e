# Functions for files; they use those of path.sh. They are called in a subshell that began with `hr_file_begin FORM`, so
# variables need not be local.
#
# A folder is entered with `cd -P`. A name in it is used, as `./NAME`, only if PWD is then the expected folder. So no
# link that was swapped in on the way is followed, and no name is taken for an option.
#
# An answer consists of: error messages of programs, NUL, a word, NUL, the real path, NUL, and further results of the
# function. If a file is opened for reading, the answer begins with "PID PARENT", NUL (hr_file_self).
#
# Words: ok, missing, not-a-folder, denied, circle, changed, other, failed, short, `kind KIND`, `owner UID:GID`.

unalias -a 2>/dev/null
unset -f cd printf command ls stat cat head tail dd mv rm mkdir chmod chown readlink find xargs sed kill umask trap \
  2>/dev/null

# Functions that read. Each prints one answer.

hr_file_path() { hr_file_real "$1"; hr_file_say; printf '\0'; }

hr_file_stat() {
  hr_file_find "$1" "$2" && { [ -e "./$hr_name" ] || hr_word=missing; }
  hr_file_say
  [ "$hr_word" != ok ] || hr_file_info "./$hr_name" 2>/dev/null
  printf '\0'
}

hr_file_open() {
  hr_file_self
  if hr_file_find "$1" "$2" && hr_file_regular; then
    hr_word=failed
    # shellcheck disable=SC2094 # nothing writes it
    {
      hr_word=changed
      if hr_file_is_file; then
        hr_word=ok
        hr_file_say
        hr_file_both "./$hr_name"
        printf '\0'
        head -c "$3" <&3
      fi
    } 3<"./$hr_name"
  fi
  [ "$hr_word" = ok ] || { hr_file_say; printf '\0'; }
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
        printf '\0'
        case $5 in
        blocks) dd bs="$2" skip="$3" count="$4" <&3 2>/dev/null ;;
        # Reads of /proc and /sys return less than requested.
        *) dd bs="$2" skip="$3" <&3 2>/dev/null | head -c "$(($2 * $4))" ;;
        esac
      fi
    } 3<"$1"
  fi
  [ "$hr_word" = ok ] || { hr_file_say; printf '\0'; }
}

hr_file_list() {
  if hr_file_into "$1" "$2" && [ ! -r . ]; then hr_word=denied; fi
  hr_file_say
  [ "$hr_word" = ok ] || return
  hr_way=$3
  set +f
  set -- ./.[!.]*
  [ -e "$1" ] || [ -L "$1" ] || shift
  set -- ./..?* "$@"
  [ -e "$1" ] || [ -L "$1" ] || shift
  set -- ./* "$@"
  [ -e "$1" ] || [ -L "$1" ] || shift
  [ $# -eq 0 ] || printf '%s\0' "$@"
  printf '/\0'
  case $hr_way:$hr_form in
  each:*) for hr_one; do hr_file_info "$hr_one" 2>/dev/null || echo; done ;;
  *:gnu) printf '%s\0' "$@" | xargs -0 stat -c '%a %h %u %g %s %f %d:%i %Y %y %w' 2>/dev/null ;;
  *:bsd) printf '%s\0' "$@" | xargs -0 stat -f '%Mp%Lp %l %u %g %z %p %d:%i %Fm %B' 2>/dev/null ;;
  esac
  printf '\0'
  for hr_one; do
    [ ! -L "$hr_one" ] || { hr_file_link "$hr_one" 2>/dev/null && printf '%s\0%s\0' "$hr_one" "$hr_target"; }
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
  printf '\0'
}

# Functions that write. The caller defines hr_file_give, which prints the content, and hr_file_drain, which reads it
# from stdin if it is not written: the shell would run the rest as commands.

# hr_file_take COUNT: copies exactly that many bytes of stdin, or ends the shell, which would run the rest.
hr_file_take() { head -c "$1" 2>/dev/null || kill -9 $$; }

hr_file_copy() { cat || { cat >/dev/null; return 1; }; }

# hr_file_folders PATH: creates a folder and those above it. Follows no link.
hr_file_folders() {
  cd /
  hr_todo=${1#/}/ hr_at= hr_word=ok
  while [ -n "$hr_todo" ]; do
    hr_part=${hr_todo%%/*}
    hr_todo=${hr_todo#*/}
    [ -n "$hr_part" ] || continue
    hr_at=$hr_at/$hr_part
    if [ -L "./$hr_part" ]; then hr_word=changed
    elif [ ! -e "./$hr_part" ]; then mkdir "./$hr_part" || [ -d "./$hr_part" ] || hr_word=failed
    elif [ ! -d "./$hr_part" ]; then hr_word=not-a-folder; fi
    [ "$hr_word" = ok ] || return
    cd -P "./$hr_part" 2>/dev/null || { hr_word=denied; return 1; }
    [ "$PWD" = "$hr_at" ] || { hr_word=changed; return 1; }
  done
}

# hr_file_fields INFO: sets hr_mode (without setuid and setgid), hr_names, hr_owner, hr_size and hr_version (as
# `described` of file-info.ts) from hr_file_info.
hr_file_fields() {
  hr_special=
  case ${1%% *} in [1-7][0-7][0-7][0-7]) hr_special=yes ;; esac
  # shellcheck disable=SC2086 # fields
  set -- $1
  hr_mode=$1 hr_names=$2 hr_owner=$3:$4 hr_size=$5
  case $8:${10-} in
  *.*:*) hr_version=$7:$5:$8 ;;
  *:*.*) hr_version=$7:$5:$8.${10#*.} ;;
  *) hr_version=$7:$5:$8. ;;
  esac
  # New content does not inherit setuid or setgid from the old content.
  case $hr_mode in [0-7][0-7][0-7][0-7]) hr_mode=${hr_mode#?} ;; esac
}

# hr_file_put: puts the temporary file in the file's place, with its owner and mode.
hr_file_put() {
  hr_after=$(hr_file_info "./$hr_temp") || { hr_word=failed; return; }
  hr_file_fields "$hr_after"
  if [ "$hr_size" != "$hr_asked" ]; then hr_word=short; return; fi
  if [ -n "$hr_before" ]; then
    if [ "$hr_old_names" -gt 1 ]; then hr_file_in_place; return; fi
    if [ "$hr_owner" != "$hr_old_owner" ] && ! chown "$hr_old_owner" "./$hr_temp"; then
      hr_word="owner $hr_old_owner"
      return
    fi
    if [ "$hr_owner $hr_mode" != "$hr_old_owner $hr_old_mode" ]; then
      chmod "$hr_old_mode" "./$hr_temp" && hr_after=$(hr_file_info "./$hr_temp") || { hr_word=failed; return; }
    fi
  fi
  mv -fT "./$hr_temp" "./$hr_name" 2>/dev/null && return
  if [ -d "./$hr_name" ]; then hr_word="kind folder"
  else mv -f "./$hr_temp" "./$hr_name" || hr_word=failed; fi
}

hr_file_cut() { dd if=/dev/null of="$hr_self" bs=1 seek="$1" count=0 2>/dev/null; }

# hr_file_in_place: overwrites a file that has several names (hard links).
hr_file_in_place() {
  # Checked again: the redirection below would create a missing file, or follow a link.
  if [ -L "./$hr_name" ] || [ ! -f "./$hr_name" ]; then hr_word=changed; return; fi
  hr_word=failed hr_self=/dev/fd/3
  [ -e /dev/fd/0 ] || hr_self=./$hr_name
  {
    if [ "$(hr_file_held)" != "$hr_before" ]; then hr_word=changed
    elif [ -n "$hr_old_special" ] && ! chmod "$hr_old_mode" "$hr_self"; then :
    elif [ "$hr_asked" -gt "$hr_old_size" ] && ! tail -c "+$((hr_old_size + 1))" "./$hr_temp" >>"$hr_self"; then
      hr_file_cut "$hr_old_size"
    elif cat "./$hr_temp" >&3; then
      if [ "$hr_asked" -ge "$hr_old_size" ] || hr_file_cut "$hr_asked"; then hr_word=ok; fi
    fi
    hr_after=$(hr_file_held)
  } 3<>"./$hr_name"
  rm -f "./$hr_temp"
}

# hr_file_write PATH real| COUNT TEMP VERSION: writes COUNT bytes through the temporary name TEMP. With a VERSION, the
# file must have it.
hr_file_write() {
  hr_asked=$3 hr_temp=$4 hr_given= hr_before=
  hr_file_find "$1" "$2"
  if [ "$hr_word" = missing ] && [ -n "$5" ]; then hr_word=other; fi
  if [ "$hr_word" = missing ]; then
    hr_missing=$hr_real
    hr_file_folders "${hr_missing%/*}" && hr_file_enter "$hr_missing"
    hr_real=$hr_missing
  fi
  if [ "$hr_word" = ok ] && [ -e "./$hr_name" ] && hr_file_regular; then
    hr_before=$(hr_file_info "./$hr_name") || hr_word=changed
    hr_file_fields "$hr_before"
    hr_old_mode=$hr_mode hr_old_special=$hr_special hr_old_names=$hr_names hr_old_owner=$hr_owner hr_old_size=$hr_size
    case $hr_mode in 644) umask 133 ;; *) umask 077 ;; esac
  fi
  if [ "$hr_word" = ok ] && [ -n "$5" ]; then
    if [ -z "$hr_before" ] || [ "$hr_version" != "$5" ]; then hr_word=other; fi
  fi
  if [ "$hr_word" = ok ]; then
    hr_word=failed
    # A remnant of this write, whose connection was lost. A process that still runs there must not touch the new file.
    if [ -e "./$hr_temp" ]; then
      rm -f "./$hr_temp"
      hr_temp=${hr_temp%.tmp}.$$.tmp
    fi
    trap 'rm -f "./$hr_temp"; exit 1' HUP INT TERM
    set -C
    { set +C; hr_given=yes; if hr_file_give >&4; then hr_word=ok; else hr_word=short; fi; } 4>"./$hr_temp"
    set +C
    if [ "$hr_word" = ok ]; then hr_file_put; fi
    if [ "$hr_word" != ok ] && [ -n "$hr_given" ]; then rm -f "./$hr_temp"; fi
  fi
  [ -n "$hr_given" ] || hr_file_drain
  hr_file_say
  [ "$hr_word" != ok ] || printf '%s' "$hr_after"
  printf '\0'
}
