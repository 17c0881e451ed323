#!/bin/sh
# Run a command, on a virtual display where there is none.
# Usage: tools/with_display.sh COMMAND [ARGUMENT…]
if [ "$(uname -s)" != Linux ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  exec "$@"
fi
exec xvfb-run -a -s "-screen 0 1600x1200x24" "$@"
