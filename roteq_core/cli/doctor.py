"""`roteq doctor`: what this machine offers, for a person or a bug report."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

import roteq_core

Row = tuple[str, str]
QT_BINDINGS = ("PyQt6", "PySide6", "PyQt5", "PySide2")


def doctor() -> None:
    """Show versions, threads, devices, Qt, display and where the models are."""
    table = Table(show_header=False, box=None)
    for name, finding in findings():
        table.add_row(name, finding)
    Console().print(table)


def findings() -> Iterator[Row]:
    """Give (what, finding) pairs, one a line of the report."""
    yield "napari-roteq", roteq_core.__version__
    yield "python", f"{platform.python_version()} ({sys.executable})"
    yield "system", f"{platform.system()} {platform.machine()}"
    yield from _torch_findings()
    yield "napari", installed_version("napari")
    yield "Qt", qt_binding()
    yield "display", display()
    yield "models", shipped_models(Path(roteq_core.__file__).parent / "weights")


def _torch_findings() -> Iterator[Row]:
    import torch

    yield "torch", torch.__version__
    yield "threads", f"{torch.get_num_threads()} of {os.cpu_count()} CPUs"
    yield "devices", ", ".join(_devices())


def _devices() -> Iterator[str]:
    import torch

    yield "cpu"
    for index in range(torch.cuda.device_count()):
        yield f"cuda:{index} ({torch.cuda.get_device_name(index)})"
    if torch.backends.mps.is_available():
        yield "mps"


def installed_version(distribution: str) -> str:
    """Give the version of a distribution, or say that there is none."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def qt_binding() -> str:
    """Name the Qt bindings that are installed, without importing one."""
    found = [name for name in QT_BINDINGS if importlib.util.find_spec(name)]
    named = [f"{name} {installed_version(name)}" for name in found]
    return ", ".join(named) or "none: pip install 'napari-roteq[all]'"


def display() -> str:
    """Say whether a window can be opened here."""
    if not sys.platform.startswith("linux"):
        return "native"
    shown = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    return shown or "none: run under xvfb-run to open a viewer"


def shipped_models(folder: Path) -> str:
    """List the model files in a folder."""
    names = sorted(file.stem for file in folder.glob("*.safetensors"))
    return f"{folder}: {', '.join(names) or 'none'}"
