#!/bin/sh
# Print a Python that can build the project: 3.11 or newer, with venv, pip and the headers of its C API.
# With an argument only that one is looked at.
usable() {
    "$1" -c '
import os, sys, sysconfig
import ensurepip, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(header)))
' >/dev/null 2>&1
}

for candidate in ${1:-python3.13 python3.12 python3.11 python3 python}; do
    if usable "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done
echo "No usable Python in: ${1:-python3.13, python3.12, python3.11, python3, python}." >&2
echo "Wanted: 3.11 or newer with the modules venv and ensurepip and the header Python.h" >&2
echo "(on Debian: apt-get install python3-venv python3-dev). Name another one by PYTHON=..." >&2
exit 1
