# The shell of a command reads this before its script, which then leaves what it would leave if it were typed at the
# prompt of the pane. When it ends, its folder and the exported variables that it has changed are in two files of sh:
# `after`, which the pane's shell reads, and `state`, which the next command reads (start.sh). Variables that make
# programs load code are not passed on. A script that ends in `exec`, by a signal, or with an EXIT trap of its own passes
# on nothing. Set before: hr_at, the folder of the backend, and hr_d, that of the command.

# shellcheck disable=SC2016 # code of awk
hr_awk=$(command -v awk) || hr_awk=:
"$hr_awk" 'BEGIN {
  for (name in ENVIRON) { value = ENVIRON[name] ""; gsub(/\n/, "\001", value); print name "=" value }
}' >"$hr_d/before" 2>/dev/null
# shellcheck disable=SC2154,SC2317 # set by the trap, called by it
hr_leave() {
  trap - EXIT
  HR_CODE=$hr_code HR_FOLDER=$(pwd -P) "$hr_awk" -v before="$hr_d/before" -v after="$hr_d/after" -v state="$hr_at/state" '
    function quoted(text,  parts, count, at, out) {
      count = split(text, parts, "\047")
      out = parts[1]
      for (at = 2; at <= count; at++) out = out "\047\\\047\047" parts[at]
      return "\047" out "\047"
    }
    function passed_on(name) {
      if (name !~ /^[A-Za-z_][A-Za-z0-9_]*$/ || name ~ /^(HR_|HANDRAIL_|TMUX|LD_|DYLD_|BASH|GLOBIGNORE|PYTHON|PERL5|RUBY)/) return 0
      return name !~ /^(_|PWD|OLDPWD|SHLVL|TERM|ENV|PS[0-9]|PROMPT_COMMAND|SHELLOPTS|IFS|ZDOTDIR|FPATH|CDPATH|NODE_OPTIONS)$/
    }
    function pass_on(text) { print text >after; print text >>state }
    BEGIN {
      while ((getline line <before) > 0) { at = index(line, "="); old[substr(line, 1, at - 1)] = substr(line, at + 1) }
      for (name in ENVIRON) {
        value = ENVIRON[name] ""
        flat = value
        gsub(/\n/, "\001", flat)
        if (passed_on(name) && !((name in old) && old[name] == flat)) pass_on("export " name "=" quoted(value))
      }
      for (name in old) if (passed_on(name) && !(name in ENVIRON)) pass_on("unset " name)
      print "\\cd -- " quoted(ENVIRON["HR_FOLDER"]) >after
      print "(exit " ENVIRON["HR_CODE"] ")" >after
    }' >/dev/null 2>&1 || :
  exit "$hr_code"
}
trap '{ hr_code=$?; set +x; } 2>/dev/null; hr_leave' EXIT
