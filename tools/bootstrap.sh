#!/bin/sh
# Build .venv so that it holds exactly what the lock files name, and the project itself.
#
# It needs a Python of at least 3.11 and a package index, nothing else: uv is installed into .venv
# by its hash, and everything after that by uv. PYTHON=... chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'bootstrap: %s\n' "$*" >&2; }

fail() {
    say "$@"
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Print the first interpreter that is new enough; a named one is taken or refused, not replaced.
choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" ||
            fail "$PYTHON cannot be run or is older than Python 3.11, which is the oldest that will do."
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer was found ($(python3 --version 2>&1 || echo 'no python3')). Install one," \
        "or name it: make venv PYTHON=/path/to/python3"
}

# Debian and its kin ship Python without what `python -m venv` needs.
ensure_venv_module() {
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        return
    fi
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if ! command -v apt-get >/dev/null; then
        fail "$python has no venv or no ensurepip module. Install them (some systems call the package" \
            "$package), then run make again."
    fi
    install="apt-get update && apt-get install -y $package"
    if [ "$(id -u)" -ne 0 ]; then
        fail "$python has no venv or no ensurepip module. Run: sudo sh -c '$install' and then make again."
    fi
    say "$python cannot make environments, so $package is being installed."
    # A bare PATH lacks the folders in which dpkg looks for its helpers.
    if ! PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive sh -c "$install" >&2; then
        fail "$package could not be installed. Run: $install and then make again."
    fi
}

# An environment from another Python, or one broken off half-way, is built anew.
is_reusable() {
    [ -x .venv/bin/uv ] &&
        [ "$(.venv/bin/python -VV 2>/dev/null)" = "$("$python" -VV)" ]
}

create_venv() {
    ensure_venv_module
    say "creating .venv with $("$python" --version)."
    "$python" -m venv --clear .venv ||
        fail "$python -m venv failed; its message stands above."
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
        --only-binary :all: --require-hashes -r requirements-bootstrap.lock
}

install_everything() {
    say "installing what the lock files name."
    # Bytecode is compiled even where the environment tells Python not to write it, because without it
    # every start takes seconds.
    .venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes --compile-bytecode \
        requirements-bootstrap.lock requirements-dev.lock
    # Offline and without isolation, so that nothing unlocked can get in.
    .venv/bin/uv pip install --quiet --python .venv/bin/python --offline \
        --no-deps --no-build-isolation --editable .
    .venv/bin/python -m compileall -q -j 0 grader
}

# In a bare environment uv knows no certificates but its own, and not the machine's.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
# A user without a home to write to has no place for a cache.
[ -n "${UV_CACHE_DIR:-}" ] || [ -w "${HOME:-/}" ] || export UV_NO_CACHE=1

python=$(choose_python)
is_reusable || create_venv
install_everything
say "done: .venv is ready."
