"""How a review is going, and how well a second one agrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from qtpy.QtCore import Qt, Signal  # type: ignore[attr-defined]
from qtpy.QtWidgets import (
    QFileDialog,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from napari_roteq._parts.plots import RosePlot
from napari_roteq._review.stats import ReviewStats
from roteq_core.angles import angle_from_heading
from roteq_core.tables import (
    REJECTED,
    Agreement,
    Car,
    CarTable,
    Disagreement,
    compare_reviews,
    read_cars,
)

_TABLES = "Tables of cars (*.csv *.tsv *.geojson *.json *.txt *.xml);;All files (*)"


class ProgressView(QWidget):
    """Numbers of a review, and a rose of its headings."""

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.is_of_several = False  # whether the table is of several images
        self.numbers = QLabel()
        self.numbers.setWordWrap(True)
        self.caption = QLabel("Headings in all images:")
        self.caption.hide()
        self.rose = RosePlot(viewer)
        self.rose.setToolTip("Headings round the compass; rejected cars do not count")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.addWidget(self.numbers)
        layout.addWidget(self.caption)
        layout.addWidget(self.rose, stretch=1)

    def set_several(self, is_several: bool) -> None:
        """Say whether numbers and rose are of more images than the one in view."""
        self.is_of_several = is_several
        self.caption.setVisible(is_several)

    def show_stats(self, stats: ReviewStats) -> None:
        """Show the numbers."""
        whose = "All images: " if self.is_of_several else ""
        self.numbers.setText(whose + spell_stats(stats))

    def show_cars(self, cars: Iterable[Car]) -> None:
        """Show the headings of cars; slow for thousands, so not at every step."""
        headings = [
            car.heading_cw_from_up_deg
            for car in cars
            if car.heading_cw_from_up_deg is not None and car.status != REJECTED
        ]
        self.rose.show_angles(angle_from_heading(np.array(headings, float)))


def spell_stats(stats: ReviewStats) -> str:
    """Say how a review is going."""
    pace = "–" if math.isnan(stats.cars_per_minute) else f"{stats.cars_per_minute:.0f}"
    change = (
        "–" if math.isnan(stats.mean_change_deg) else f"{stats.mean_change_deg:.1f}°"
    )
    return (
        f"<b>{stats.done}</b> done, <b>{stats.left}</b> left · {pace} cars/min<br>"
        f"{stats.accepted} accepted, {stats.edited} edited, {stats.rejected} rejected"
        f"<br>flips found: {stats.flips_found} · mean change {change}"
    )


class AgreementView(QWidget):
    """Compare with another reviewer's table, and go through the disagreements."""

    chosen = Signal(object)  # Disagreement
    failed = Signal(object)  # exception

    def __init__(self) -> None:
        super().__init__()
        self._open = QPushButton("Compare with another review …")
        self._open.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._open.setToolTip("Open the same cars as somebody else reviewed them")
        self.summary = QLabel("A second reviewer's table of the same cars.")
        self.summary.setWordWrap(True)
        self.list = QListWidget()
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setToolTip("Choose one to go there; the worst is first")
        self._rows: tuple[Disagreement, ...] = ()
        self.table_of: Callable[[], CarTable] = CarTable  # of the open review
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        for part in (self._open, self.summary, self.list):
            layout.addWidget(part)
        self._open.clicked.connect(self._on_open)
        self.list.currentRowChanged.connect(self._on_row)

    def compare(self, path: str, **reading: Any) -> Agreement | None:
        """Compare the review with a table; None if it cannot be read."""
        try:
            other = read_cars(path, **reading)
        except (ValueError, OSError) as error:
            self.failed.emit(error)
            return None
        agreement = compare_reviews(self.table_of(), other)
        self._rows = agreement.disagreements
        self.summary.setText(spell_agreement(agreement, Path(path).name))
        self.list.clear()
        for each in self._rows:
            self.list.addItem(QListWidgetItem(spell_disagreement(each)))
        return agreement

    def _on_open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Another review", "", _TABLES)
        if path:
            self.compare(path)

    def _on_row(self, row: int) -> None:
        if 0 <= row < len(self._rows):
            self.chosen.emit(self._rows[row])


def spell_agreement(agreement: Agreement, name: str) -> str:
    """Say how well two reviews agree."""
    if not agreement.compared:
        return f"{name}: none of its cars has a heading in both reviews."
    return (
        f"{name}: mean difference <b>{agreement.mean_difference_deg:.1f}°</b>, median "
        f"{agreement.median_difference_deg:.1f}° over {agreement.compared} cars, "
        f"{agreement.flips} flips, {len(agreement.disagreements)} disagreements"
    )


def spell_disagreement(each: Disagreement) -> str:
    """Say on what two reviewers differ."""
    car = each.first or each.second
    assert car is not None
    if each.difference_deg is None:
        return f"{car.id or 'car'}: {each.reason}"
    assert each.first is not None
    assert each.second is not None
    ours, theirs = each.first.heading_cw_from_up_deg, each.second.heading_cw_from_up_deg
    return f"{car.id}: {each.reason}, {ours:.0f}° here, {theirs:.0f}° there"
