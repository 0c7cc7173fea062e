# Reads the profile of a login, then runs HR_START. `hr_profile` selects the profile: that of the login shell
# ("login-shell"), or that of /bin/sh. The profile gets empty stdin, and its output is discarded; the real streams are
# kept as 6, 7 and 8. csh and tcsh read their file anyway and have no `-l -c`. An unknown shell is not used.

# shellcheck disable=SC2154,SC2016 # set before; expanded by the shell of the profile
exec 6<&0 7>&1 8>&2 </dev/null >/dev/null 2>&1
printf '\001%s begun\n' "$HR_SECRET" >&7
HR_FOLDER=$(pwd) HR_PATH=$PATH
export HR_FOLDER HR_PATH HR_SECRET HR_START
case $hr_profile-${SHELL##*/} in
login-shell-sh | login-shell-bash | login-shell-dash | login-shell-ash | login-shell-ksh | login-shell-ksh93 | \
  login-shell-mksh | login-shell-yash | login-shell-zsh | login-shell-fish)
  exec "$SHELL" -l -c 'exec /bin/sh -c "$HR_START"' ;;
login-shell-csh | login-shell-tcsh) exec /bin/sh -c "$HR_START" ;;
*) exec /bin/sh -l -c 'exec /bin/sh -c "$HR_START"' ;;
esac
