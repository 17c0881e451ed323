"""Regions are joined over their weakest boundaries first."""

from __future__ import annotations

import numpy as np

from roteq_core.membranes.region_graph import join_by_strength, touching_regions

# Three strips with a strong and a weak wall between them, one region below all.
LABELS = np.array([[1, 1, 2, 2, 3, 3]] * 4 + [[4] * 6])
STRENGTH = np.array([[0, 0.9, 0, 0.2, 0, 0]] * 4 + [[0.5] * 6])


def test_boundaries_have_the_strength_of_their_higher_pixels():
    graph = touching_regions(LABELS, STRENGTH)
    pairs = [tuple(pair) for pair in graph.pairs.tolist()]
    assert pairs == [(1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]
    mean = graph.total / graph.length
    np.testing.assert_allclose(mean, [0.9, 0.7, 0.2, 0.5, 0.5])
    assert graph.length.tolist() == [4, 2, 4, 2, 2]


def test_every_pair_of_pixels_knows_its_boundary():
    graph = touching_regions(LABELS, STRENGTH)
    assert graph.pixels.size == graph.edges.size == graph.length.sum()
    strengths = STRENGTH.ravel()[graph.pixels]
    sums = np.bincount(graph.edges, strengths, len(graph.pairs))
    np.testing.assert_allclose(sums, graph.total)


def test_the_weakest_boundary_goes_first_and_strengths_never_fall():
    graph = touching_regions(LABELS, STRENGTH)
    joins = join_by_strength(5, graph)
    assert joins.pairs[0].tolist() == [2, 3]
    assert len(joins.pairs) == 3
    assert (np.diff(joins.strength) >= 0).all()


def test_boundaries_vanish_with_the_wall_that_they_have_become_part_of():
    vanishing = join_by_strength(5, touching_regions(LABELS, STRENGTH)).vanishing
    # 2 and 3 are one at 0.2, and 4 joins them at 0.5. Then 1 is left, behind a wall of
    # four pixels of 0.9 and two of 0.7 on average.
    last = (4 * 0.9 + 2 * 0.7) / 6
    np.testing.assert_allclose(vanishing, [last, last, 0.2, 0.5, 0.5])


def test_label_0_touches_nothing():
    labels = np.array([[1, 0, 2], [1, 0, 2], [1, 1, 2]])
    graph = touching_regions(labels, np.full((3, 3), 0.5))
    assert graph.pairs.tolist() == [[1, 2]]
    assert graph.length.tolist() == [1]
