"""Regions that touch, and the order in which to join them: weakest boundary first."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Boundaries:
    """Which regions touch, E pairs of them, and where.

    Parameters
    ----------
    pairs : int array of shape (E, 2)
        The lower label first.
    total, length : float arrays of shape (E,)
        Summed strength along each boundary, and how many pairs of pixels it has.
    pixels, edges : int arrays of shape (P,), optional
        For each pair of touching pixels the place of the stronger one in the flattened
        image, and the index of its boundary.
    """

    pairs: np.ndarray
    total: np.ndarray
    length: np.ndarray
    pixels: np.ndarray | None = None
    edges: np.ndarray | None = None


@dataclass(frozen=True)
class Joins:
    """In which order regions are joined.

    Parameters
    ----------
    pairs : int array of shape (J, 2)
    strength : float array of shape (J,)
        At which each pair is joined, ascending.
    vanishing : float array of shape (E,)
        Strength at which each of the boundaries there were at first is gone.
    """

    pairs: np.ndarray
    strength: np.ndarray
    vanishing: np.ndarray


def touching_regions(labels: np.ndarray, probability: np.ndarray) -> Boundaries:
    """Find touching regions; of two pixels at a boundary the higher counts.

    Label 0 is no region: it touches nothing.
    """
    low, high, strength, pixels = [], [], [], []
    places = np.arange(labels.size).reshape(labels.shape)
    for axis in (0, 1):
        first, second = labels.swapaxes(0, axis)[:-1], labels.swapaxes(0, axis)[1:]
        walls, where = probability.swapaxes(0, axis), places.swapaxes(0, axis)
        edge = (first != second) & (first > 0) & (second > 0)
        low.append(np.minimum(first[edge], second[edge]))
        high.append(np.maximum(first[edge], second[edge]))
        before, after = walls[:-1][edge], walls[1:][edge]
        strength.append(np.maximum(before, after))
        pixels.append(np.where(before >= after, where[:-1][edge], where[1:][edge]))
    values = np.concatenate(strength).astype(float)
    return sum_boundaries(
        np.concatenate(low).astype(np.int64),
        np.concatenate(high).astype(np.int64),
        values,
        np.ones_like(values),
        int(labels.max()) + 1,
        np.concatenate(pixels),
    )


def sum_boundaries(
    low: np.ndarray,
    high: np.ndarray,
    total: np.ndarray,
    length: np.ndarray,
    size: int,
    pixels: np.ndarray | None = None,
) -> Boundaries:
    """Add up the boundaries of equal pairs."""
    codes, index = np.unique(low * size + high, return_inverse=True)
    return Boundaries(
        pairs=np.stack(np.divmod(codes, size), axis=1).reshape(-1, 2),
        total=np.bincount(index, total, codes.size),
        length=np.bincount(index, length, codes.size),
        pixels=pixels,
        edges=None if pixels is None else index.reshape(-1),
    )


# Summed strength, length, and which of the first boundaries it is made of.
_Edge = tuple[float, float, list[int]]


def join_by_strength(size: int, graph: Boundaries) -> Joins:
    """Join the two regions of the weakest boundary, again and again.

    Boundaries to the same neighbor add up, so strengths never fall on the way.
    """
    around: list[dict[int, _Edge]] = [{} for _ in range(size)]
    edges = zip(
        graph.pairs.tolist(), graph.total.tolist(), graph.length.tolist(), strict=True
    )
    queue = []
    for number, ((low, high), total, length) in enumerate(edges):
        around[low][high] = around[high][low] = (total, length, [number])
        queue.append((total / length, low, high, length))
    heapq.heapify(queue)
    pairs, strengths = [], []
    vanishing = np.zeros(len(graph.pairs))
    while queue:
        strength, low, high, length = heapq.heappop(queue)
        known = around[low].get(high)
        if known is None or known[1] != length:
            continue  # joined or grown since
        pairs.append((low, high))
        strengths.append(strength)
        vanishing[known[2]] = strength
        kept, gone = (
            (low, high) if len(around[low]) >= len(around[high]) else (high, low)
        )
        for grown, edge in _absorb(around, kept, gone):
            low, high = min(kept, grown), max(kept, grown)
            heapq.heappush(queue, (edge[0] / edge[1], low, high, edge[1]))
    return Joins(np.array(pairs, int).reshape(-1, 2), np.array(strengths), vanishing)


def _absorb(
    around: list[dict[int, _Edge]], kept: int, gone: int
) -> list[tuple[int, _Edge]]:
    """Give one region's boundaries to another; returns those that changed."""
    del around[kept][gone], around[gone][kept]
    changed = []
    for neighbor, (total, length, parts) in around[gone].items():
        del around[neighbor][gone]
        old_total, old_length, old_parts = around[kept].get(neighbor, (0.0, 0.0, []))
        edge = (total + old_total, length + old_length, old_parts + parts)
        around[kept][neighbor] = around[neighbor][kept] = edge
        changed.append((neighbor, edge))
    around[gone] = {}
    return changed


def weakest_neighbor(
    graph: Boundaries, small: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Give each small cell and the neighbor behind its weakest boundary."""
    own = np.concatenate([graph.pairs[:, 0], graph.pairs[:, 1]])
    other = np.concatenate([graph.pairs[:, 1], graph.pairs[:, 0]])
    strength = np.tile(graph.total / graph.length, 2)
    order = np.lexsort((other, strength, own))
    order = order[small[own[order]]]
    _, first = np.unique(own[order], return_index=True)
    return own[order][first], other[order][first]
