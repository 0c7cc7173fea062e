# hr_spool FILE BESIDE START END: appends stdin to the file up to START bytes. Of a longer one, between END and 2 * END
# bytes of its end follow when stdin ends (up to 4 MiB less), below the line of `missingLine` in kept.ts. Until then they
# are in BESIDE.old and BESIDE.new. Always reads all of stdin. Prints how many bytes of it are not in the file; the block
# that a full disk did not take is not counted.
hr_spool() {
  umask 077
  hr_fill "$1" "$3" || { echo $(($(wc -c))); return; }
  hr_first=$hr_bytes hr_lost=0 hr_old=0
  while hr_fill "$2.new" "$4"; do
    hr_lost=$((hr_lost + hr_old)) hr_old=$hr_bytes
    mv -f "$2.new" "$2.old"
  done
  hr_rest=$((hr_lost + hr_old + hr_bytes + $(wc -c)))
  {
    [ "$hr_lost" = 0 ] ||
      printf '\n[… %sMB of output are missing here: the beginning and the end were kept …]\n' $((hr_lost / 1048576))
    [ "$hr_old" = 0 ] || cat "$2.old"
    cat "$2.new"
  } >>"$1" 2>/dev/null
  rm -f "$2.old" "$2.new"
  hr_measure "$1"
  echo $((hr_first + hr_rest - hr_bytes))
}

# hr_fill FILE BYTES: appends stdin to the file until it has BYTES, or up to 4 MiB less, and sets hr_bytes to its size.
# Reads nothing beyond that: dd writes each block that it has read. False at the end of stdin or when a write fails.
hr_fill() {
  hr_measure "$1"
  while [ "$hr_bytes" -lt $(($2 - 4194304)) ]; do
    hr_before=$hr_bytes
    dd bs=65536 count=$((($2 - hr_bytes) / 65536)) >>"$1" || return
    hr_measure "$1"
    [ "$hr_bytes" -gt "$hr_before" ] || return
  done 2>/dev/null
}

# hr_measure FILE: sets hr_bytes to the size of the file, 0 if it is missing.
# shellcheck disable=SC2046 # fields
hr_measure() { hr_size_of $(LC_ALL=C ls -lnL "$1" 2>/dev/null); }
hr_size_of() { hr_bytes=${5:-0}; }
