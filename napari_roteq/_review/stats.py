"""How a review is going, kept up to date car by car (no Qt)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from roteq_core import angles
from roteq_core.tables import ACCEPTED, EDITED, REJECTED, REVIEWED, Car

FLIP_DEG = 90.0
# A longer silence is a break, and not counted as work.
LONGEST_STEP_S = 60.0


@dataclass(frozen=True)
class ReviewStats:
    """A review in numbers.

    Parameters
    ----------
    total, done, left : int
        Cars; done are those accepted, edited or rejected.
    accepted, edited, rejected : int
        Of those done.
    flips_found : int
        Reviewed cars that now point the other way: more than 90° from before.
    mean_change_deg : float
        By how much reviewed headings were changed; NaN before the first.
    mean_heading_deg, resultant : float
        Circular mean of all headings (compass style) and how strongly they agree, 0 to
        1; rejected cars do not count.
    cars_per_minute : float
        Since the review was opened, breaks left out; NaN at first.
    """

    total: int
    done: int
    left: int
    accepted: int
    edited: int
    rejected: int
    flips_found: int
    mean_change_deg: float
    mean_heading_deg: float
    resultant: float
    cars_per_minute: float


class Tally:
    """Running sums over the cars of a review.

    Parameters
    ----------
    cars : mapping
        Ids to cars as they were opened; their headings are what changes are measured
        from, unless the machine's is known.
    """

    def __init__(self, cars: Mapping[str, Car]) -> None:
        self._opened = dict(cars)
        self._statuses: Counter[str] = Counter()
        self._changes: dict[str, float] = {}
        self._vectors: dict[str, complex] = {}
        for car_id, car in cars.items():
            self.update(car_id, None, car)

    def update(self, car_id: str, before: Car | None, after: Car | None) -> None:
        """Replace a car in the sums."""
        if before is not None:
            self._statuses[before.status] -= 1
        self._changes.pop(car_id, None)
        self._vectors.pop(car_id, None)
        if after is None:
            return
        self._statuses[after.status] += 1
        heading = after.heading_cw_from_up_deg
        if heading is None or after.status == REJECTED:
            return
        turn = math.radians(heading)
        self._vectors[car_id] = complex(math.cos(turn), math.sin(turn))
        reference = self._reference(car_id, after)
        if after.status in REVIEWED and reference is not None:
            change = abs(float(angles.difference(heading, reference, 360.0)))
            self._changes[car_id] = change

    def _reference(self, car_id: str, car: Car) -> float | None:
        if car.machine_heading_cw_from_up_deg is not None:
            return car.machine_heading_cw_from_up_deg
        opened = self._opened.get(car_id)
        return None if opened is None else opened.heading_cw_from_up_deg

    def stats(self, cars_per_minute: float = math.nan) -> ReviewStats:
        """Give the numbers as they are now."""
        count = self._statuses
        total = count.total()
        done = sum(count[status] for status in REVIEWED)
        changes = list(self._changes.values())
        mean = sum(self._vectors.values()) / max(len(self._vectors), 1)
        return ReviewStats(
            total=total,
            done=done,
            left=total - done,
            accepted=count[ACCEPTED],
            edited=count[EDITED],
            rejected=count[REJECTED],
            flips_found=sum(change > FLIP_DEG for change in changes),
            mean_change_deg=sum(changes) / len(changes) if changes else math.nan,
            mean_heading_deg=_degrees(mean) if self._vectors else math.nan,
            resultant=abs(mean),
            cars_per_minute=cars_per_minute,
        )


def _degrees(vector: complex) -> float:
    return math.degrees(math.atan2(vector.imag, vector.real)) % 360.0


class ReviewPace:
    """How many cars a minute a person reviews, breaks left out."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._seconds = 0.0
        self._cars: set[str] = set()

    def note(self, at: datetime, *car_ids: str) -> None:
        """Note that cars were worked on."""
        if self._last is not None:
            step = (at - self._last).total_seconds()
            self._seconds += min(max(step, 0.0), LONGEST_STEP_S)
        self._last = at
        self._cars.update(car_ids)

    @property
    def cars_per_minute(self) -> float:
        """Cars worked on a minute of work; NaN before the second action."""
        return len(self._cars) / self._seconds * 60 if self._seconds else math.nan
