"""The shell scripts behind make, with the system's commands replaced by small fakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the scripts serve Linux"
)

LIBRARIES = """libGL.so.1 libEGL.so.1 libglib-2.0.so.0 libfontconfig.so.1 libdbus-1.so.3
libxkbcommon-x11.so.0 libxcb-cursor.so.0 libxcb-icccm.so.4 libxcb-keysyms.so.1
libxcb-shape.so.0"""


@pytest.fixture
def fake(tmp_path):
    """Give a function that puts a fake command before the real ones."""

    def make(name: str, script: str) -> None:
        command = tmp_path / name
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)

    make("xvfb-run", 'shift 3; echo "virtual: $*"')
    make("xauth", "true")
    return make


@pytest.fixture
def call(root, tmp_path):
    """Give a function that runs a script of the checkout among the fakes."""

    def run(script: str, *arguments: str, **environment: str):
        inherited = {k: v for k, v in os.environ.items() if "DISPLAY" not in k}
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [str(Path(root) / script), *arguments],
            env=inherited | {"PATH": path} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_nothing_is_installed_where_nothing_is_missing(fake, call):
    fake("ldconfig", f"echo '{LIBRARIES}'")
    fake("apt-get", "echo apt-get $*")
    done = call("tools/system_packages.sh", sys.executable)
    assert (done.returncode, done.stdout) == (0, "")


def test_root_installs_only_what_is_missing(fake, call):
    fake("ldconfig", f"echo '{LIBRARIES.replace('libEGL.so.1', '')}'")
    fake("id", "echo 0")
    fake("apt-get", "echo apt-get $*")
    done = call("tools/system_packages.sh", sys.executable)
    assert done.returncode == 0
    assert done.stdout.rstrip().endswith(" --no-install-recommends libegl1")


def test_others_are_told_the_line_to_run(fake, call):
    fake("ldconfig", f"echo '{LIBRARIES.replace('libxcb-cursor.so.0', '')}'")
    fake("id", "echo 1000")
    fake("sudo", "exit 1")
    fake("apt-get", "echo installed anyway")
    done = call("tools/system_packages.sh", sys.executable)
    assert done.returncode == 1
    assert "installed anyway" not in done.stdout
    assert (
        "sudo apt-get install -y --no-install-recommends libxcb-cursor0" in done.stdout
    )


def test_virtual_display_only_where_there_is_none(fake, call):
    assert call("tools/with_display.sh", "echo", "hi").stdout == "virtual: echo hi\n"
    shown = call("tools/with_display.sh", "echo", "hi", DISPLAY=":0")
    assert shown.stdout == "hi\n"


@pytest.mark.parametrize(
    ("failing", "status"), [("none", 0), ("check", 1), ("test", 1)]
)
def test_ci_ends_with_the_closing_line_of_pytest(fake, call, failing, status):
    closing = "===== 3 passed in 1.23s ====="
    fake(
        "make",
        f'[ "$1" = test ] && echo "{closing}" && echo "make: noise"\n'
        f'[ "$1" != {failing} ]',
    )
    done = call(".ci/run")
    assert done.returncode == status
    assert done.stdout.splitlines()[-1] == closing
