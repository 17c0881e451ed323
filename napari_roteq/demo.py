"""Show the plugin at work: `python -m napari_roteq.demo`, or `make demo`.

With a display napari opens with the EM sample, the widget docked and segments the slice
in view. Without one the same happens on a virtual display, and pictures and results are
left in a folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

PLUGIN = "napari-roteq"
_WAIT = 900.0  # seconds; a slow machine needs a minute
_SCREEN = "-screen 0 1280x800x24"


def main() -> None:
    """Read the arguments, find a display and show the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo_output"))
    parser.add_argument("--model", help="a model file instead of the shipped one")
    parser.add_argument(
        "--unattended", action="store_true", help="take pictures and end by itself"
    )
    chosen = parser.parse_args()
    if not has_display():
        _begin_again_on_virtual_display()
    show_demo(chosen.out, model=chosen.model, unattended=chosen.unattended)


def has_display() -> bool:
    """Whether windows can be shown."""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _begin_again_on_virtual_display() -> None:
    """Replace this process by the same one under Xvfb, which ends by itself."""
    xvfb = shutil.which("xvfb-run")
    if xvfb is None:
        sys.exit("There is no display: install xvfb, or run where there is one.")
    again = [sys.executable, "-m", "napari_roteq.demo", *sys.argv[1:], "--unattended"]
    os.execv(xvfb, [xvfb, "-a", "-s", _SCREEN, *again])


def show_demo(out: Path, *, model: str | None = None, unattended: bool = False) -> None:
    """Open the EM sample and segment a slice.

    Parameters
    ----------
    out : path
        Folder for pictures and results, when nobody watches.
    model : str, optional
        A model file; the shipped one if not given.
    unattended : bool
        Whether to wait for the result, save it and end.
    """
    import napari

    viewer = napari.Viewer(title="napari-roteq demo")
    viewer.window.resize(1280, 720)
    viewer.open_sample(PLUGIN, "em-stack")
    _, widget = viewer.window.add_plugin_dock_widget(PLUGIN, "Segment membranes")
    if model is not None:
        widget.open_model(model)
    widget.start()
    if not unattended:
        napari.run()
        return
    failure = wait_for(widget)
    if failure is None:
        written = save_results(viewer, widget, out)
        _say(f"The demo left {len(written)} files in {out.resolve()}:")
        for path in written:
            _say(f"  {path.name}")
    viewer.close()
    if failure is not None:
        sys.exit(failure)


def wait_for(widget: Any) -> str | None:
    """Let the viewer work until the widget is done; give the error, if there is one."""
    from qtpy.QtCore import QDeadlineTimer

    limit = QDeadlineTimer(int(1000 * _WAIT))
    while widget.is_running and not limit.hasExpired():
        pause(0.1)
    if widget.is_running:
        return f"The demo was not done after {_WAIT:.0f} s."
    pause(1.0)  # the last drawing
    return None if widget.error is None else str(widget.error.sentence)


def pause(seconds: float) -> None:
    """Let the viewer draw for a while."""
    from qtpy.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    QTimer.singleShot(int(1000 * seconds), loop.quit)
    loop.exec()


def save_results(viewer: Any, widget: Any, out: Path) -> list[Path]:
    """Save pictures of the window and the results of the slice."""
    import tifffile

    out.mkdir(parents=True, exist_ok=True)
    written = [out / "segment_membranes.png"]
    viewer.screenshot(str(written[0]), canvas_only=False, flash=False)
    index = widget.results.index_in_view(viewer)
    for name, array in (
        ("membranes", widget.results.probability),
        ("cells", widget.results.cells),
    ):
        path = out / f"em_stack_slice_{name}.tif"
        tifffile.imwrite(path, array[index], compression="zlib")
        written.append(path)
    recipe = out / "recipe.py"
    recipe.write_text(widget.results.recipe.as_python(), encoding="utf-8")
    return [*written, recipe]


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
