"""Build hook: put the top-level manifest and samples where the package needs them.

npe2 looks for `napari.yaml` inside the package folder, and a plain force-include would
break editable installs. So an editable install gets links, and a wheel the real files.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHARED = ("napari.yaml", "sample_data")
PACKAGE = "napari_roteq"


class SharedFilesHook(BuildHookInterface):
    """Link (editable) or include (wheel) the files in `SHARED`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        present = [name for name in SHARED if (Path(self.root) / name).exists()]
        for name in present:
            if version == "editable":
                link(Path(self.root) / name, Path(self.root) / PACKAGE / name)
            else:
                build_data["force_include"][name] = f"{PACKAGE}/{name}"


def link(source: Path, target: Path) -> None:
    """Point `target` at `source`; copy where the system has no links."""
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    try:
        target.symlink_to(
            os.path.relpath(source, target.parent), target_is_directory=source.is_dir()
        )
    except OSError:
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target)
