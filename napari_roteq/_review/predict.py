"""Ask the model for the heading of one car, in the compute process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from napari_roteq._errors import JobError
from napari_roteq._jobs import run, run_in_thread
from napari_roteq._review.frame import Crop, Frame
from napari_roteq._running import RunningJob
from napari_roteq._settings import read_settings
from roteq_core.config import OrientOptions
from roteq_core.tables import Car, CarTable

JOB = "roteq_core.serving.cars:iter_orient_cars"
_REACH = 2.5  # car lengths; more than a network looks at


class HeadingAsker:
    """Predicts headings one at a time; answers come on the main thread.

    Parameters
    ----------
    on_answer : callable
        Called with the id of a car and the car as the model sees it.
    on_error : callable
        Called with a `JobError`.
    """

    def __init__(
        self,
        on_answer: Callable[[str, Car], None],
        on_error: Callable[[JobError], None],
    ) -> None:
        self._on_answer = on_answer
        self._on_error = on_error
        self._jobs: list[RunningJob] = []
        self.is_closed = False

    @property
    def is_running(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._jobs)

    def ask(self, frame: Frame, car: Car, length: float, model: str) -> None:
        """Ask for the heading of a car.

        Parameters
        ----------
        frame : Frame
            With pixels.
        car : Car
            As it is; its id comes back with the answer.
        length : float
            In pixels, for a car without one.
        model : str
            Name or file.
        """
        reach = _REACH * (car.length or length)
        device: Any = read_settings().device
        options = OrientOptions(model=model, device=device, car_length_px=length)

        def compute(crop: Crop | None) -> None:
            if crop is None:
                self._fail(JobError("The car lies outside the image."))
                return
            here = replace(
                _plain(car, length), cx=car.cx - crop.left, cy=car.cy - crop.top
            )
            pixels = np.ascontiguousarray(crop.pixels)
            self._watch(
                run(
                    JOB,
                    pixels,
                    CarTable((here,)),
                    options,
                    on_result=lambda table: self._answer(car.id, table),
                    on_error=self._fail,
                    title="Asking the model",
                )
            )

        self._watch(
            run_in_thread(
                frame.crop,
                car.cx,
                car.cy,
                reach,
                on_result=compute,
                on_error=self._fail,
                title="Reading the image",
            )
        )

    def _watch(self, job: RunningJob) -> None:
        self._jobs.append(job)
        job.finished.connect(lambda: self._jobs.remove(job))

    def _answer(self, car_id: str, table: CarTable) -> None:
        if not self.is_closed:
            self._on_answer(car_id, table.cars[0])

    def _fail(self, error: JobError) -> None:
        if not self.is_closed:
            self._on_error(error)

    def close(self) -> None:
        """Hear no more of it."""
        self.is_closed = True
        for job in list(self._jobs):
            job.abandon()
        self._jobs.clear()


def _plain(car: Car, length: float) -> Car:
    """Keep what a heading depends on."""
    return Car(car.cx, car.cy, car.length or length, car.width)
