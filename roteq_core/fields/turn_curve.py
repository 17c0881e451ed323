"""How much a model's answer changes when its image is turned, angle by angle. No torch.

`roteq_core.fields.turns` computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

#: The plain network that a model for a task is compared with.
BASELINES = {"membranes": "plain-membranes", "cars": "plain-cars"}


@dataclass
class TurnCurve:
    """Changes of the answer of one or more models, as far as they are known.

    Parameters
    ----------
    quantity : str
        What changes, with its unit, for the axis of a plot.
    angles : list of float
        Degrees by which the image was turned, clockwise, as they were tried.
    changes : dict of str to list of float
        For each model the change at each angle.
    reading : dict of str to list of float
        For each model of which it is known: the change by reading the image between
        its pixels alone, as it is turned forth and back and seen upright.
    """

    quantity: str = ""
    angles: list[float] = field(default_factory=list)
    changes: dict[str, list[float]] = field(default_factory=dict)
    reading: dict[str, list[float]] = field(default_factory=dict)

    def add(
        self,
        angle: float,
        changes: Mapping[str, float],
        reading: Mapping[str, float] | None = None,
    ) -> None:
        """Add what was found at an angle."""
        if self.changes and set(changes) != set(self.changes):
            raise ValueError(
                f"the models must be {sorted(self.changes)}, got {sorted(changes)}"
            )
        known = reading or {}
        if self.angles and set(known) != set(self.reading):
            raise ValueError(
                f"reading must be of {sorted(self.reading)}, got {sorted(known)}"
            )
        self.angles.append(angle)
        for lists, found in ((self.changes, changes), (self.reading, known)):
            for name, change in found.items():
                lists.setdefault(name, []).append(change)

    def lines(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Give angles in order, and the changes of each model in the same order."""
        return self._in_order(self.changes)

    def reading_lines(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Give the same of reading alone, for the models of which it is known."""
        return self._in_order(self.reading)

    def _in_order(
        self, changes: Mapping[str, list[float]]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        order = np.argsort(self.angles, kind="stable")
        angles = np.asarray(self.angles, float)[order]
        return angles, {n: np.asarray(c, float)[order] for n, c in changes.items()}

    def summary(self) -> str:
        """Say the mean change of each model, those at 0 and 360° left out."""
        angles, lines = self.lines()
        turned = angles % 360 != 0
        if not turned.any():
            return ""
        _, reading = self.reading_lines()
        told = []
        for name, line in lines.items():
            text = f"{name} {float(np.mean(line[turned])):.3g}"
            if name in reading:
                text += f" (reading {float(np.mean(reading[name][turned])):.3g})"
            told.append(text)
        return ", ".join(told)
