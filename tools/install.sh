#!/bin/sh
# Install the project, the viewer and the developers' tools into a venv.
# Usage: tools/install.sh .venv/bin/python
set -eu

python=$1
pip() { "$python" -m pip --disable-pip-version-check "$@"; }

# Dependency groups need pip 25.1.
pip install -q 'pip>=25.1'

# On Linux PyPI's torch brings gigabytes of CUDA; without an NVIDIA driver the CPU build
# does the same work.
if [ "$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null &&
  ! "$python" -c 'import torch' 2>/dev/null; then
  # What it depends on comes from PyPI below: one look here, or a firewall costs minutes.
  pip install -c constraints.txt --no-deps --retries 1 --timeout 20 torch \
    --index-url https://download.pytorch.org/whl/cpu ||
    echo "The CPU build of torch was not found: taking PyPI's."
fi

pip install -c constraints.txt -e '.[all]' --group dev
