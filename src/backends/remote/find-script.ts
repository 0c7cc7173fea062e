/**
 * Finding files there, as functions of a POSIX shell (see files-script.ts): which file system object a path leads to. Where it has been found,
 * one stands in its folder, and it is `./$hr_name`; `hr_real` is its real path.
 */
export const FIND_FUNCTIONS = `
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
      # It went at this moment, perhaps for another one: what stands there now is looked at.
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
`;
