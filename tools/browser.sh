#!/bin/sh
# See to it that there is a Chromium for the tests of pages, where it is missing and can be had.
#
# Playwright drives the system's own, since what it would download by itself is no package.
set -eu

say() { printf 'browser: %s\n' "$*" >&2; }

for candidate in chromium chromium-browser google-chrome; do
    if command -v "$candidate" >/dev/null; then
        exit 0
    fi
done
if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    say "there is no Chromium, so it is being installed."
    # A bare PATH lacks the folders in which dpkg looks for its helpers.
    export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive
    if apt-get update >/dev/null && apt-get install -y --no-install-recommends chromium >/dev/null; then
        exit 0
    fi
    say "it could not be installed."
fi
say "there is no Chromium; the tests of pages in a browser will be skipped. Install chromium to run them."
