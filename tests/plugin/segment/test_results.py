import numpy as np
import pytest
from napari.components import ViewerModel

from napari_roteq._parts.model_choice import choose_model
from napari_roteq._segment.results import Results
from napari_roteq._segment.source import plan_work
from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain


@pytest.fixture
def viewer():
    return ViewerModel()


@pytest.fixture
def make(viewer, membrane_model):
    layer = viewer.add_image(np.zeros((3, 24, 60)), name="em", scale=(9, 2, 2))

    def make(part="whole stack", **options):
        work = plan_work(viewer, layer, part)
        chosen = SegmentOptions(model=membrane_model, **options)
        return Results(layer, work, chosen, choose_model(membrane_model))

    return make


def walls(*columns):
    """Give maps with upright membranes at these columns."""
    probability = np.full((24, 60), 0.01, np.float32)
    probability[:, columns] = 0.9
    cells = 1 + np.cumsum(probability[:1] > 0.5, axis=1).repeat(24, axis=0)
    angle = np.full((24, 60), np.pi / 2, np.float32)
    return {
        "probability": probability,
        "cells": cells.astype(np.int32),
        "angle": angle,
        "strength": np.ones_like(angle),
    }


def test_planes_fill_the_layers_as_they_come(viewer, make):
    results = make()
    results.put((1,), walls(20), 0.5)
    results.show(viewer)
    assert [layer.name for layer in viewer.layers] == ["em", "em membranes", "em cells"]
    shown = viewer.layers["em membranes"]
    results.put((0,), walls(30), 0.5)
    results.show(viewer)
    assert viewer.layers["em membranes"] is shown
    assert shown.data[0, 0, 30] == pytest.approx(0.9)


def test_direction_is_drawn_along_the_membrane_of_the_plane_in_view(viewer, make):
    results = make()
    viewer.dims.set_current_step(0, 1)
    results.put((1,), walls(20), 0.5)
    results.show_direction(viewer, 100)
    lines = viewer.layers["em direction"].data
    assert len(lines) > 0
    assert set(lines[:, 0, 0]) == {1.0}
    assert np.abs(lines[:, 1, 1]).min() > 10 * np.abs(lines[:, 1, 2]).max()
    np.testing.assert_allclose(lines[:, 0, 2], 20, atol=0.6)


def test_cells_are_linked_through_the_stack(make):
    results = make()
    for index in range(3):
        results.put((index,), walls(20), 0.5)
    results.cells[1] = np.where(results.cells[1] == 1, 7, 5)
    assert results.can_link
    drain(results.iter_link())
    np.testing.assert_array_equal(results.cells[0], results.cells[1])
    assert not results.can_link


def test_cells_of_time_points_are_linked_apart(viewer, membrane_model):
    layer = viewer.add_image(np.zeros((2, 2, 24, 60)), name="movie")
    work = plan_work(viewer, layer, "whole stack")
    options = SegmentOptions(model=membrane_model)
    results = Results(layer, work, options, choose_model(membrane_model))
    for index in np.ndindex(2, 2):
        results.put(index, walls(20), 0.5)
    drain(results.iter_link())
    first, second = np.unique(results.cells[0]), np.unique(results.cells[1])
    np.testing.assert_array_equal(results.cells[0, 0], results.cells[0, 1])
    assert len(first) == len(second) == 2
    assert not set(first) & set(second)


def test_another_threshold_makes_planes_stale(make):
    results = make()
    for index in range(3):
        results.put((index,), walls(20), 0.5)
    drain(results.iter_link())
    assert results.stale(0.5) == []
    results.put_cells((1,), results.cut((1,), 0.95), 0.95)
    assert len(np.unique(results.cells[1])) == 1
    assert results.stale(0.95) == [(0,), (2,)]


def test_maps_of_another_model_or_other_options_do_not_mix(make):
    results = make()
    same, other = make(threshold=0.3, device="cpu"), make(turns=2)
    fits = [
        results.fits(each.layer, each.work, each.options, each.model)
        for each in (same, other)
    ]
    assert fits == [True, False]


def test_recipe_is_in_the_metadata(viewer, make):
    results = make()
    results.put((0,), walls(20), 0.5)
    results.show(viewer)
    about = viewer.layers["em membranes"].metadata["roteq"]
    assert about["model"]["name"] == "tiny"
    assert about["job"] == "roteq_core.membranes.segment:iter_segment_file"


def test_layer_that_was_taken_away_stays_away(viewer, make):
    results = make()
    results.put((1,), walls(20), 0.5)
    viewer.dims.set_current_step(0, 1)
    results.show(viewer)
    results.show_direction(viewer, 100)
    del viewer.layers["em direction"]
    results.show_direction(viewer, 100, add=False)
    assert "em direction" not in viewer.layers


def test_selected_layer_stays_selected(viewer, make):
    results = make()
    viewer.layers.selection.active = viewer.layers["em"]
    results.put((1,), walls(20), 0.5)
    results.show(viewer)
    assert viewer.layers.selection.active is viewer.layers["em"]
