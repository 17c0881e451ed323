"""Figures as they are found, in a JSON file, so that a stopped run loses nothing."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import THREADS

HERE = Path(__file__).resolve().parent


class Results:
    """{section: {workload: {who: {what: figure}}}}, written at every change.

    Parameters
    ----------
    path : Path
        What it already holds is kept; a section that is run again is replaced.
    """

    def __init__(self, path: Path = HERE / "results.json"):
        self.path = path
        self.sections: dict[str, Any] = {}
        if path.exists():
            self.sections = json.loads(path.read_text(encoding="utf-8"))["sections"]

    def begin(self, section: str, *, keep: bool = False) -> None:
        """Note where and when figures are taken; forget the old ones, or keep them."""
        old = self.sections.get(section, {}).get("workloads", {})
        workloads = old if keep else {}
        self.sections[section] = {"machine": machine(), "workloads": workloads}

    def put(self, section: str, workload: str, who: str, **figures: float) -> None:
        workloads = self.sections[section]["workloads"]
        workloads.setdefault(workload, {}).setdefault(who, {}).update(figures)
        self._write()
        shown = ", ".join(f"{k} {v:.4g}" for k, v in figures.items())
        print(f"{workload:28s} {who:26s} {shown}", flush=True)

    def end(self, section: str, *, minutes: float) -> None:
        """Note how long a section took, all of it."""
        self.sections[section]["minutes"] = round(minutes, 1)
        self._write()

    def _write(self) -> None:
        text = json.dumps({"sections": self.sections}, indent=1, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    cpu = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": THREADS,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "load_before": round(os.getloadavg()[0], 2),
        "date": datetime.date.today().isoformat(),
    }
