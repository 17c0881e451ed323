from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from roteq_core.card import read_card
from roteq_core.card_text import CardText
from roteq_core.cars.examples import CarFrame, load_frames
from roteq_core.cars.held import hold_out_cars
from roteq_core.config import TrainConfig
from roteq_core.jobs import drain
from roteq_core.membranes.labelled_stack import make_stack
from roteq_core.model import load_model
from roteq_core.net_config import CarNetConfig, TurningConfig
from roteq_core.normalize import fit_normalization
from roteq_core.serving.training import iter_resume, iter_run, keep_run, save_model
from roteq_core.serving.worker import Control, steer
from roteq_core.tables import Car
from roteq_core.training.checkpoint import read_checkpoint
from roteq_core.training.cost import iter_cost
from roteq_core.training.request import TrainRequest, request_from_dict
from roteq_core.training.run_data import DATA, read_preview
from roteq_core.training.train import TrainingError

pytestmark = pytest.mark.usefixtures("one_thread")

TRAIN = TrainConfig(
    steps=6, batch=1, crop=32, epoch_steps=2, average=0.5, elastic=1.0, device="cpu"
)


@pytest.fixture
def request_(tiny_config):
    return TrainRequest("membranes", tiny_config, TRAIN, card=CardText("mine"))


def stack_of(em, labels, **options):
    return make_stack(
        em.image.__getitem__,
        labels,
        fit_normalization(em.image),
        name="raw",
        labels_name="drawn",
        **options,
    )


@pytest.fixture
def painted(em):
    labels = np.zeros(em.image.shape, np.uint8)
    labels[1, 5:30] = np.where(em.membranes[1, 5:30], 1, 2)
    return labels


def weights(folder, which="last"):
    return read_checkpoint(folder / f"{which}.safetensors").usable


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def test_a_run_leaves_a_model_and_all_that_made_it(em, painted, request_, tmp_path):
    reports = []
    job = iter_run(tmp_path / "run", request_, [stack_of(em, painted)])
    while True:
        try:
            reports.append(next(job))
        except StopIteration as end:
            path = end.value
            break
    epochs = [r.values for r in reports if "is_best" in r.values]
    assert [row["step"] for row in epochs] == [2, 4, 6]
    for row in epochs:
        assert np.isfinite([row["loss"], row["validation_loss"]]).all()
        assert 0.5 <= row["pixels_right"] <= 1
        stack, plane, top, left = row["preview_piece"]
        assert (stack, plane, top) == (0, 1, 0)
        assert row["preview"].shape == (64, 64 - left)
    kept = read_preview(tmp_path / "run")
    np.testing.assert_array_equal(kept["preview"], epochs[-1]["preview"])
    assert kept["preview_piece"] == tuple(epochs[-1]["preview_piece"])
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert names == {
        *("run.json", "data.npz", "preview.npz", "log.csv", "curves.png"),
        *("last.safetensors", "best.safetensors", "model.safetensors"),
    }
    card = read_card(path)
    assert (card.name, card.task) == ("mine", "membranes")
    assert "pixels_right" in card.scores
    assert card.training["of_steps"] == 6
    best = load_model(path).networks[0].state_dict()
    assert_same(best, weights(tmp_path / "run", "best"))


@pytest.mark.parametrize("epochs", [0, 1, 2])
def test_a_run_is_resumed_from_its_folder_alone(
    em, painted, request_, tmp_path, epochs
):
    drain(iter_run(tmp_path / "whole", request_, [stack_of(em, painted)]))
    job = iter_run(tmp_path / "parts", request_, [stack_of(em, painted)])
    reports = (r for r in job if "is_best" in r.values)
    next(job), next(job)  # the data are on disk
    for _ in range(epochs):
        next(reports)
    job.close()
    drain(iter_resume(tmp_path / "parts"))
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
    assert_same(
        weights(tmp_path / "parts", "best"), weights(tmp_path / "whole", "best")
    )


def test_a_stopped_run_is_kept_and_saved_with_a_card(em, painted, request_, tmp_path):
    job = iter_run(tmp_path / "run", request_, [stack_of(em, painted)])
    next(job), next(job)
    with pytest.raises(ValueError, match="no epoch came to its end"):
        keep_run(tmp_path / "run")
    next(r for r in job if "is_best" in r.values)
    job.close()
    assert read_card(keep_run(tmp_path / "run")).training["steps"] == 2
    text = CardText("fly", terms="CC0", limits="Blurred slices.", pixel_size_nm=4.0)
    path = save_model(tmp_path / "run", tmp_path / "fly", text)
    assert path == str(tmp_path / "fly.safetensors")
    card = read_card(path)
    assert (card.name, card.terms, card.limits) == ("fly", "CC0", "Blurred slices.")
    assert (card.pixel_size, card.pixel_unit) == (4.0, "nm")
    assert load_model(path)


def test_labels_that_are_sent_are_learnt_from_and_kept(em, painted, request_, tmp_path):
    first = stack_of(em, painted)
    painted[3] = np.where(em.membranes[3], 1, 2)
    more = stack_of(em, painted, keep_held=first.held, keep_planes=first.planes)
    control = Control()
    job = steer(iter_run(tmp_path / "run", request_, [first]), control)
    next(r for r in job if "is_best" in r.values)
    control.send([more])
    assert next(r for r in job if "updated" in r.values).done == 2
    control.stop()
    list(job)
    assert read_preview(tmp_path / "run") == {}  # it was of what was held out before
    asked = json.loads((tmp_path / "run" / "run.json").read_text())
    assert asked["data"]["slices"] == 2
    assert len(asked["earlier_data"]) == 1
    drain(iter_resume(tmp_path / "run"))

    whole = steer(iter_run(tmp_path / "whole", request_, [first]), control := Control())
    next(r for r in whole if "is_best" in r.values)
    control.send([more])
    list(whole)
    assert_same(weights(tmp_path / "run"), weights(tmp_path / "whole"))


def test_fine_tuning_takes_network_and_weights(
    em, painted, request_, tiny_file, tiny_model, tmp_path
):
    slow = replace(TRAIN, steps=1, epoch_steps=1, learning_rate=1e-7, average=0)
    wide = replace(request_.network, width=3)
    asked = replace(request_, network=wide, train=slow, start_from=str(tiny_file))
    path = drain(iter_run(tmp_path / "run", asked, [stack_of(em, painted)]))
    found = load_model(path).networks[0]
    assert found.config == tiny_model.networks[0].config
    torch.testing.assert_close(
        found.state_dict()["classify.weight"],
        tiny_model.networks[0].state_dict()["classify.weight"],
        atol=1e-5,
        rtol=1e-5,
    )
    wrong = replace(asked, task="cars")
    with pytest.raises(ValueError, match="is a model for 'membranes'"):
        drain(iter_run(tmp_path / "other", wrong, [stack_of(em, painted)]))


def test_a_run_that_is_there_is_not_overwritten(em, painted, request_, tmp_path):
    drain(iter_run(tmp_path, request_, [stack_of(em, painted)]))
    with pytest.raises(ValueError, match="there is a run in"):
        drain(iter_run(tmp_path, request_, [stack_of(em, painted)]))


def test_requests_are_read_back(request_):
    assert request_from_dict(json.loads(json.dumps(request_.as_dict()))) == request_
    with pytest.raises(ValueError, match="says too little"):
        request_from_dict({"task": "membranes"})


def test_cost_is_told_before_anything_runs(request_):
    cost = drain(iter_cost(request_, checked_pixels=64 * 64))
    assert cost["device"] == "cpu"
    assert cost["seconds"] >= cost["seconds_per_step"] * TRAIN.steps
    more = replace(request_, train=replace(TRAIN, batch=4, crop=64))
    assert drain(iter_cost(more))["bytes"] > cost["bytes"]


CARS = CarNetConfig(
    filters=(2, 2),
    kernel_size=7,
    crop=47,
    first_stride=2,
    turning=TurningConfig(8, frequencies=2),
)


def test_headings_are_learnt_resumed_and_calibrated(tmp_path):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (200, 300, 3), dtype=np.uint8)
    cars = tuple(
        Car(x, y, 20, 9, float(rng.uniform(0, 360)))
        for x in range(20, 290, 30)
        for y in range(20, 190, 40)
    )
    frames = hold_out_cars([CarFrame("scene", "boxes", image, (200, 300), cars)])
    train = replace(TRAIN, steps=4, batch=4, elastic=0.0)
    asked = TrainRequest("cars", CARS, train, synthetic=8, card=CardText("mine"))
    path = drain(iter_run(tmp_path / "whole", asked, frames))
    card = read_card(path)
    assert card.task == "cars"
    assert card.scores["error_deg"] >= 0
    assert card.settings["calibration"]["cars"] >= 20
    job = iter_run(tmp_path / "parts", asked, frames)
    row = next(r for r in job if "is_best" in r.values).values
    assert row["score"] == -row["error_deg"]
    assert np.isfinite(row["validation_loss"])
    job.close()
    kept = read_preview(tmp_path / "parts")
    np.testing.assert_array_equal(kept["preview_angles"], row["preview_angles"])
    drain(iter_resume(tmp_path / "parts"))
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
    assert drain(iter_cost(asked))["seconds"] > 0
    (again,), (frame,) = load_frames(tmp_path / "parts" / DATA), frames
    assert again.image.size == 0
    assert replace(again, image=frame.image) == frame
    assert "places" not in card.training["data"]  # cards stay short


def test_an_ensemble_is_no_start(tiny_model, tmp_path, em, painted, request_):
    from roteq_core.model import combine_models

    path = tmp_path / "two.safetensors"
    combine_models([tiny_model, tiny_model], name="two").save(path)
    asked = replace(request_, start_from=str(path))
    with pytest.raises(TrainingError, match="ensemble of 2"):
        drain(iter_run(tmp_path / "run", asked, [stack_of(em, painted)]))
