from __future__ import annotations

import errno
import itertools
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from roteq_core.config import TrainConfig
from roteq_core.jobs import drain
from roteq_core.networks import build_network
from roteq_core.tasks.membranes import MembraneTask
from roteq_core.training.rules import set_training
from roteq_core.training.train import (
    TrainingError,
    iter_train,
    learning_rate_at,
    load_trained,
)

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = TrainConfig(
    steps=6, batch=1, crop=32, epoch_steps=2, average=0.5, elastic=1.0, device="cpu"
)


@pytest.fixture
def task(em, tiny_config):
    return MembraneTask(
        em.image[:3], em.membranes[:3], held_out=[2], network=tiny_config
    )


class Scripted:
    """A task whose losses and scores are told beforehand."""

    def __init__(self, network, scores=(), poison=None):
        self.network, self.scores, self.poison = network, list(scores), poison
        self.steps = 0

    def batch(self, config, rng):
        return {"image": torch.from_numpy(rng.standard_normal((1, 1, 16, 16))).float()}

    def loss(self, network, batch):
        self.steps += 1
        self.learning = network
        loss = network(batch["image"]).scores.square().mean()
        if self.poison and self.steps == self.poison[0]:
            loss = self.poison[1](loss)
        return loss, {}

    def validate(self, network, device):
        return {"score": self.scores.pop(0)} if self.scores else {}


def next_epoch(job):
    """Go on to the end of an epoch; slow machines report in between as well."""
    return next(report for report in job if "is_best" in report.values)


def weights(trained):
    return trained.network.state_dict()


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def test_loss_falls_on_one_slice(em, tiny_config):
    task = MembraneTask(em.image[:1], em.membranes[:1], network=tiny_config)
    still = TrainConfig(
        steps=20,
        batch=1,
        crop=48,
        epoch_steps=5,
        rotate=False,
        flip=False,
        scale=0,
        elastic=0,
        intensity=0,
        learning_rate=2e-2,
        device="cpu",
    )
    log = drain(iter_train(task, still)).log
    assert log[-1]["loss"] < 0.9 * log[0]["loss"]


def test_same_seed_gives_the_same_weights(task):
    first, second = (weights(drain(iter_train(task, QUICK))) for _ in range(2))
    assert_same(first, second)


def test_another_seed_gives_other_weights(task):
    other = TrainConfig(**{**vars(QUICK), "seed": 1})
    first = weights(drain(iter_train(task, QUICK)))
    second = weights(drain(iter_train(task, other)))
    assert not torch.equal(first["classify.weight"], second["classify.weight"])


def test_global_random_numbers_are_neither_used_nor_changed(task):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first = weights(drain(iter_train(task, QUICK)))
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    assert_same(first, weights(drain(iter_train(task, QUICK))))


@pytest.mark.parametrize("reports", [1, 2])
def test_run_that_was_stopped_ends_as_if_it_had_not(task, tmp_path, reports):
    whole = drain(iter_train(task, QUICK))
    job = iter_train(task, QUICK, folder=tmp_path)
    for _ in range(reports):
        next_epoch(job)
    job.close()
    resumed = drain(iter_train(task, QUICK, folder=tmp_path, resume=True))
    assert_same(weights(resumed), weights(whole))
    for before, after in zip(whole.log, resumed.log, strict=True):
        assert before | {"seconds": 0} == after | {"seconds": 0}


def test_weights_are_averaged_over_the_last_steps(tiny_config):
    task = Scripted(tiny_config)
    config = replace(QUICK, epoch_steps=1, learning_rate=1e-2)
    job, steps = iter_train(task, config), []
    for _ in range(config.steps):
        next_epoch(job)
        now = task.learning.state_dict()
        steps.append({name: value.clone() for name, value in now.items()})
    found = weights(drain(job))
    for name, value in found.items():
        last = torch.stack([step[name] for step in steps[3:]])
        torch.testing.assert_close(value, last.mean(0), rtol=1e-5, atol=1e-7)


KILLED = """
import os, signal
import torch
from roteq_core.config import TrainConfig
from roteq_core.net_config import (MembraneNetConfig, TurningConfig,)
from roteq_core.synthetic import em_stack
from roteq_core.tasks.membranes import MembraneTask
from roteq_core.training.train import iter_train
torch.set_num_threads(1)
em = em_stack(5, 64, seed=3)
turning = TurningConfig(orientations=8, frequencies=2)
tiny = MembraneNetConfig(width=1, kernel_size=5, turning=turning)
task = MembraneTask(em.image[:3], em.membranes[:3], held_out=[2], network=tiny)
quick = TrainConfig(steps=6, batch=1, crop=32, epoch_steps=2, average=0.5, elastic=1.0,
                    device="cpu")
draw = task.batch
def batch(config, rng):  # killed in the middle of the third epoch
    if (found := draw(config, rng)) and (tmp := globals().get("count", 0)) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    globals()["count"] = globals().get("count", 0) + 1
    return found
task.batch = batch
for _ in iter_train(task, quick, folder=FOLDER):
    pass
"""


def test_run_that_was_killed_ends_as_if_it_had_not(task, tmp_path):
    code = textwrap.dedent(KILLED).replace("FOLDER", repr(str(tmp_path)))
    run = subprocess.run([sys.executable, "-c", code], check=False)
    assert run.returncode == -9
    resumed = drain(iter_train(task, QUICK, folder=tmp_path, resume=True))
    assert_same(weights(resumed), weights(drain(iter_train(task, QUICK))))


def test_stopping_half_way_leaves_a_usable_network(task, tmp_path, tiny_config):
    job = iter_train(task, QUICK, folder=tmp_path)
    next_epoch(job)
    job.close()
    trained = load_trained(tmp_path, tiny_config)
    assert not trained.network.training
    assert trained.log[-1]["step"] == 2
    assert_same(
        weights(load_trained(tmp_path, tiny_config, which="best")), weights(trained)
    )


def test_finished_run_is_read_back_from_its_folder(task, tmp_path, tiny_config):
    trained = drain(iter_train(task, QUICK, folder=tmp_path))
    assert_same(weights(load_trained(tmp_path, tiny_config)), weights(trained))


def test_final_weights_are_the_mean_of_the_last_steps(task):
    seen, loss = [], task.loss

    def watched(network, batch):
        seen.append(network.classify.weight.detach().clone())
        return loss(network, batch)

    task.loss = watched
    final = weights(drain(iter_train(task, QUICK)))["classify.weight"]
    # Weights after steps 4 and 5 are seen at the next step; those after 6 are not.
    after_4, after_5 = seen[4], seen[5]
    after_6 = 3 * final - after_4 - after_5
    assert not torch.allclose(final, after_5, atol=1e-6)
    assert (after_6 - after_5).abs().max() < 3 * (after_5 - after_4).abs().max()


def test_training_stops_when_scores_no_longer_grow_and_gives_the_best(
    tiny_config, tmp_path
):
    patient = TrainConfig(
        steps=20, batch=1, crop=16, epoch_steps=1, patience=2, average=0, device="cpu"
    )
    scores = [0.5, 0.7, 0.6, 0.7, 0.9]
    trained = drain(iter_train(Scripted(tiny_config, scores), patient, folder=tmp_path))
    assert [row["score"] for row in trained.log] == [0.5, 0.7, 0.6, 0.7]
    best = load_trained(tmp_path, tiny_config, which="best")
    assert best.log[-1]["step"] == 2
    assert_same(weights(trained), weights(best))


def test_patience_survives_a_stop(tiny_config, tmp_path):
    patient = TrainConfig(
        steps=20, batch=1, crop=16, epoch_steps=1, patience=2, average=0, device="cpu"
    )
    scores = [0.7, 0.6, 0.6, 0.6]
    job = iter_train(Scripted(tiny_config, scores), patient, folder=tmp_path)
    next_epoch(job), next_epoch(job)
    job.close()
    again = Scripted(tiny_config, scores[2:])
    trained = drain(iter_train(again, patient, folder=tmp_path, resume=True))
    assert len(trained.log) == 3
    best = load_trained(tmp_path, tiny_config, which="best")
    assert_same(weights(trained), weights(best))


@pytest.mark.parametrize(
    ("poison", "name"),
    [
        (lambda loss: loss * float("nan"), "loss became nan"),
        (
            lambda loss: (loss * 1e-30).pow(0.1) * 0 + loss * 1e38 * 1e10,
            "loss became inf",
        ),
        (lambda loss: (loss - loss.detach()).sqrt() + loss, "gradient became"),
    ],
)
def test_loss_that_breaks_ends_the_run_and_keeps_the_checkpoint(
    tiny_config, tmp_path, poison, name
):
    config = TrainConfig(steps=6, batch=1, crop=16, epoch_steps=2, device="cpu")
    job = iter_train(Scripted(tiny_config, poison=(4, poison)), config, folder=tmp_path)
    with pytest.raises(TrainingError, match=name) as caught:
        drain(job)
    assert "step 3" in str(caught.value)
    assert "The last checkpoint is kept" in str(caught.value)
    kept = load_trained(tmp_path, tiny_config)
    assert kept.log[-1]["step"] == 2
    assert all(value.isfinite().all() for value in weights(kept).values())


def test_loss_that_grows_and_grows_ends_the_run_with_advice(tiny_config, tmp_path):
    task = Scripted(tiny_config)
    loss = task.loss

    def growing(network, batch):
        found, parts = loss(network, batch)
        return found * 10.0 ** (task.steps // 4), parts

    task.loss = growing
    config = TrainConfig(
        steps=40, batch=1, crop=16, epoch_steps=2, learning_rate=1e-7, device="cpu"
    )
    with pytest.raises(TrainingError, match=r"diverges: .* Lower the learning rate"):
        drain(iter_train(task, config, folder=tmp_path))
    assert load_trained(tmp_path, tiny_config).log


def test_loss_below_zero_may_waver(tiny_config):
    task = Scripted(tiny_config)
    loss = task.loss

    def wavering(network, batch):
        found, parts = loss(network, batch)
        return 0 * found - 1.4 + 0.05 * min(task.steps // 4, 1), parts

    task.loss = wavering
    config = TrainConfig(
        steps=16, batch=1, crop=16, epoch_steps=2, learning_rate=1e-7, device="cpu"
    )
    log = drain(iter_train(task, config)).log
    assert log[0]["loss"] == pytest.approx(-1.4)
    assert log[-1]["loss"] == pytest.approx(-1.35)


def test_labels_that_change_are_used_from_the_next_epoch_on(task, em, tmp_path):
    """A run that got new labels is resumed as if it had not been stopped."""

    def refreshing(after):
        calls = []

        def refresh():
            calls.append(1)
            if len(calls) == after:
                task.set_pieces(changed)
                return True
            return False

        task.refresh = refresh
        return calls

    given = list(task.pieces)
    changed = [
        replace(piece, membranes=np.roll(piece.membranes, 3, 1)) for piece in given
    ]
    refreshing(2)
    whole = drain(iter_train(task, QUICK))
    task.set_pieces(given)
    plain = drain(iter_train(task, QUICK))
    assert not torch.equal(
        weights(whole)["classify.weight"], weights(plain)["classify.weight"]
    )
    refreshing(2)
    job = iter_train(task, QUICK, folder=tmp_path)
    report = next(r for r in job if "updated" in r.values)
    assert report.done == 2
    job.close()
    refreshing(99)
    resumed = drain(iter_train(task, QUICK, folder=tmp_path, resume=True))
    assert_same(weights(resumed), weights(whole))


def test_full_disk_ends_the_run_and_keeps_the_checkpoint(
    task, tmp_path, tiny_config, monkeypatch
):
    job = iter_train(task, QUICK, folder=tmp_path)
    next_epoch(job)
    write = Path.write_bytes

    def full(path, content):
        write(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(
        OSError, match=r"the disk is full.*free some disk space and resume"
    ):
        drain(job)
    monkeypatch.undo()
    assert load_trained(tmp_path, tiny_config).log[-1]["step"] == 2
    assert not list(tmp_path.glob("*.partial"))
    resumed = drain(iter_train(task, QUICK, folder=tmp_path, resume=True))
    assert_same(weights(resumed), weights(drain(iter_train(task, QUICK))))


def test_resuming_with_other_options_names_them(task, tmp_path):
    job = iter_train(task, QUICK, folder=tmp_path)
    next_epoch(job)
    job.close()
    other = TrainConfig(**{**vars(QUICK), "batch": 2, "device": "auto"})
    with pytest.raises(TrainingError, match=r"differ: batch \(was 1, now 2\)$"):
        next(iter_train(task, other, folder=tmp_path, resume=True))


def test_resuming_another_network_is_refused(task, em, tmp_path):
    job = iter_train(task, QUICK, folder=tmp_path)
    next_epoch(job)
    job.close()
    wider = MembraneTask(em.image[:3], em.membranes[:3], held_out=[2])
    with pytest.raises(TrainingError, match=r"differ: kernel_size.*width"):
        next(iter_train(wider, QUICK, folder=tmp_path, resume=True))


def test_resuming_nothing_says_so(task, tmp_path):
    with pytest.raises(TrainingError, match="nothing to resume: there is no check"):
        next(iter_train(task, QUICK, folder=tmp_path, resume=True))
    with pytest.raises(TrainingError, match="no folder is given"):
        next(iter_train(task, QUICK, resume=True))
    (tmp_path / "last.safetensors").write_text("rubbish")
    with pytest.raises(TrainingError, match="not a readable checkpoint"):
        next(iter_train(task, QUICK, folder=tmp_path, resume=True))


def test_weights_to_start_from_are_used(task, tiny_config):
    torch.manual_seed(9)
    start = build_network(tiny_config).state_dict()
    slow = TrainConfig(
        steps=1, batch=1, crop=32, learning_rate=1e-7, average=0, device="cpu"
    )
    trained = drain(iter_train(task, slow, start=start))
    torch.testing.assert_close(
        weights(trained)["classify.weight"], start["classify.weight"]
    )
    del start["classify.weight"]
    with pytest.raises(TrainingError, match="do not fit this network"):
        next(iter_train(task, slow, start=start))


def test_reports_tell_progress_and_time_left(task):
    reports = [r for r in iter_train(task, QUICK) if "is_best" in r.values]
    assert [(r.done, r.total) for r in reports] == [(2, 6), (4, 6), (6, 6)]
    assert reports[0].values["seconds_left"] > 0
    assert reports[-1].values["seconds_left"] == 0
    assert reports[-1].values["preview"].shape == (64, 64)


def test_learning_rate_rises_then_falls_to_a_hundredth():
    config = TrainConfig(steps=100, warmup=0.2, learning_rate=1.0)
    rates = np.array([learning_rate_at(step, config) for step in range(101)])
    assert rates.argmax() == 20
    assert rates.max() == 1
    assert (np.diff(rates[:20]) > 0).all()
    assert (np.diff(rates[20:]) < 0).all()
    assert rates[100] == pytest.approx(0.01)


def test_frozen_normalizations_keep_their_statistics_in_the_last_steps(task):
    seen = []

    def watched(network, batch):
        seen.append(network.norms[0].running_variance.clone())
        return MembraneTask.loss(task, network, batch)

    task.loss = watched
    half = replace(QUICK, freeze=0.5)
    trained = drain(iter_train(task, half))
    changed = [not torch.equal(a, b) for a, b in itertools.pairwise(seen)]
    assert changed == [True] * 3 + [False] * 2
    assert torch.equal(weights(trained)["norms.0.running_variance"], seen[-1])


def test_a_frozen_step_sees_what_prediction_sees(task, tiny_config):
    network = build_network(tiny_config)
    image = torch.randn(1, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    for norm in network.norms:
        norm.running_variance.fill_(0.3)
    set_training(network, 3, replace(QUICK, freeze=0.5))
    frozen = network(image).scores
    assert torch.equal(frozen, network.eval()(image).scores)
    set_training(network, 2, replace(QUICK, freeze=0.5))
    assert not torch.allclose(frozen, network(image).scores)
