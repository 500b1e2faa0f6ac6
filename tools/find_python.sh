#!/bin/sh
# Print the path of the newest Python that can build the project: 3.11 to 3.14, with venv, pip and the headers of
# its C API, from PATH or of pyenv. With an argument only that one is looked at, of any version from 3.11 on;
# with --all every version that there is, the newest first, each as "VERSION PATH" on a line.
versions="3.14 3.13 3.12 3.11"

# The path of a Python if it can build the project and has version $2, unless that is empty; nothing otherwise.
# A build without the global interpreter lock is not chosen: nothing was tested with one.
usable() {
    "$1" -c '
import os, sys, sysconfig
import ensurepip, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
version = "%d.%d" % sys.version_info[:2]
is_wanted = version == sys.argv[1] or not sys.argv[1] and sys.version_info >= (3, 11)
if is_wanted and os.path.exists(header) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(sys.executable)
' "${2:-}" 2>/dev/null
}

# The first usable Python of version $1, which may be that of a command without a version in its name.
find_version() {
    pyenv="${PYENV_ROOT:-${HOME:-}/.pyenv}/versions"
    for candidate in "python$1" $(ls -d "$pyenv/$1".*/bin/python 2>/dev/null | sort -rV) python3 python; do
        path="$(usable "$candidate" "$1")"
        if [ -n "$path" ]; then
            echo "$path"
            return
        fi
    done
}

if [ "${1:-}" = --all ]; then
    for version in $versions; do
        path="$(find_version "$version")"
        [ -z "$path" ] || echo "$version $path"
    done
    exit 0
fi

if [ -n "${1:-}" ]; then
    path="$(usable "$1")"
else
    for version in $versions; do
        path="$(find_version "$version")"
        [ -z "$path" ] || break
    done
fi
if [ -n "$path" ]; then
    echo "$path"
    exit 0
fi
echo "No usable Python: ${1:-none of $versions in PATH or under pyenv}." >&2
echo "Wanted: 3.11 or newer with the modules venv and ensurepip and the header Python.h" >&2
echo "(on Debian: apt-get install python3-venv python3-dev). Name another one by PYTHON=..." >&2
exit 1
