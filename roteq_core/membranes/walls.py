"""Close membranes: each piece of a wall is as strong as the whole wall.

Where a membrane fades, its pixels are weak, and a threshold on pixels lets two cells
run into each other. But the wall that parts them is longer than its gap. Here the image
is cut along every ridge, as for cells (`roteq_core.membranes.cells`), and regions are
joined in the order of the mean strength along their common boundary. The strength at
which a piece of boundary vanishes says how strong the wall is that it belongs to: a gap
in a strong wall is raised, and what is left of a wall that is mostly gap is lowered.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy import ndimage

from roteq_core.jobs import Job, Report, drain
from roteq_core.membranes.cells import SMOOTHING, oversegment
from roteq_core.membranes.gap_joining import join_gaps
from roteq_core.membranes.region_graph import join_by_strength, touching_regions
from roteq_core.tiles import Span

# Large images are closed in blocks of about this side, which read so many pixels around
# them: what is in flight stays small, and a wall reaches no further.
BLOCK = 1024
MARGIN = 128
# Weaker walls are not raised: they are ridges within cells, of which there are many.
WEAK = 0.25
# How far pixels are brought to the strength of their wall: a close choice, told in
# docs/results.md.
SHARE = 0.75
# Half the side of the square around a wall's line whose pixels belong to the wall.
REACH = 4


def mend_membranes(
    probability: np.ndarray, cos2: np.ndarray, sin2: np.ndarray
) -> np.ndarray:
    """Join gaps along the direction, then close walls, as `roteq segment` does."""
    return close_walls(join_gaps(probability, cos2, sin2))


def close_walls(
    probability: np.ndarray, outside: np.ndarray | None = None
) -> np.ndarray:
    """Close the walls of an image at once; see `iter_close_walls`."""
    return drain(iter_close_walls(probability, outside))


def iter_close_walls(
    probability: np.ndarray, outside: np.ndarray | None = None
) -> Job[np.ndarray]:
    """Bring pixels of walls near to the strength of their wall, block by block.

    Parameters
    ----------
    probability : float32 array of shape (H, W)
        Of membrane, in [0, 1].
    outside : bool array of shape (H, W), optional
        Where there is no image, as around aligned slices: a wall ends there as at the
        border. Otherwise cells would run into each other through it.

    Returns
    -------
    float32 array of shape (H, W)
        A few pixels around any line between two regions no more than the probability
        brought to the strongest wall there by a `SHARE` of the way; on the line of a
        wall that is not `WEAK`, three pixels wide, no less than that with its strength.
    """
    closed = np.empty_like(probability)
    rows, columns = (_even_parts(side) for side in probability.shape)
    blocks = [(row, column) for row in rows for column in columns]
    for done, block in enumerate(blocks):
        read = [
            span.grown(MARGIN, side)
            for span, side in zip(block, probability.shape, strict=True)
        ]
        part = read[0].slice, read[1].slice
        found = _closed(probability[part], None if outside is None else outside[part])
        inside = block[0].within(read[0]), block[1].within(read[1])
        closed[block[0].slice, block[1].slice] = found[inside]
        yield Report(done + 1, len(blocks), "closing walls")
    return closed


def wall_strength(
    probability: np.ndarray, outside: np.ndarray | None = None
) -> np.ndarray:
    """Strength of the wall on the lines between regions, (H, W); 0 elsewhere."""
    fine = oversegment(probability, SMOOTHING, outside)
    graph = touching_regions(fine, probability)
    assert graph.pixels is not None
    vanishing = join_by_strength(int(fine.max()) + 1, graph).vanishing
    strength = np.zeros(probability.size, np.float32)
    np.maximum.at(strength, graph.pixels, vanishing[graph.edges].astype(np.float32))
    return strength.reshape(probability.shape)


def _closed(probability: np.ndarray, outside: np.ndarray | None) -> np.ndarray:
    strength = wall_strength(probability, outside)
    near = ndimage.maximum_filter(strength, 2 * REACH + 1, mode="constant")
    lower = np.minimum(probability, _brought(probability, near))
    lowered = np.where(near > 0, lower, probability)
    # Lines of a single pixel would not outlive a change of pixel size.
    wide = ndimage.maximum_filter(strength, 3, mode="constant")
    raised = np.where(wide >= WEAK, _brought(probability, wide), 0)
    closed: np.ndarray = np.maximum(lowered, raised)
    return closed.astype(np.float32)


def _brought(probability: np.ndarray, strength: np.ndarray) -> np.ndarray:
    return np.asarray((1 - SHARE) * probability + SHARE * strength)


def _even_parts(length: int) -> list[Span]:
    """Cut a side into equal parts of at most a block: alike from both ends."""
    count = max(1, -(-length // BLOCK))
    ends = np.linspace(0, length, count + 1).round().astype(int).tolist()
    return [Span(a, b) for a, b in itertools.pairwise(ends)]
