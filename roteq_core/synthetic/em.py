"""Stacks that look like serial-section electron microscopy, with known membranes.

The model is nervous tissue cut into 50 nm sections at 4 nm pixels: cells of all sizes
packed side by side, dark membranes that blur where they are cut slantwise, cytoplasm
with vesicles and microtubules, mitochondria with cristae, dark synapses, contrast that
drifts from slice to slice, noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from roteq_core.angles import wrap_axial
from roteq_core.synthetic.em_cells import Plane, Tissue, cut, grow_tissue
from roteq_core.synthetic.em_texture import (
    CellTraits,
    Mitochondrion,
    Synapse,
    cytoplasm,
    draw_mitochondrion,
    draw_synapses,
    random_mitochondria,
    random_synapses,
    random_traits,
    smooth_noise,
)

_PLANES = 4  # planes that add up to the image of one thick section


@dataclass(frozen=True)
class EMStack:
    """A stack and what is known about it; all arrays are (Z, H, W).

    Attributes
    ----------
    image : uint8 array
    membranes : bool array
        True on membranes, slantwise ones included.
    cells : int32 array
        The cell of each pixel, the same through all slices; 0 on membranes.
    direction : float32 array
        Axial angle along the membrane, radians from right towards down in [0, π).
    direction_mask : bool array
        Membrane pixels where there is one clear direction (no junctions).
    """

    image: np.ndarray
    membranes: np.ndarray
    cells: np.ndarray
    direction: np.ndarray
    direction_mask: np.ndarray


def em_stack(
    slices: int = 30,
    size: int | tuple[int, int] = 512,
    *,
    seed: int,
    drift_px: float = 3.0,
    membrane_px: float = 2.7,
    contrast: float = 1.0,
    noise: float = 1.0,
    only: Sequence[int] | None = None,
) -> EMStack:
    """Draw a stack of sections of nervous tissue.

    Parameters
    ----------
    slices : int
        Number of slices, Z.
    size : int or (int, int)
        Rows and columns.
    seed : int
        The same seed and arguments give the same stack.
    drift_px : float
        How fast cells move sideways, in pixels a slice; slant membranes follow.
    membrane_px : float
        Half width of a membrane that is cut upright, in pixels.
    contrast, noise : float
        Factors; 1 is like the ISBI 2012 stack.
    only : sequence of int, optional
        Draw these slices alone; they are the same as in the whole stack.
    """
    shape = (size, size) if isinstance(size, int) else size
    if slices < 1:
        raise ValueError(f"slices must be at least 1, got {slices}")
    if min(shape) < 32:
        raise ValueError(f"size must be at least 32, got {size}")
    if membrane_px <= 0:
        raise ValueError(f"membrane_px must be positive, got {membrane_px}")
    chosen = range(slices) if only is None else only
    if not chosen or not all(0 <= k < slices for k in chosen):
        raise ValueError(f"only must name slices below {slices}, got {only}")
    specimen = _grow(seed, slices, shape, drift_px)
    sections = [_cut(specimen, k, membrane_px, contrast, noise) for k in chosen]
    return EMStack(*(np.stack(part) for part in zip(*sections, strict=True)))


@dataclass(frozen=True)
class _Specimen:
    """All that is decided before slices are drawn."""

    seed: int
    tissue: Tissue
    traits: CellTraits
    mitochondria: list[Mitochondrion]
    synapses: list[Synapse]


def _grow(seed: int, slices: int, shape: tuple[int, int], drift: float) -> _Specimen:
    rng = np.random.default_rng(seed)
    tissue = grow_tissue(rng, slices, shape, drift=drift)
    return _Specimen(
        seed,
        tissue,
        random_traits(rng, int(tissue.cells.max())),
        random_mitochondria(rng, tissue, slices),
        random_synapses(rng, slices, shape),
    )


def _cut(
    specimen: _Specimen, index: int, half_width: float, contrast: float, noise: float
) -> tuple[np.ndarray, ...]:
    """Draw one slice; give its arrays in the order of EMStack's fields."""
    rng = np.random.default_rng([specimen.seed, index])
    plane = cut(specimen.tissue, index + 0.5)
    walls = _walls(specimen.tissue, index, half_width)
    content = _content(rng, specimen, plane, index)
    image = _expose(rng, walls, content, contrast, noise)
    membranes = (plane.distance < half_width) | (walls > 0.42)
    cells = np.where(membranes, 0, plane.cells).astype(np.int32)
    direction, coherence = _direction(plane)
    return image, membranes, cells, direction, membranes & (coherence > 0.8)


def _walls(tissue: Tissue, index: int, half_width: float) -> np.ndarray:
    """Add up the membranes of a thick section: slant ones come out broad and faint."""
    depths = index + (np.arange(_PLANES) + 0.5) / _PLANES
    planes = [np.exp(-((cut(tissue, d).distance / half_width) ** 2)) for d in depths]
    return np.asarray(np.mean(planes, axis=0), dtype=np.float32)


def _content(
    rng: np.random.Generator, specimen: _Specimen, plane: Plane, index: int
) -> np.ndarray:
    """Draw the density of everything but membranes."""
    density = cytoplasm(rng, plane, specimen.traits)
    for mito in specimen.mitochondria:
        draw_mitochondrion(density, mito, specimen.tissue, plane, index + 0.5)
    blots = draw_synapses(rng, specimen.synapses, plane, index)
    return np.asarray(density + blots)


def _expose(
    rng: np.random.Generator,
    walls: np.ndarray,
    content: np.ndarray,
    contrast: float,
    noise: float,
) -> np.ndarray:
    """Turn density into an 8-bit slice with its own contrast, shading and noise."""
    shape = walls.shape
    uneven = 1 + 0.12 * smooth_noise(rng, shape, 9.0)
    density = content * (1 - 0.5 * walls) + 1.15 * walls * uneven
    density = ndimage.gaussian_filter(density, 0.8)
    shade = 6 * smooth_noise(rng, shape, max(shape) / 5)
    gain, level = rng.normal(88, 3) * contrast, rng.normal(153, 6)
    picture = level + shade - gain * density
    grain = rng.uniform(15, 25) * noise
    picture += grain * smooth_noise(rng, shape, 0.72)
    return np.asarray(np.clip(np.rint(picture), 0, 255), dtype=np.uint8)


def _direction(plane: Plane) -> tuple[np.ndarray, np.ndarray]:
    """Give the axial angle along the nearest membrane, and how clear it is (0..1)."""
    down, right = np.gradient(plane.gap)
    terms = (right * right, down * down, right * down)
    xx, yy, xy = (ndimage.gaussian_filter(term, 2.0) for term in terms)
    across = 0.5 * np.arctan2(2 * xy, xx - yy)
    coherence = np.hypot(xx - yy, 2 * xy) / np.maximum(xx + yy, 1e-6)
    return wrap_axial(across + np.pi / 2).astype(np.float32), coherence
