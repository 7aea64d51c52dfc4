#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image. Choose a base image with Python 3.11 or newer.
set -euo pipefail
BASE="${AUTOGRADER:-/autograder}"

apt-get install -y bubblewrap libseccomp2 python3-venv
/usr/bin/python3 -m venv "$BASE/venv"
"$BASE/venv/bin/pip" install --no-cache-dir "$BASE"/source/perflab-*.whl
"$BASE/venv/bin/perflab" doctor || true  # its findings are in the build's log
