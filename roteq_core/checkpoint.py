"""Checkpoints: all that a training needs to go on exactly, as tensors and JSON.

Written to a new file that then takes the old one's place, so that a full disk or a kill
leaves the last good checkpoint. Never a pickle.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn


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
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        save_file(tensors, partial, metadata=meta)
        os.replace(partial, path)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise OSError(
            f"could not write {path}: {error}. The file that was there before is kept; "
            "free some disk space and resume."
        ) from error


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Restore a network and its optimizer; give the averaged weights and the record."""
    with safe_open(path, framework="pt") as file:
        record = json.loads((file.metadata() or {})["record"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    network.load_state_dict(_under(tensors, "network"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _under(tensors, "optimizer").items():
        index, key = name.split("/", 1)
        state.setdefault(int(index), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    return _under(tensors, "average"), record


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = len(prefix) + 1
    return {k[start:]: v for k, v in tensors.items() if k.startswith(prefix + "/")}
