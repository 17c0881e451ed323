"""A scene of cars with bright fronts, their table, and a person who reviews it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from imageio import v3 as imageio
from qtpy.QtCore import QPoint
from qtpy.QtWidgets import QApplication
from skimage.draw import polygon

from roteq_core.tables import MACHINE, Car, CarTable, box_corners, write_cars

LENGTH, WIDTH = 40.0, 18.0
FLIPPED = (2, 3, 7, 11, 16)  # of the twenty cars


def cars(count=20, columns=5, seed=0, flipped=()):
    """Give cars on a grid with the headings of a machine, some of them flipped."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        place = 60.0 + 80.0 * (i % columns), 60.0 + 80.0 * (i // columns)
        heading = float(rng.uniform(0, 360)) + (180.0 if i in flipped else 0.0)
        made.append(
            Car(
                *place,
                LENGTH,
                WIDTH,
                heading,
                heading_sd_deg=float(rng.uniform(1, 9)),
                p_flip=float(rng.uniform(0, 0.3)),
                status=MACHINE,
                source="cars 1.0",
                id=f"c{i:02}",
            )
        )
    return CarTable(tuple(made))


def pixels(table, flipped=()):
    """Draw the cars, dark with a bright front, where they truly point."""
    size = int(max(max(car.cx, car.cy) for car in table)) + 80
    image = np.full((size, size, 3), 110, np.uint8)
    for i, car in enumerate(table):
        turned = car.heading_cw_from_up_deg + (180.0 if i in flipped else 0.0)
        fl, rl, rr, fr = box_corners(replace(car, heading_cw_from_up_deg=turned))
        half_left, half_right = (fl + rl) / 2, (fr + rr) / 2
        for corners, color in (
            ((half_left, rl, rr, half_right), 20),
            ((fl, half_left, half_right, fr), 240),
        ):
            x, y = np.array(corners).T
            image[polygon(y, x, image.shape[:2])] = color
    return image


def write_scene(folder: Path, flipped=(), count=20, columns=5):
    """Write `scene.png` and `cars.csv`; give both."""
    table = cars(count, columns, flipped=flipped)
    image = folder / "scene.png"
    imageio.imwrite(image, pixels(table, flipped))
    write_cars(table, folder / "cars.csv")
    return image, folder / "cars.csv"


def looks_flipped(loupe):
    """Judge a car by what the loupe shows: its bright half must be up."""
    shown = loupe.grab().toImage()
    x, middle = shown.width() // 2, shown.height() // 2
    step = min(shown.width(), shown.height()) // 8
    above, below = (shown.pixelColor(x, middle + s).lightness() for s in (-step, step))
    return above < below


def settle(widget):
    """Let the viewer draw."""
    for _ in range(3):
        QApplication.processEvents()
    if widget.review is not None:
        widget.review.draw()


def on_canvas(viewer, widget, x, y):
    """Give the point of the canvas where a pixel of the image is."""
    row, column = widget.review.frame.to_world(x, y)
    camera, size = viewer.scene.camera, viewer.canvas.size
    down = (row - camera.center[-2]) * camera.zoom + size[0] / 2
    right = (column - camera.center[-1]) * camera.zoom + size[1] / 2
    return QPoint(round(right), round(down))


def by_id(table):
    return {car.id: car for car in table}
