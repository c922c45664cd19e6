#!/bin/sh
# See to it that programs are there, by their Debian packages, where they are missing and can be had:
# `chromium` for the tests of pages, which Playwright drives since what it would download by itself is
# no package, `strace`, which lets system calls fail, and `wrk`, which sends load.
set -eu

say() { printf 'programs: %s\n' "$*" >&2; }

is_there() {
    case $1 in
        chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
        *) command -v "$1" ;;
    esac >/dev/null
}

missing=
for program in "$@"; do
    is_there "$program" || missing="$missing $program"
done
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    say "being installed:$missing."
    # A bare PATH lacks the folders in which dpkg looks for its helpers.
    export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive
    # The names are words of their own.
    # shellcheck disable=SC2086
    if apt-get update >/dev/null && apt-get install -y --no-install-recommends $missing >/dev/null; then
        exit 0
    fi
    say "they could not be installed."
fi
say "missing:$missing. Tests that need them will be skipped; install them to run these."
