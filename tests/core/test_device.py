from __future__ import annotations

import pytest
import torch

from roteq_core.device import choose_device


def test_auto_always_finds_a_device():
    assert choose_device().type in ("cpu", "cuda", "mps")


def test_named_device_is_given():
    assert choose_device("cpu") == torch.device("cpu")


def test_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"'cuda' is not available here; there is \["):
        choose_device("cuda")


def test_unknown_device_is_refused():
    with pytest.raises(ValueError, match="must be auto, cpu, cuda or mps, got 'tpu'"):
        choose_device("tpu")
