from __future__ import annotations

import numpy as np
import pytest

from roteq_core.tasks.car_finder_maps import finder_targets


def test_targets_say_where_how_long_and_which_way():
    cars = np.array([[21.5, 13.5, 20.0, 1.2]])
    doubtful = np.array([[41.5, 41.5, 12.0, 0.0]])
    maps = finder_targets(cars, doubtful, 16)
    assert maps["heat"][3, 5] == 1
    assert maps["angle"][3, 5] == pytest.approx(1.2)
    assert maps["length"][3, 5] == pytest.approx(0, abs=1e-6)
    assert maps["weight"][10, 10] == 0
    assert maps["weight"][3, 5] == 1
