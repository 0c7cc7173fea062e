# Enters the real folder $1 and sets $n to "."; or the folder of the regular file $1, with $n as "././NAME". A link that
# was swapped in meanwhile is not followed. The code after this gets the other words as $@. Exit code 66: the path is no
# longer a folder or regular file (NOT_SEARCHED in programs.ts).

case $1 in */*/*) d=${1%/*} ;; *) d=/ ;; esac
n=. LC_ALL=C; export LC_ALL
if cd -P "$1" 2>/dev/null; then [ "$PWD" = "$1" ] || exit 66
else n=././${1##*/}; cd -P "$d" 2>/dev/null && [ "$PWD" = "$d" ] && [ -f "$n" ] && [ ! -L "$n" ] || exit 66; fi
shift
