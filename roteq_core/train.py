"""Training as a job: one report per epoch, checkpoints, exact resume.

Every step draws its crops from a generator seeded with (seed, step), so that a run that
was stopped or killed goes on as if nothing had happened.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from roteq_core.checkpoint import load_checkpoint, save_checkpoint
from roteq_core.config import NetConfig, TrainConfig
from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report
from roteq_core.networks import build_network


class TrainingError(ValueError):
    """Training cannot go on; the message says why and what to do."""


class Task(Protocol):
    """What is particular to a training: data, loss and validation."""

    network: Any

    def batch(self, config: TrainConfig, rng: np.random.Generator) -> dict[str, Tensor]:
        """Draw a batch."""
        ...

    def loss(
        self, network: nn.Module, batch: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, float]]:
        """Give the loss and its parts."""
        ...

    def validate(self, network: nn.Module, device: torch.device) -> dict[str, Any]:
        """Score held-out data; ``score`` is what matters, higher is better."""
        ...


class Trained:
    """What a training leaves: the network with its averaged weights, and its log."""

    def __init__(
        self, network: nn.Module, config: NetConfig, log: list[dict[str, Any]]
    ):
        self.network, self.config, self.log = network, config, log


def iter_train(
    task: Task,
    config: TrainConfig,
    *,
    folder: Path | str | None = None,
    resume: bool = False,
    start: dict[str, Tensor] | None = None,
) -> Job[Trained]:
    """Train a network, yielding a report after every few steps and every epoch.

    Parameters
    ----------
    task : Task
    config : TrainConfig
    folder : path, optional
        Where checkpoints go after each epoch: ``last.safetensors`` and, judged by the
        validation score, ``best.safetensors``.
    resume : bool
        Go on from ``last.safetensors``; the result equals an uninterrupted run.
    start : dict of tensors, optional
        Weights to start from (fine-tuning).
    """
    device = choose_device(config.device)
    network = _fresh_network(task.network, config.seed).to(device)
    if start is not None:
        network.load_state_dict(start)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    run = _Run(
        task, config, network, optimizer, device, Path(folder) if folder else None
    )
    if resume:
        run.restore()
    yield from run.epochs()
    run.use_average()
    return Trained(network, task.network, run.log)


def _fresh_network(config: NetConfig, seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build_network(config)


class _Run:
    """The state of one training."""

    def __init__(
        self,
        task: Task,
        config: TrainConfig,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
        folder: Path | None,
    ):
        self.task, self.config, self.folder = task, config, folder
        self.network, self.optimizer, self.device = network, optimizer, device
        self.step, self.averaged, self.best = 0, 0, -math.inf
        self.average: dict[str, Tensor] = {}
        self.log: list[dict[str, Any]] = []
        self.seconds = 0.0
        half = device.type == "cuda" and config.mixed_precision
        self.scaler = torch.amp.GradScaler("cuda", enabled=half)
        self.precision = lambda: (
            torch.autocast("cuda", torch.float16) if half else contextlib.nullcontext()
        )

    def restore(self) -> None:
        path = self.folder / "last.safetensors" if self.folder else None
        if path is None or not path.exists():
            raise TrainingError(f"there is nothing to resume: no file {path}")
        self.average, record = load_checkpoint(path, self.network, self.optimizer)
        before = {k: v for k, v in record["config"].items() if k != "device"}
        now = {k: v for k, v in asdict(self.config).items() if k != "device"}
        if before != now:
            changed = sorted(k for k in now if before.get(k) != now[k])
            raise TrainingError(
                f"a run is resumed with the options it had; these differ: {changed}"
            )
        self.step, self.averaged = record["step"], record["averaged"]
        self.best, self.log = record["best"], record["log"]
        self.seconds = record["seconds"]

    def epochs(self) -> Job[None]:
        waited = 0
        while self.step < self.config.steps:
            start, before = time.monotonic(), self.seconds
            losses: dict[str, float] = {}
            steps = min(self.config.epoch_steps, self.config.steps - self.step)
            for done in range(steps):
                parts = self._step()
                for name, value in parts.items():
                    losses[name] = losses.get(name, 0.0) + value / steps
                self.seconds = before + time.monotonic() - start
                if done % 5 == 4 and done + 1 < steps:
                    yield self._report(f"loss {parts['loss']:.4f}", {})
            row = self._finish_epoch(losses)
            waited = 0 if row.get("is_best") else waited + 1
            self.seconds = before + time.monotonic() - start
            yield self._report(_epoch_text(row), row)
            if self.config.patience and waited >= self.config.patience:
                return

    def _report(self, text: str, values: dict[str, Any]) -> Report:
        left = self.seconds / max(self.step, 1) * (self.config.steps - self.step)
        values = {**values, "seconds": self.seconds, "seconds_left": left}
        return Report(self.step, self.config.steps, text, values)

    def _step(self) -> dict[str, float]:
        rng = np.random.default_rng([self.config.seed, self.step])
        batch = self.task.batch(self.config, rng)
        batch = {name: value.to(self.device) for name, value in batch.items()}
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate_at(self.step, self.config)
        self.network.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed * 1_000_003 + self.step)
            with self.precision():
                loss, parts = self.task.loss(self.network, batch)
        if not torch.isfinite(loss):
            raise TrainingError(
                f"the loss became {loss.item()} at step {self.step}: lower the "
                f"learning rate (now {self.config.learning_rate:g}) or look for broken "
                "pixels in the images. The last checkpoint is kept."
            )
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        if self.config.clip:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1
        self._add_to_average()
        return {"loss": loss.item(), **parts}

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

    def _finish_epoch(self, losses: dict[str, float]) -> dict[str, Any]:
        row: dict[str, Any] = {"step": self.step, **losses}
        with self.averaged_weights():
            self.network.eval()
            row |= self.task.validate(self.network, self.device)
        score = row.get("score")
        row["is_best"] = score is not None and score > self.best
        if row["is_best"]:
            self.best = float(row["score"])
        plain = {k: v for k, v in row.items() if isinstance(v, (int, float))}
        self.log.append(plain)
        self._save(bool(row["is_best"]))
        return row

    def _save(self, is_best: bool) -> None:
        if self.folder is None:
            return
        record = {
            "config": asdict(self.config),
            "step": self.step,
            "averaged": self.averaged,
            "best": self.best,
            "log": self.log,
            "seconds": self.seconds,
        }
        average = self.average if self.averaged else {}
        names = ["last", "best"] if is_best else ["last"]
        for name in names:
            save_checkpoint(
                self.folder / f"{name}.safetensors",
                self.network,
                self.optimizer,
                average,
                record,
            )

    @contextlib.contextmanager
    def averaged_weights(self) -> Any:
        """Look through the averaged weights for a while, once there are any."""
        if not self.averaged:
            yield
            return
        own = {k: v.detach().clone() for k, v in self.network.state_dict().items()}
        self.network.load_state_dict(self.average)
        try:
            yield
        finally:
            self.network.load_state_dict(own)

    def use_average(self) -> None:
        if self.averaged:
            self.network.load_state_dict(self.average)
        self.network.eval()


def learning_rate_at(step: int, config: TrainConfig) -> float:
    """One-cycle schedule: a linear rise, then half a cosine down to a hundredth."""
    rise = max(1, round(config.steps * config.warmup))
    if step < rise:
        return config.learning_rate * (0.1 + 0.9 * step / rise)
    progress = (step - rise) / max(1, config.steps - rise)
    fall = 0.01 + 0.99 * (1 + math.cos(math.pi * progress)) / 2
    return config.learning_rate * fall


def _epoch_text(row: dict[str, Any]) -> str:
    shown = [f"{k} {v:.4f}" for k, v in row.items() if isinstance(v, float)]
    return ", ".join(shown)
