"""Trainings of membranes that a viewer asks for; see `serving.training`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roteq_core.jobs import Job, Report
from roteq_core.membranes.labelled_stack import (
    LabelledStack,
    describe_stacks,
    load_stacks,
    pieces_of,
    save_stacks,
)
from roteq_core.model import Model, make_model
from roteq_core.serving.worker import inbox
from roteq_core.tasks.membrane_pieces import MembranePieces
from roteq_core.training.request import TrainRequest
from roteq_core.training.run_data import DATA
from roteq_core.training.run_folder import note_data
from roteq_core.training.train import Trained

MOST_CHECKED = 4  # held-out pieces validated on after each epoch
_SCORES = ("v_rand", "v_info", "pixels_right", "direction_deg", "validation_loss")


class FreshPieces(MembranePieces):
    """Pieces that are cut anew when labels arrive while the training runs."""

    def __init__(self, stacks: Sequence[LabelledStack], folder: Path, **options: Any):
        super().__init__(pieces_of(stacks), most_checked=MOST_CHECKED, **options)
        self._folder = folder

    def refresh(self) -> bool:
        """Take the newest labels that were sent, if there are any."""
        sent = inbox()
        if not sent:
            return False
        stacks = sent[-1]
        self.set_pieces(pieces_of(stacks))
        save_stacks(self._folder / DATA, stacks)
        note_data(self._folder, describe_stacks(stacks))
        return True


class MembraneKind:
    """See `serving.training.Kind`."""

    def prepare(self, data: Sequence[LabelledStack]) -> Sequence[LabelledStack]:
        """Keep stacks as they are."""
        return data

    def describe(self, kept: Sequence[LabelledStack]) -> dict[str, Any]:
        """See `describe_stacks`."""
        return describe_stacks(kept)

    def save(self, path: Path, kept: Sequence[LabelledStack]) -> None:
        """See `save_stacks`."""
        save_stacks(path, kept)

    def load(self, path: Path) -> list[LabelledStack]:
        """See `load_stacks`."""
        return load_stacks(path)

    def task(
        self, kept: Sequence[LabelledStack], request: TrainRequest, folder: Path
    ) -> Job[MembranePieces]:
        """Cut the stacks into pieces."""
        yield Report(0, request.train.steps, "cutting the slices into pieces")
        return FreshPieces(kept, folder, network=request.network)

    def model(
        self, kept: Sequence[LabelledStack], asked: dict[str, Any], trained: Trained
    ) -> Model:
        """Make a model with what the run was asked on its card."""
        text, row = asked["card"], trained.log[-1]
        size = text["pixel_size_nm"]
        return make_model(
            [trained.network.cpu()],
            name=text["name"],
            task="membranes",
            summary=text["summary"] or _summary(asked["data"]),
            pixel_size=size,
            pixel_unit="nm" if size else "",
            data=text["data"]
            or f"{asked['data']['images']}, {asked['data']['labels']}",
            terms=text["terms"],
            limits=text["limits"],
            scores={name: round(row[name], 5) for name in _SCORES if name in row},
        )


def _summary(data: dict[str, Any]) -> str:
    return (
        f"Membranes, trained on {data['slices']} labelled slices of {data['images']}."
    )
