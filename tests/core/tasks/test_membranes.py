from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile
import torch

from roteq_core.config import TrainConfig
from roteq_core.networks import MembraneMaps
from roteq_core.tasks.membrane_targets import BESIDE, CENTER, IGNORED, INSIDE
from roteq_core.tasks.membranes import (
    MembraneTask,
    axis_angle,
    membrane_loss,
    membrane_targets,
    membranes_from_labels,
    predict_plane,
)


def upright_membrane(width=8):
    membranes = np.zeros((40, 48), bool)
    membranes[:, 20 : 20 + width] = True
    return membranes


def test_classes_stand_in_their_order_across_a_membrane():
    classes = membrane_targets(upright_membrane(10)).classes[20]
    order = [c for i, c in enumerate(classes) if i == 0 or c != classes[i - 1]]
    one_side = [INSIDE, BESIDE, IGNORED, CENTER]
    assert order == one_side + one_side[-2::-1]
    assert (classes == CENTER).sum() == 5
    assert (classes == BESIDE).sum() == 8


def test_direction_runs_along_the_membrane():
    targets = membrane_targets(upright_membrane())
    cos2, sin2 = targets.axes[:, 20]
    on = targets.classes[20] == CENTER
    assert cos2[on].max() < -0.8  # upright: θ = 90°
    assert np.abs(sin2[on]).max() < 0.1
    assert not cos2[~on].any()


def test_unlabelled_pixels_are_not_asked_about():
    known = np.ones((40, 48), bool)
    known[:20] = False
    targets = membrane_targets(upright_membrane(), known)
    assert (targets.classes[:20] == IGNORED).all()
    assert not targets.skeleton[:20].any()
    assert not targets.axes[:, :20].any()
    assert targets.skeleton[20:].any()


def test_rim_of_what_is_known_is_not_asked_about():
    known = np.zeros((40, 48), bool)
    known[:, :30] = True  # a membrane may follow at once
    targets = membrane_targets(np.zeros((40, 48), bool), known)
    assert (targets.classes[:, :26] == INSIDE).all()
    assert (targets.classes[:, 26:] == IGNORED).all()


def test_narrow_strokes_are_asked_about_whole():
    known = np.zeros((40, 48), bool)
    known[10:16, 5:40] = True
    targets = membrane_targets(np.zeros((40, 48), bool), known)
    assert ((targets.classes == INSIDE) == known).all()


def test_slice_without_membranes_is_all_inside():
    targets = membrane_targets(np.zeros((16, 16), bool))
    assert (targets.classes == INSIDE).all()
    assert not targets.axes.any()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (lambda em: em.membranes.astype(np.uint8) * 255, None),
        (lambda em: (~em.membranes).astype(np.uint8) * 255, None),
        (lambda em: em.cells, None),
        (lambda em: (~em.membranes).astype(np.uint8), "cells"),
    ],
)
def test_membranes_are_read_from_any_labels(em, labels, kind):
    membranes, known = membranes_from_labels(labels(em), kind)
    assert known.all()
    assert (membranes == em.membranes).mean() > 0.99


def test_ignored_labels_are_neither_membrane_nor_cell(em):
    labels = np.where(em.membranes, 1, 0).astype(np.uint8)
    labels[:, :10] = 7
    membranes, known = membranes_from_labels(labels, "membranes", ignore=7)
    assert not known[:, :10].any()
    assert not membranes[:, :10].any()
    assert known[:, 10:].all()


def test_task_keeps_held_out_slices_away_from_training(em, tiny_config):
    task = MembraneTask(
        em.image, em.membranes, held_out=range(3, 5), network=tiny_config
    )
    assert sorted(task.targets) == [0, 1, 2]
    batch = task.batch(TrainConfig(batch=3, crop=32), np.random.default_rng(0))
    assert batch["image"].shape == (3, 1, 32, 32)
    assert batch["classes"].shape == (3, 32, 32)
    assert batch["axes"].shape == (3, 2, 32, 32)
    assert set(batch["classes"].unique().tolist()) <= {0, 1, 2, 3}


def test_sharp_crops_have_the_same_targets_and_more_detail(em, tiny_config):
    task = MembraneTask(em.image, em.membranes, network=tiny_config)
    config = TrainConfig(batch=4, crop=64, exact=0, intensity=0, scale=0, elastic=0)
    sharp, soft = (
        task.batch(replace(config, sharp=is_sharp), np.random.default_rng(0))
        for is_sharp in (True, False)
    )
    assert torch.equal(sharp["classes"], soft["classes"])
    detail = [batch["image"].diff(dim=-1).square().mean() for batch in (sharp, soft)]
    assert detail[0] > 1.1 * detail[1]


def test_perfect_answers_cost_next_to_nothing(em, tiny_config):
    task = MembraneTask(em.image, em.membranes, network=tiny_config)
    batch = task.batch(TrainConfig(batch=2, crop=48), np.random.default_rng(0))
    asked = batch["classes"].clamp(max=2)
    scores = 20.0 * torch.nn.functional.one_hot(asked, 3).movedim(-1, 1).float()
    loss, parts = membrane_loss(MembraneMaps(scores, batch["axes"]), batch)
    assert parts["class"] < 1e-4
    assert parts["direction"] < 1e-4
    assert loss < 0.1
    wrong, _ = membrane_loss(MembraneMaps(-scores, -batch["axes"]), batch)
    assert wrong > 10


def test_gap_in_a_membrane_costs_more_than_a_weak_pixel_beside_it():
    classes = torch.from_numpy(membrane_targets(upright_membrane()).classes.astype(int))
    targets = membrane_targets(upright_membrane()).maps()
    batch = {
        "classes": classes[None],
        "skeleton": torch.from_numpy(targets[1:2])[None],
        "axes": torch.from_numpy(targets[2:])[None],
    }
    good = 8.0 * torch.nn.functional.one_hot(classes.clamp(max=2), 3)
    good = good.movedim(-1, 0)[None].float()
    gap, edge = good.clone(), good.clone()
    rows = slice(18, 22)
    gap[:, :, rows] = good[:, :, rows][..., :1]  # the line is cut
    on_line = targets[1] > 0
    column = int(np.flatnonzero(on_line[20])[0])
    edge[:, :, rows, column + 2] = good[:, :, rows, 0]
    cost = {
        name: membrane_loss(MembraneMaps(s, batch["axes"]), batch)[1]["gap"]
        for name, s in (("good", good), ("gap", gap), ("edge", edge))
    }
    assert cost["gap"] > 10 * max(cost["good"], cost["edge"], 1e-4)


def test_validation_leaves_out_unlabelled_pixels(em, tiny_model):
    known = np.ones(em.image.shape, bool)
    known[4, :, 32:] = False
    wrong = em.membranes.copy()
    wrong[4, :, 32:] = True  # would be scored, were it known
    rows = [
        MembraneTask(
            em.image, labels, known, held_out=[4], network=tiny_model.networks[0].config
        ).validate(tiny_model.networks[0], torch.device("cpu"))
        for labels in (em.membranes & known, wrong & known)
    ]
    assert rows[0]["v_rand"] == rows[1]["v_rand"]
    assert 0 < rows[0]["score"] <= 1
    assert 0 <= rows[0]["direction_deg"] <= 90
    assert rows[0]["preview"].shape == (64, 64)


def test_validation_needs_no_membranes(em, tiny_model):
    empty = em.membranes.copy()
    empty[4] = False
    task = MembraneTask(
        em.image, empty, held_out=[4], network=tiny_model.networks[0].config
    )
    row = task.validate(tiny_model.networks[0], torch.device("cpu"))
    assert "direction_deg" not in row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"membranes": np.zeros((5, 64, 63), bool)},
            r"\(5, 64, 64\) and \(5, 64, 63\)",
        ),
        ({"known": np.zeros((5, 64, 64), bool)}, "no pixel of the training slices"),
        ({"held_out": [1, 3]}, "must be one block"),
        ({"held_out": [7]}, r"must lie in 0…4, got \[7\]"),
        ({"held_out": range(5)}, "no slice is left to train on"),
        ({"images": np.zeros((64, 64))}, r"must have shape \(Z, H, W\)"),
    ],
)
def test_data_that_do_not_fit_are_refused(em, change, message):
    given = {"images": em.image, "membranes": em.membranes, **change}
    with pytest.raises(ValueError, match=message):
        MembraneTask(**given)


def test_held_out_slices_without_a_labelled_cell_are_refused(em):
    known = np.ones(em.image.shape, bool)
    known[4] = False
    with pytest.raises(ValueError, match=r"held-out slices \[4\] show no labelled"):
        MembraneTask(em.image, em.membranes, known, held_out=[4])


def test_axis_never_reaches_half_a_turn():
    tiny = np.array([-1e-9, 0.0, 1e-9], np.float32)
    angle = axis_angle(np.ones(3, np.float32), tiny)
    assert angle.dtype == np.float32
    assert ((angle >= 0) & (angle < np.pi)).all()


@pytest.mark.real_data
def test_labels_of_the_challenge_are_read_the_right_way(real_data, tiny_model):
    folder = real_data / "isbi2012"
    image = tifffile.imread(folder / "train-volume.tif", key=range(2))[:, :128, :128]
    labels = tifffile.imread(folder / "train-labels.tif", key=range(2))[:, :128, :128]
    membranes, _ = membranes_from_labels(labels)
    assert (membranes == (labels == 0)).all()
    assert image[membranes].mean() < image[~membranes].mean()
    maps = predict_plane(
        tiny_model.networks[0], image[0].astype(np.float32), torch.device("cpu")
    )
    assert maps[0].shape == (128, 128)
