"""What a training will cost on this device: time and memory, from a step or two."""

from __future__ import annotations

import math
import time
from typing import Any

import torch
from torch import Tensor, nn

from roteq_core.device import choose_device
from roteq_core.jobs import Job, Report
from roteq_core.net_config import CarNetConfig
from roteq_core.networks import build_network
from roteq_core.tasks.cars import heading_objective
from roteq_core.tasks.membrane_loss import membrane_loss
from roteq_core.tasks.membrane_targets import BESIDE, CENTER
from roteq_core.training.fine_tuning import weights_of
from roteq_core.training.request import TrainRequest

TRIED = 2  # steps that are timed, after one to warm up
PLENTY = 5.0  # seconds after which no further step is tried
OVERHEAD = 1.3  # of what is kept for the gradients: buffers, copies
BASE = 350e6  # bytes of the process with PyTorch loaded
SCORING = 1.5  # predicting and comparing take so much longer than predicting


def iter_cost(request: TrainRequest, checked_pixels: int = 0) -> Job[dict[str, Any]]:
    """Try a few steps on made-up data, and reckon what the whole will take.

    Parameters
    ----------
    request : TrainRequest
    checked_pixels : int
        Validated on after each epoch.

    Returns
    -------
    dict
        ``device``, ``threads``, ``seconds_per_step``, ``seconds`` in all and
        ``bytes`` of memory.
    """
    yield Report(0, TRIED + 1, "trying a step")
    network_config: Any = request.network
    if request.start_from is not None:
        network_config, _ = weights_of(request.start_from, request.task)
    device = choose_device(request.train.device)
    network = build_network(network_config).to(device).train()
    batch = _made_up(network_config, request).to(device)
    kept = _KeptForGradients()
    forward, seconds = [], []
    for tried in range(TRIED + 1):
        started = time.monotonic()
        with kept:
            loss = _loss(network, batch, network_config)
        forward.append(time.monotonic() - started)
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.monotonic() - started)
        yield Report(tried + 1, TRIED + 1, "trying a step")
        if sum(seconds) > PLENTY:
            break
    step, look = min(seconds), min(forward)
    train = request.train
    epochs = math.ceil(train.steps / train.epoch_steps)
    checking = SCORING * epochs * checked_pixels * look / batch.shape[0]
    checking /= batch.shape[-1] * batch.shape[-2]
    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "seconds_per_step": step,
        "seconds": step * train.steps + checking,
        "bytes": BASE + OVERHEAD * kept.bytes,
    }


def _made_up(config: Any, request: TrainRequest) -> Tensor:
    side = config.crop if isinstance(config, CarNetConfig) else request.train.crop
    return torch.rand(request.train.batch, config.in_maps, side, side)


def _loss(network: nn.Module, images: Tensor, config: Any) -> Tensor:
    if isinstance(config, CarNetConfig):
        angles = torch.zeros(len(images), device=images.device)
        return heading_objective(network, network(images), angles, "density")[0]
    count, _, height, width = images.shape
    classes = torch.full((count, height, width), BESIDE, device=images.device)
    classes[:, :, :: max(8, width // 4)] = CENTER
    line = (classes == CENTER).float()[:, None]
    batch = {"classes": classes, "skeleton": line, "axes": line.repeat(1, 2, 1, 1)}
    return membrane_loss(network(images), batch)[0]


class _KeptForGradients:
    """Count the bytes that a forward pass keeps for the way back."""

    def __init__(self) -> None:
        self.bytes = 0
        self._seen: dict[int, int] = {}

    def __enter__(self) -> None:
        self._seen = {}
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._note, _same)
        self._hooks.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._hooks.__exit__(*exception)
        self.bytes = max(self.bytes, sum(self._seen.values()))

    def _note(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        self._seen[storage.data_ptr()] = storage.nbytes()
        return tensor


def _same(tensor: Tensor) -> Tensor:
    return tensor
