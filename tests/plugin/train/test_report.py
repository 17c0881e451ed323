from __future__ import annotations

import numpy as np
import pytest

from napari_roteq._train.report import (
    cost_lines,
    ended_early,
    frame_lines,
    overfitting_since,
    progress_text,
    stack_lines,
)
from roteq_core.cars.examples import CarFrame
from roteq_core.cars.held import hold_out_cars
from roteq_core.membranes.labelled_stack import make_stack
from roteq_core.normalize import fit_normalization
from roteq_core.synthetic import em_stack
from roteq_core.tables import Car


@pytest.fixture(scope="module")
def em():
    return em_stack(3, 96, seed=5)


def stack_of(em, labels, **options):
    return make_stack(
        em.image.__getitem__,
        labels,
        fit_normalization(em.image),
        name="raw",
        labels_name="drawn <1>",
        **options,
    )


def rows(training, validation):
    pairs = enumerate(zip(training, validation, strict=True))
    return [
        {"step": 10 * k + 10, "loss": t, "validation_loss": v, "score": -v}
        for k, (t, v) in pairs
    ]


def test_overfitting_is_seen_where_the_curves_part():
    parted = rows([1.0, 0.8, 0.6, 0.5, 0.4, 0.3], [1.0, 0.7, 0.8, 0.9, 1.0, 1.1])
    assert overfitting_since(parted) == 20
    assert "Overfitting since step 20" in progress_text(parted, "score")


@pytest.mark.parametrize(
    ("training", "validation"),
    [
        ([1.0, 0.8, 0.6, 0.5, 0.4], [1.0, 0.8, 0.7, 0.6, 0.5]),  # both fall
        ([1.0, 0.8, 0.6, 0.5, 0.4], [1.0, 0.7, 0.72, 0.7, 0.71]),  # it only wavers
        ([0.3, 0.8, 0.9, 1.0, 1.1], [0.5, 0.8, 0.9, 1.0, 1.1]),  # both rise
        ([1.0, 0.8], [0.5, 0.9]),  # too early to tell
        ([1.0, 0.8, 0.6, 0.5, 0.4], [1.0, 0.7, 0.9, 0.9, 0.7]),  # it came back
    ],
)
def test_nothing_else_is_called_overfitting(training, validation):
    assert overfitting_since(rows(training, validation)) is None


def test_scores_and_errors_are_spelled_as_what_they_are():
    told = progress_text([{"step": 5, "score": -12.34, "loss": 1}], "mean error")
    assert told == "mean error: 12.3° at step 5, best 12.3° at step 5"
    told = progress_text([{"step": 5, "score": 0.987654, "loss": 1}], "V-Rand")
    assert "0.988" in told
    assert progress_text([], "V-Rand") == ""


def test_painted_labels_are_described_with_what_is_held_out(em):
    labels = np.zeros(em.image.shape, np.uint8)
    labels[1] = np.where(em.membranes[1], 1, 2)
    text = "\n".join(stack_lines([stack_of(em, labels)]))
    assert "1 labelled slice of 96 × 96" in text
    assert "Held out: columns" in text
    assert "of slice 1, never learnt from" in text
    assert "drawn &lt;1&gt;" in text


def test_few_labels_and_nothing_held_out_are_warned_of(em):
    labels = np.zeros(em.image.shape, np.uint8)
    labels[1, 40, 40:42] = 1
    labels[1, 40, 50:52] = 2
    lines = [line for line in stack_lines([stack_of(em, labels)]) if "⚠" in line]
    assert len(lines) == 3
    assert "only 2 pixels of membrane" in lines[0]
    assert "Nothing of" in lines[2]


def test_cars_are_counted_by_what_becomes_of_them():
    cars = tuple(Car(10 + 30 * k, 50, 12, 6, 90) for k in range(10))
    frame = CarFrame("scene", "boxes", np.zeros((100, 320)), (100, 320), cars)
    text = "\n".join(frame_lines(hold_out_cars([frame]), {"rejected": 2}))
    assert "Left out: 2 rejected" in text
    assert "Held out: columns" in text
    assert "⚠ boxes has few cars" in text


def test_a_lack_of_memory_is_told_before_it_happens():
    cost = {"device": "cpu", "threads": 2, "seconds": 130, "bytes": 3e9}
    (line,) = cost_lines(cost, 8e9)
    assert line == "Expected: about 2 min and 3.0 GB on cpu, 2 threads"
    assert "Only 2.0 GB of memory are free" in cost_lines(cost, 2e9)[1]


def test_an_early_end_is_told_from_a_full_run():
    scores = [{"step": k, "score": s} for k, s in enumerate([0.5, 0.7, 0.6, 0.6])]
    assert ended_early(scores, 2)
    assert not ended_early(scores, 3)
    assert not ended_early(scores, 0)
    assert not ended_early([], 2)
