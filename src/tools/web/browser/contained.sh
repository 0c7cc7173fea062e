#!/bin/sh
# Starts Chromium as root in bubblewrap: it sees the system's programs, its profile and the folder of its downloads,
# and no files of a user. In a network of its own it is user 1000 there, since its own sandbox refuses root.
# In: HANDRAIL_CHROMIUM, the program; HANDRAIL_DOWNLOADS, the folder; HANDRAIL_NETWORK, the words that enter the
# network, if there is one; "$@", Chromium's arguments.
set -eu

profile=$HANDRAIL_DOWNLOADS
for argument in "$@"; do
  case $argument in
    --user-data-dir=*) profile=${argument#*=} ;;
  esac
done

installed=$(dirname "$(readlink -f "$HANDRAIL_CHROMIUM")")

user=${HANDRAIL_NETWORK:+--unshare-user --uid 1000 --gid 1000}

# shellcheck disable=SC2086 # both are words
exec ${HANDRAIL_NETWORK:-} /usr/bin/bwrap $user \
  --unshare-pid --unshare-ipc --unshare-uts --new-session --die-with-parent --cap-drop ALL --clearenv \
  --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin \
  --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
  --ro-bind-try /etc/fonts /etc/fonts --ro-bind-try /etc/ssl /etc/ssl \
  --ro-bind-try /etc/alternatives /etc/alternatives \
  --ro-bind-try /etc/chromium /etc/chromium --ro-bind-try /etc/chromium.d /etc/chromium.d \
  --ro-bind-try /etc/localtime /etc/localtime --ro-bind-try /var/cache/fontconfig /var/cache/fontconfig \
  --proc /proc --dev /dev --tmpfs /dev/shm --tmpfs /tmp --ro-bind-try /tmp/.X11-unix /tmp/.X11-unix \
  --ro-bind "$installed" "$installed" --bind "$profile" "$profile" --bind "$HANDRAIL_DOWNLOADS" "$HANDRAIL_DOWNLOADS" \
  --setenv HOME /tmp --setenv PATH /usr/bin:/bin --setenv LANG "${LANG:-C.UTF-8}" --setenv DISPLAY "${DISPLAY:-}" \
  -- "$HANDRAIL_CHROMIUM" "$@"
