# Runs after the profile of a login (login.sh): becomes a shell that reads the real stdin, in the folder where the login
# began. With HR_KEEP, the folders of PATH from before the profile stay first.

# shellcheck disable=SC2153 # set by login.sh
cd -- "$HR_FOLDER" || :
if [ -n "$HR_KEEP" ] && [ -n "$HR_PATH" ]; then
  hr_profile=$PATH PATH=$HR_PATH IFS=:
  set -f
  for hr_folder in $hr_profile; do
    case :$PATH: in *:"$hr_folder":*) ;; *) PATH=$PATH${hr_folder:+:$hr_folder} ;; esac
  done
fi
printf '\001%s ready\n' "$HR_SECRET" >&7
unset HR_FOLDER HR_KEEP HR_PATH HR_SECRET HR_START
exec /bin/sh <&6 >&7 2>&8 6<&- 7>&- 8>&-
