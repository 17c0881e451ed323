"""The state of one training: steps, averages, checkpoints, resuming.

Every step draws its crops from a generator seeded with (seed, step), so that a run that
was stopped or killed goes on as if nothing had happened. `train` is the public face.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.config import TrainConfig
from roteq_core.jobs import Job, Report
from roteq_core.training.checkpoint import (
    read_checkpoint,
    restore_optimizer,
    save_checkpoint,
)
from roteq_core.training.rules import (
    Task,
    TrainingError,
    check_same,
    epoch_text,
    learning_rate_at,
    load_weights,
    set_training,
)

PATIENT = 1.0  # seconds without a report after which one is due
DIVERGED = 4.0  # times the lowest loss of an epoch, for
IN_A_ROW = 3  # epochs
NEAR_ZERO = 0.5  # counts as the size of a loss about or below zero, if it is smaller


def check_options(
    record: dict[str, Any], config: dict[str, Any], network: dict[str, Any]
) -> None:
    """Refuse to go on from a checkpoint of that record with other options."""
    before = asdict(TrainConfig(**record["config"]))  # with options added since
    check_same(before, config, but="device")
    if "network" in record:
        check_same(record["network"], network)


class TrainingRun:
    """The state of one training."""

    def __init__(
        self,
        task: Task,
        config: TrainConfig,
        network: nn.Module,
        device: torch.device,
        folder: Path | None,
    ):
        self.task, self.config, self.folder = task, config, folder
        self.network, self.device = network, device
        self.optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
        )
        self.step, self.averaged, self.waited, self.best = 0, 0, 0, -math.inf
        self.average: dict[str, Tensor] = {}
        self.best_weights: dict[str, Tensor] = {}
        self.log: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._reported = time.monotonic()
        self.half = device.type == "cuda" and config.mixed_precision
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.half)

    def restore(self) -> None:
        """Go back to where the last checkpoint was written."""
        if self.folder is None:
            raise TrainingError("there is nothing to resume: no folder is given")
        try:
            found = read_checkpoint(self.folder / "last.safetensors")
        except ValueError as error:
            raise TrainingError(f"there is nothing to resume: {error}") from error
        record = found.record
        check_options(record, asdict(self.config), asdict(self.task.network))
        load_weights(self.network, found.weights)
        restore_optimizer(self.optimizer, found.optimizer)
        self.average = {k: v.to(self.device) for k, v in found.average.items()}
        self.step, self.averaged = record["step"], record["averaged"]
        self.best, self.log = record["best"], record["log"]
        self.seconds, self.waited = record["seconds"], record.get("waited", 0)
        self.scaler.load_state_dict(record.get("scaler", {}) if self.half else {})
        best = self.folder / "best.safetensors"
        if best.is_file():
            self.best_weights = read_checkpoint(best).usable

    def epochs(self) -> Job[None]:
        """Run to the end, or until patience has run out."""
        while self.step < self.config.steps and not self.has_waited():
            if getattr(self.task, "refresh", bool)():
                self._forget_best()
                yield self._report("new labels are in use", {"updated": True})
            start, before = time.monotonic(), self.seconds
            losses: dict[str, float] = {}
            steps = min(self.config.epoch_steps, self.config.steps - self.step)
            for done in range(steps):
                parts = self._step()
                for name, value in parts.items():
                    losses[name] = losses.get(name, 0.0) + value / steps
                self.seconds = before + time.monotonic() - start
                if done + 1 < steps and (done % 5 == 4 or self._is_due()):
                    yield self._report(f"loss {parts['loss']:.4f}", {})
            row = yield from self._finish_epoch(losses, before - start)
            yield self._report(epoch_text(row), row)
            self._check_diverged()

    def _forget_best(self) -> None:
        """Judge anew from here on: scores of other labels do not compare."""
        self.best, self.waited = -math.inf, 0
        if self.log:
            self._save(is_best=False)

    def has_waited(self) -> bool:
        """Whether patience has run out."""
        return bool(self.config.patience) and self.waited >= self.config.patience

    def _report(self, text: str, values: dict[str, Any]) -> Report:
        left = self.seconds / max(self.step, 1) * (self.config.steps - self.step)
        values = {**values, "seconds": self.seconds, "seconds_left": left}
        self._reported = time.monotonic()
        return Report(self.step, self.config.steps, text, values)

    def _is_due(self) -> bool:
        return time.monotonic() - self._reported > PATIENT

    def _step(self) -> dict[str, float]:
        rng = np.random.default_rng([self.config.seed, self.step])
        batch = self.task.batch(self.config, rng)
        batch = {name: value.to(self.device) for name, value in batch.items()}
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(self.step, self.config)
        set_training(self.network, self.step, self.config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed * 1_000_003 + self.step)
            with self._precision():
                loss, parts = self.task.loss(self.network, batch)
        self._check_finite(loss, "loss")
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        limit = self.config.clip or math.inf
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), limit)
        if not self.half:  # otherwise the scaler skips the step
            self._check_finite(norm, "gradient")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1
        self._add_to_average()
        return {"loss": loss.item(), **parts}

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        if self.half:
            return torch.autocast("cuda", torch.float16)
        return contextlib.nullcontext()

    def _check_finite(self, value: Tensor, name: str) -> None:
        if torch.isfinite(value):
            return
        raise TrainingError(
            f"the {name} became {value.item()} at step {self.step}: lower the "
            f"learning rate (now {self.config.learning_rate:g}) or look for broken "
            f"pixels in the images. {self._kept()}".rstrip()
        )

    def _check_diverged(self) -> None:
        losses = [row["loss"] for row in self.log]
        # Several epochs in a row: short ones waver.
        recent, lowest = min(losses[-IN_A_ROW:]), min(losses)
        # The log of a density may well be below zero.
        size = lowest if lowest > 0 else max(-lowest, NEAR_ZERO)
        if recent <= max(lowest + (DIVERGED - 1) * size, losses[0]):
            return
        raise TrainingError(
            f"the loss diverges: {losses[-1]:.3g} at step {self.step} after "
            f"{min(losses):.3g} before. Lower the learning rate (now "
            f"{self.config.learning_rate:g}). {self._kept()}".rstrip()
        )

    def _kept(self) -> str:
        return "The last checkpoint is kept." if self.folder and self.log else ""

    def _add_to_average(self) -> None:
        if self.step <= self.config.steps * (1 - self.config.average):
            return
        self.averaged += 1
        for name, value in self.network.state_dict().items():
            if not value.is_floating_point():
                self.average[name] = value.clone()
            elif name not in self.average:
                self.average[name] = value.detach().clone()
            else:
                self.average[name].lerp_(value, 1 / self.averaged)

    def _finish_epoch(
        self, losses: dict[str, float], offset: float
    ) -> Job[dict[str, Any]]:
        row: dict[str, Any] = {"step": self.step, **losses}
        with self.averaged_weights():
            self.network.eval()
            row |= yield from self._validate()
            score = row.get("score")
            row["is_best"] = score is not None and score > self.best
            if row["is_best"]:
                self.best = float(row["score"])
                self.best_weights = self._copy_weights()
        if score is not None:
            self.waited = 0 if row["is_best"] else self.waited + 1
        row["seconds"] = self.seconds = offset + time.monotonic()
        plain = {k: v for k, v in row.items() if isinstance(v, (int, float))}
        self.log.append(plain)
        self._save(bool(row["is_best"]))
        return row

    def _validate(self) -> Job[dict[str, Any]]:
        """Score held-out data; tell of it where it takes its time."""
        if not hasattr(self.task, "iter_validate"):
            return self.task.validate(self.network, self.device)
        job: Job[dict[str, Any]] = self.task.iter_validate(self.network, self.device)
        while True:
            try:
                report = next(job)
            except StopIteration as end:
                found: dict[str, Any] = end.value
                return found
            if self._is_due():
                text = f"{report.text} {report.done} of {report.total}"
                yield self._report(text, {})

    def _save(self, is_best: bool) -> None:
        if self.folder is None:
            return
        record = {
            "config": asdict(self.config),
            "network": asdict(self.task.network),
            "step": self.step,
            "averaged": self.averaged,
            "best": self.best,
            "waited": self.waited,
            "scaler": self.scaler.state_dict(),
            "log": self.log,
            "seconds": self.seconds,
        }
        average = self.average if self.averaged else {}
        # The best first: a kill between the two repeats the epoch, and loses nothing.
        for name in ["best", "last"] if is_best else ["last"]:
            save_checkpoint(
                self.folder / f"{name}.safetensors",
                self.network,
                self.optimizer,
                average,
                record,
            )

    def _copy_weights(self) -> dict[str, Tensor]:
        return {k: v.detach().clone() for k, v in self.network.state_dict().items()}

    @contextlib.contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Look through the averaged weights for a while, once there are any."""
        if not self.averaged:
            yield
            return
        own = self._copy_weights()
        self.network.load_state_dict(self.average)
        try:
            yield
        finally:
            self.network.load_state_dict(own)

    def use_final_weights(self) -> None:
        """Take the best epoch's weights after an early stop, else the averaged."""
        if self.step < self.config.steps and self.best_weights:
            self.network.load_state_dict(self.best_weights)
        elif self.averaged:
            self.network.load_state_dict(self.average)
        self.network.eval()
