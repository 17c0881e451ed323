"""`roteq demo`: a rotating convolution at work on an image whose answer is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import typer

from roteq_core.angles import angle_from_vector, difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 160
TILTS_DEG = (0.0, 30.0)
# One leaf a row: place right and down of the center, half length and width in pixels,
# and the angle of its axis in radians.
LEAVES = np.array(
    [
        [-30, -18, 22, 9, 0.4],
        [24, -26, 14, 14, 0.0],
        [10, 30, 30, 8, -0.5],
    ]
)


class Scene(NamedTuple):
    """An image (H, W) and its true gradient (2, H, W), u to the right, v down."""

    image: np.ndarray
    gradient: np.ndarray


def demo(
    out: Path = typer.Option(Path("demo_output"), help="Folder for the figure."),
) -> None:
    """Find edges as vectors in an image and its turned copy, and draw them."""
    scenes = [leaves(math.radians(tilt)) for tilt in TILTS_DEG]
    fields = [edge_field(scene.image) for scene in scenes]
    out.mkdir(parents=True, exist_ok=True)
    file = out / "vector_field.png"
    figure(scenes, fields).savefig(file, dpi=120)
    for tilt, scene, field in zip(TILTS_DEG, scenes, fields, strict=True):
        error = median_angle_error(field, scene.gradient)
        typer.echo(f"Turned by {tilt:.0f}°: directions are {error:.2f}° off (median).")
    typer.echo(f"Figure: {file}")


def leaves(tilt: float) -> Scene:
    """Draw soft leaves, all turned about the center by `tilt` radians."""
    u, v = _from_center(SIZE)
    image, gradient = np.zeros((SIZE, SIZE)), np.zeros((2, SIZE, SIZE))
    for place_u, place_v, length, width, axis in LEAVES:
        middle = _turned(place_u, place_v, tilt)
        along, across = _turned(u - middle[0], v - middle[1], -axis - tilt)
        leaf = np.exp(-(((along / length) ** 2 + (across / width) ** 2) / 2))
        image += leaf
        slope = -leaf * along / length**2, -leaf * across / width**2
        gradient += _turned(*slope, axis + tilt)
    return Scene(image, gradient)


def _turned(u: np.ndarray, v: np.ndarray, angle: float) -> np.ndarray:
    """Turn vectors from right towards down; (...) each → (2, ...)."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.stack([cos * u - sin * v, sin * u + cos * v])


def _from_center(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Give u and v of each pixel from the center, (size, size) each."""
    steps = np.arange(size) - (size - 1) / 2
    u, v = np.meshgrid(steps, steps)
    return u, v


def edge_field(image: np.ndarray) -> np.ndarray:
    """Turn one edge filter through 16 orientations: (H, W) → a field (2, H, W)."""
    import torch

    from roteq_core.layers import RotConv

    layer = RotConv(1, 1, 9, orientations=16, vector_input=False, bias=False).double()
    u, v = _from_center(9)
    edge = u * np.exp(-(u**2 + v**2) / (2 * 1.5**2))  # dark left, bright right
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(edge))
        field = layer.eval()(torch.from_numpy(image)[None, None])
    return np.asarray(field[0, 0])


def median_angle_error(field: np.ndarray, truth: np.ndarray) -> float:
    """Median angle in degrees between two fields where the true one is strong."""
    strength = np.hypot(*truth)
    error = difference(angle_from_vector(*field), angle_from_vector(*truth))
    return float(np.rad2deg(np.median(np.abs(error[strength > strength.max() / 4]))))


def figure(scenes: list[Scene], fields: list[np.ndarray]) -> Figure:
    """Draw each image, and beside it its field: color is direction."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(9, 9), layout="constrained")
    rows = drawing.subplots(len(scenes), 2, squeeze=False)
    for axes, scene, field, tilt in zip(rows, scenes, fields, TILTS_DEG, strict=True):
        axes[0].imshow(scene.image, cmap="gray")
        axes[0].set_title(f"image, turned by {tilt:.0f}°")
        _draw_field(axes[1], field)
        axes[1].set_title("vector field of one rotating edge filter")
    for axis in rows.flat:
        axis.set_axis_off()
    return drawing


def _draw_field(axis: Axes, field: np.ndarray, step: int = 6) -> None:
    strength = np.hypot(*field)
    axis.imshow(strength, cmap="gray", vmax=2 * strength.max())
    rows, columns = np.mgrid[step // 2 : SIZE : step, step // 2 : SIZE : step]
    u, v = field[:, rows, columns]
    shown = np.hypot(u, v) > 0.05 * strength.max()
    axis.quiver(
        columns[shown],
        rows[shown],
        u[shown],
        v[shown],
        np.arctan2(v, u)[shown],
        cmap="hsv",
        clim=(-math.pi, math.pi),
        angles="xy",
        scale_units="xy",
        scale=strength.max() / (2 * step),
        width=0.005,
    )
