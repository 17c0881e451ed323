"""How much a model's answer changes when its image is turned, angle by angle. No torch.

`roteq_core.turns` computes it.
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
    """

    quantity: str = ""
    angles: list[float] = field(default_factory=list)
    changes: dict[str, list[float]] = field(default_factory=dict)

    def add(self, angle: float, changes: Mapping[str, float]) -> None:
        """Add what was found at an angle."""
        if self.changes and set(changes) != set(self.changes):
            raise ValueError(
                f"the models must be {sorted(self.changes)}, got {sorted(changes)}"
            )
        self.angles.append(angle)
        for name, change in changes.items():
            self.changes.setdefault(name, []).append(change)

    def lines(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Give angles in order, and the changes of each model in the same order."""
        order = np.argsort(self.angles, kind="stable")
        angles = np.asarray(self.angles, float)[order]
        return angles, {n: np.asarray(c, float)[order] for n, c in self.changes.items()}

    def summary(self) -> str:
        """Say the mean change of each model, those at 0 and 360° left out."""
        angles, lines = self.lines()
        turned = angles % 360 != 0
        if not turned.any():
            return ""
        means = {name: float(np.mean(line[turned])) for name, line in lines.items()}
        return ", ".join(f"{name} {mean:.3g}" for name, mean in means.items())
