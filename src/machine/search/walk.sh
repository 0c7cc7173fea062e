# Lists the content of the working folder. Arguments: prune|all, actions of find for files, then expressions of find
# that exclude folders. `n` is from go-there.sh; `most` and `most_of_all` limit the bytes of one `.gitignore` file and
# of all.
#
# The number of times a path is printed tells its kind, since no other output is the same in every find: once a folder,
# twice a link, three times a file. An empty path ends the list. Then each `.gitignore` follows as path and content;
# tail holds them back until find has ended. (busybox runs `-exec … +` only outside of parentheses.)

[ "$n" = . ] || exit 66
prune=$1 files=$2 names=
shift 2
set -f
if [ "$prune" = prune ] && [ -f .gitignore ]; then
  for name in $(head -c "$most" .gitignore | sed -n 's/^\([A-Za-z0-9_][A-Za-z0-9_.-]*\)\/\{0,1\}$/\1/p'); do
    names="$names -name $name -prune -o"
  done
fi
export most
# shellcheck disable=SC2086,SC2016 # expressions of find; expanded by the inner shell
{ { find . -mindepth 1 "$@" -type d '(' $names -print0 ')' -o -type l -print0 -print0 \
  -o -type f ! -name .gitignore $files -o -type f $files -exec sh -c 'for each; do
    printf "%s\0" "$each"; head -c "$most" "$each" | tr -d "\000"; printf "\0"; done >&3' sh {} +
  printf '\0' >&4
} 3>&1 >&4 4>&4 | tail -c "$most_of_all" >&4; } 4>&1
