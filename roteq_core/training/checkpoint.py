"""Checkpoints: all that a training needs to go on exactly, as tensors and JSON.

Written to a new file that then takes the old one's place, so that a full disk or a kill
leaves the last good checkpoint. Never a pickle.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from roteq_core.files.whole_file import in_words


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict[str, Tensor],
    record: dict[str, Any],
) -> None:
    """Write weights, optimizer state, averaged weights and a record of plain values."""
    tensors = {f"network/{k}": v for k, v in network.state_dict().items()}
    tensors |= {f"average/{k}": v for k, v in average.items()}
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            tensors[f"optimizer/{index}/{name}"] = torch.as_tensor(value)
    tensors = {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}
    write_tensors(path, tensors, {"record": json.dumps(record)})


def write_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """Write a safetensors file at once: the old one stays until the new is whole."""
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Bytes first: files get the usual rights, which save_file withholds.
        partial.write_bytes(save(tensors, metadata=meta))
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise OSError(
            f"could not write {path}: {in_words(error)}. The file before it is kept; "
            "free some disk space and resume."
        ) from error


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint file holds.

    Parameters
    ----------
    weights, average : dict of tensors
        The network's own weights, and averaged ones, empty before averaging.
    optimizer : dict of int to dict of tensors
        State of each parameter.
    record : dict
        Options, step, log and whatever else is plain.
    """

    weights: dict[str, Tensor]
    average: dict[str, Tensor]
    optimizer: dict[int, dict[str, Tensor]]
    record: dict[str, Any]

    @property
    def usable(self) -> dict[str, Tensor]:
        """The weights to predict with: the averaged ones, once there are any."""
        return self.average or self.weights


def read_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint file.

    Raises
    ------
    ValueError
        If there is no such file, or it is no checkpoint.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            record = json.loads((file.metadata() or {})["record"])
            names = list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from error
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _under(tensors, "optimizer").items():
        index, key = name.split("/", 1)
        state.setdefault(int(index), {})[key] = value
    return Checkpoint(
        _under(tensors, "network"), _under(tensors, "average"), state, record
    )


def restore_optimizer(
    optimizer: torch.optim.Optimizer, state: dict[int, dict[str, Tensor]]
) -> None:
    """Give an optimizer the state of a checkpoint, and leave its options."""
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = len(prefix) + 1
    return {k[start:]: v for k, v in tensors.items() if k.startswith(prefix + "/")}
