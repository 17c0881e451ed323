"""Take the pictures of the documentation again: `python docs/screenshots.py`.

Each scene opens a sample, uses a widget as a person would and saves the window, so that
the pictures stay true. Without a display: `tools/with_display.sh python …`.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import napari
import numpy as np
from npe2 import PluginManifest
from qtpy.QtCore import QDeadlineTimer
from scipy import ndimage
from skimage.morphology import skeletonize

from napari_roteq._field.results import FieldStyle
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


def strokes(truth: Any, z: int) -> Any:
    """Paint as a person would: 1 along a few membranes, 2 in a few cells of a slice."""
    rng = np.random.default_rng(0)
    labels = np.zeros(truth.shape, np.uint8)
    wall = truth[z] == 0
    line = skeletonize(wall)
    deep = ndimage.distance_transform_edt(~wall) > 5
    rows, columns = np.indices(wall.shape)
    for _ in range(6):
        row, column = rng.choice(np.argwhere(line))
        near = (abs(rows - row) < 25) & (abs(columns - column) < 25)
        labels[z][ndimage.binary_dilation(line & near) & wall] = 1
    for _ in range(14):
        row, column = rng.choice(np.argwhere(deep))
        near = (abs(rows - row) < 2) & (abs(columns - column) < 15)
        labels[z][near & (truth[z] == truth[z, row, column])] = 2
    return labels


def train(viewer: Any, model: str | None) -> None:
    """Paint a few strokes, check them, train, and look while it learns."""
    viewer.layers.clear()
    viewer.open_sample(PLUGIN, "em-stack")
    image, truth = viewer.layers["em_stack"], viewer.layers["em_stack truth"]
    labels = strokes(np.asarray(truth.data), 5)
    viewer.layers.remove(truth)
    place = {"scale": image.scale, "units": image.units}
    viewer.add_labels(labels, name="strokes", opacity=0.9, **place)
    viewer.dims.set_current_step(0, 5)
    widget = dock(viewer, "Train")
    pause(0.5)
    viewer.reset_view()
    with tempfile.TemporaryDirectory() as runs:
        widget.settings.runs.set_value(runs)
        widget.check()
        wait_for(widget)
        shoot(viewer, "train_data")
        asked = widget.value()
        short = replace(asked.train, steps=200, epoch_steps=20)
        widget.set_value(replace(asked, train=short))
        widget.start()
        limit = QDeadlineTimer(int(1000 * WAIT))
        while len(widget.curves.rows) < 9 and not limit.hasExpired():
            pause(0.1)
        shoot(viewer, "train")
        viewer.theme = "light"
        shoot(viewer, "train_light")
        viewer.theme = "dark"
        widget.controls.bar.stop()
        wait_for(widget)


def headings(viewer: Any, model: str | None) -> None:
    """Let the heading model look at the cars of the aerial sample."""
    viewer.layers.clear()
    viewer.open_sample(PLUGIN, "aerial-scene")
    viewer.reset_view()
    widget = dock(viewer, "Car headings")
    widget.start()
    wait_for(widget)
    viewer.layers["aerial_scene true cars"].visible = False
    shoot(viewer, "headings")


def review(viewer: Any, model: str | None) -> None:
    """Review what the model said of these cars."""
    if "aerial_scene" not in viewer.layers:
        headings(viewer, model)
    boxes = viewer.layers["aerial_scene car boxes"]
    widget = dock(viewer, "Review headings")
    widget.choose(boxes, viewer.layers["aerial_scene"])
    with tempfile.TemporaryDirectory() as folder:
        widget.open_table(str(Path(folder) / "aerial_scene_cars.csv"))
        widget.start()
        for command in ["accept", "flip", "accept", "reject", *["accept"] * 6]:
            widget.run(command)
        middle = np.array(viewer.layers["aerial_scene"].data.shape[1::-1]) / 2
        cars = {car.id: (car.cx, car.cy) for car in widget.queue.cars()}
        widget.queue.go_to(min(cars, key=lambda i: math.dist(cars[i], middle)))
        shoot(viewer, "review")
        widget.show_tab("Progress")
        viewer.theme = "light"
        shoot(viewer, "review_light")
        viewer.theme = "dark"
        widget.save()
        widget.close_review()


def field(viewer: Any, model: str | None) -> None:
    """Look inside the membrane model: a field, its filters, and turning the image."""
    viewer.layers.clear()
    viewer.open_sample(PLUGIN, "em-stack")
    show(viewer, "em_stack")
    widget = dock(viewer, "Vector field")
    widget.open_model(model or "membranes")
    widget.set_value(replace(widget.value(), layer="blocks.0"))
    widget.set_filter(1)
    viewer.reset_view()
    scene = getattr(viewer, "scene", viewer)
    scene.camera.zoom *= 1.5
    widget.start()
    wait_for(widget)
    shoot(viewer, "field")
    widget.turn()
    wait_for(widget)
    shoot(viewer, "field_turn")
    widget.open_filters()
    viewer.theme = "light"
    wait_for(widget)
    shoot(viewer, "field_filters_light")
    viewer.theme = "dark"
    car_field(viewer)


def car_field(viewer: Any) -> None:
    """Look at the headings inside the car finder, then turn the cars."""
    viewer.layers.clear()
    viewer.open_sample(PLUGIN, "aerial-scene")
    widget = dock(viewer, "Vector field")
    widget.open_model("car-finder")
    viewer.reset_view()
    scene = getattr(viewer, "scene", viewer)
    scene.camera.zoom *= 1.8
    widget.set_style(FieldStyle(gate=0.5, length=2.0))
    widget.start()
    wait_for(widget)
    widget.open_model("cars")
    widget.turn()
    wait_for(widget)
    shoot(viewer, "field_cars")


SCENES: dict[str, Callable[[Any, str | None], None]] = {
    "Segment membranes": segment,
    "Score": score,
    "Model": model_card,
    "Vector field": field,
    "Train": train,
    "Car headings": headings,
    "Review headings": review,
}


def main() -> None:
    """Play the scenes of the widgets that the manifest lists, in one window."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a model file instead of the shipped one")
    parser.add_argument("--only", help="the scene of one widget, such as Train")
    chosen = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    manifest = PluginManifest.from_distribution(PLUGIN)
    names = {each.display_name for each in manifest.contributions.widgets or ()}
    viewer = napari.Viewer()
    viewer.window.resize(1280, 720)
    for name, play in SCENES.items():
        if name in names and chosen.only in (None, name):
            play(viewer, chosen.model)
    viewer.close()


if __name__ == "__main__":
    main()
