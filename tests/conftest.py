"""Fixtures and settings for the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Before torch is first imported: more threads than this only slow small tests down.
os.environ.setdefault("OMP_NUM_THREADS", "2")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the top folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Give the folder of real data sets, or skip the test."""
    folder = Path(os.environ.get("ROTEQ_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}: set ROTEQ_DATA")
    return folder
