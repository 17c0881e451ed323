"""Take the pictures of the documentation again: `python docs/screenshots.py`.

Each scene opens a sample, uses a widget as a person would and saves the window, so that
the pictures stay true. Without a display: `tools/with_display.sh python …`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import napari
from npe2 import PluginManifest
from qtpy.QtCore import QDeadlineTimer

from napari_roteq.demo import PLUGIN, pause

IMAGES = Path(__file__).parent / "images"
WAIT = 1200.0  # seconds for one run, on a busy machine


def wait_for(widget: Any) -> None:
    """Let the viewer work until the widget is done."""
    limit = QDeadlineTimer(int(1000 * WAIT))
    while widget.is_running and not limit.hasExpired():
        pause(0.1)
    if widget.error is not None:
        sys.exit(widget.error.sentence)
    pause(1.5)


def dock(viewer: Any, name: str) -> Any:
    """Open a widget of the plugin alone at the right."""
    for title in list(viewer.window.dock_widgets):
        if PLUGIN in title or "RotEqNet" in title:
            viewer.window.remove_dock_widget(viewer.window.dock_widgets[title])
    _, widget = viewer.window.add_plugin_dock_widget(PLUGIN, name)
    pause(0.5)
    return widget


def shoot(viewer: Any, name: str) -> None:
    """Save a picture of the whole window."""
    pause(1.0)
    path = str(IMAGES / f"{name}.png")
    viewer.screenshot(path, canvas_only=False, flash=False)
    sys.stdout.write(f"{path}\n")


def show(viewer: Any, *names: str) -> None:
    """Show these layers and no others."""
    for layer in viewer.layers:
        layer.visible = layer.name in names


def segment(viewer: Any, model: str | None) -> None:
    """Segment a slice of the EM sample, near and far, dark and light."""
    viewer.open_sample(PLUGIN, "em-stack")
    widget = dock(viewer, "Segment membranes")
    if model is not None:
        widget.open_model(model)
    widget.start()
    wait_for(widget)
    show(viewer, "em_stack", "em_stack direction")
    shoot(viewer, "segment_direction")
    show(viewer, "em_stack", "em_stack membranes", "em_stack cells")
    shoot(viewer, "segment")
    viewer.theme = "light"
    shoot(viewer, "segment_light")
    viewer.theme = "dark"


def score(viewer: Any, model: str | None) -> None:
    """Score that slice and mark its mistakes."""
    show(viewer, "em_stack", "em_stack membranes")
    widget = dock(viewer, "Score")
    widget.start()
    wait_for(widget)
    widget.show_mistakes()
    wait_for(widget)
    viewer.layers["em_stack membranes"].opacity = 0.4
    shoot(viewer, "score")


def model_card(viewer: Any, model: str | None) -> None:
    """Show the card of the model."""
    widget = dock(viewer, "Model")
    widget.check()
    wait_for(widget)
    shoot(viewer, "model")


SCENES: dict[str, Callable[[Any, str | None], None]] = {
    "Segment membranes": segment,
    "Score": score,
    "Model": model_card,
}


def main() -> None:
    """Play the scenes of the widgets that the manifest lists, in one window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a model file instead of the shipped one")
    chosen = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    manifest = PluginManifest.from_distribution(PLUGIN)
    names = {each.display_name for each in manifest.contributions.widgets or ()}
    viewer = napari.Viewer()
    viewer.window.resize(1280, 720)
    for name, play in SCENES.items():
        if name in names:
            play(viewer, chosen.model)
    viewer.close()


if __name__ == "__main__":
    main()
