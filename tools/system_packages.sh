#!/bin/sh
# Install what Qt and a virtual display need from the system, where it is missing.
# Usage: tools/system_packages.sh PYTHON
set -eu

python=${1:-python3}
PATH=$PATH:/usr/sbin:/sbin # ldconfig
missing=

[ "$(uname -s)" = Linux ] || exit 0

# The library is looked for, not the package: packages have other names elsewhere.
need_library() { ldconfig -p | grep -q "$1" || missing="$missing $2"; }
need_command() { command -v "$1" >/dev/null || missing="$missing $2"; }

need_library libGL.so.1 libgl1
need_library libEGL.so.1 libegl1
need_library libglib-2.0.so.0 libglib2.0-0
need_library libfontconfig.so.1 libfontconfig1
need_library libdbus-1.so.3 libdbus-1-3
need_library libxkbcommon-x11.so.0 libxkbcommon-x11-0
need_library libxcb-cursor.so.0 libxcb-cursor0
need_library libxcb-icccm.so.4 libxcb-icccm4
need_library libxcb-keysyms.so.1 libxcb-keysyms1
need_library libxcb-shape.so.0 libxcb-shape0
need_command xvfb-run xvfb
need_command xauth xauth
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"

[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "Install what these Debian packages hold, then run make again:$missing"
  exit 1
elif [ "$(id -u)" = 0 ]; then
  sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  sudo="sudo -n"
else
  echo "System packages are missing. Run this line, then make again:"
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing"
  exit 1
fi

echo "Installing:$missing"
$sudo apt-get update -q
# shellcheck disable=SC2086  # a list of words is meant
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing
