"""Saving and exporting a review; asking before a file is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from qtpy.QtWidgets import QFileDialog

from napari_roteq._errors import explain_exception
from napari_roteq._review.export import FILTERS, export_review
from napari_roteq._review.open import OpenReview
from napari_roteq._review.panel import ReviewPanel
from roteq_core.tables import FileChangedError


class ReviewSaver:
    """Writes the table of the open review.

    Parameters
    ----------
    panel : ReviewPanel
        Where questions and answers are shown.
    review : callable
        Gives the open review, or None.
    on_saved : callable
        Called after every save.
    on_error : callable
        Called with a `JobError`.
    """

    def __init__(
        self,
        panel: ReviewPanel,
        review: Callable[[], OpenReview | None],
        on_saved: Callable[[], None],
        on_error: Callable[[Any], None],
    ) -> None:
        self._panel = panel
        self._review = review
        self._on_saved = on_saved
        self._on_error = on_error
        panel.save.clicked.connect(self.save)
        panel.export.clicked.connect(self._on_export)

    def save(self) -> bool:
        """Write the table; ask first if somebody else has changed it."""
        return self._save(None, is_sure=False)

    def _save(self, path: Path | None, *, is_sure: bool) -> bool:
        review = self._review()
        if review is None:
            return False
        queue = review.queue
        self._panel.question.dismiss()
        try:
            queue.save(path, overwrite_changed=is_sure)
        except FileChangedError as error:
            self._ask_about(path, str(error))
            return False
        except (ValueError, OSError) as error:
            self._on_error(explain_exception(error))
            return False
        assert queue.path is not None
        self._panel.tell(f"Saved {len(queue)} cars as {queue.path.name}.")
        self._on_saved()
        return True

    def _ask_about(self, path: Path | None, text: str) -> None:
        answers: dict[str, Callable[[], Any]] = {
            "Overwrite": lambda: self._save(path, is_sure=True),
            "Save as …": self._on_save_as,
            "Cancel": lambda: None,
        }
        self._panel.question.ask(f"The file {text}. Nothing was saved.", answers)

    def _on_save_as(self) -> None:
        review = self._review()
        assert review is not None
        own = review.queue.path
        path, _ = QFileDialog.getSaveFileName(
            self._panel, "Save the review as", str(own), "CSV (*.csv)"
        )
        if path:  # the dialog has asked about a file that is there
            self._save(Path(path), is_sure=Path(path) != own)

    def finish(self, close: Callable[[], Any]) -> None:
        """Close the review; ask first what becomes of unsaved actions."""
        review = self._review()
        if review is None or review.queue.is_saved:
            close()
            return
        answers: dict[str, Callable[[], Any]] = {
            "Save": lambda: self.save() and close(),
            "Keep for later": close,
            "Cancel": lambda: None,
        }
        text = "There are unsaved actions; they also wait in the journal."
        self._panel.question.ask(text, answers)

    def _on_export(self) -> None:
        path, chosen = QFileDialog.getSaveFileName(
            self._panel, "Export the cars", "cars", ";;".join(FILTERS)
        )
        if path:
            self.export(path, chosen)

    def export(self, path: str, chosen: str = "") -> None:
        """Write a copy of the reviewed cars; see `export_review`."""
        review = self._review()
        if review is None:
            return
        queue, frame = review.queue, review.frame
        try:
            _, text = export_review(queue.table, path, chosen, frame, queue.path)
        except (ValueError, OSError) as error:
            self._on_error(explain_exception(error))
            return
        self._panel.tell(text)
