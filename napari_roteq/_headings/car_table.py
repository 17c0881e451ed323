"""A table of cars to sort and to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from qtpy.QtCore import (  # type: ignore[attr-defined]
    QAbstractTableModel,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from qtpy.QtWidgets import QTableView, QWidget

from roteq_core.tables import Car, CarTable

_Value = float | str | None
_COLUMNS: dict[str, tuple[Callable[[Car], _Value], str, str]] = {
    "Heading": (
        lambda car: car.heading_cw_from_up_deg,
        "{:.0f}°",
        "Where the front points: 0° is up, 90° right",
    ),
    "±": (
        lambda car: car.heading_sd_deg,
        "{:.1f}°",
        "Standard deviation of the heading, were the front right",
    ),
    "Flip": (
        lambda car: car.p_flip,
        "{:.0%}",
        "Chance that front and rear are swapped",
    ),
    "Score": (
        lambda car: car.score,
        "{:.2f}",
        "How sure the finder was that this is a car",
    ),
    "Status": (lambda car: car.status, "{}", "Who says so, or why nothing is said"),
}
_HEADERS = ("Car", *_COLUMNS)
_WIDEST = {
    "Heading": "360°",
    "±": "99.9°",
    "Flip": "100%",
    "Score": "0.99",
    "Status": "accepted",
}
_PADDING = 16  # pixels around a text


class _CarModel(QAbstractTableModel):
    """Cars as rows; sorted by their values, not by their texts."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._cars: tuple[Car, ...] = ()

    @property
    def cars(self) -> tuple[Car, ...]:
        return self._cars

    def has_values(self, header: str) -> bool:
        value_of = _COLUMNS[header][0]
        return any(value_of(car) not in (None, "") for car in self._cars)

    def set_cars(self, cars: tuple[Car, ...]) -> None:
        self.beginResetModel()
        self._cars = cars
        self.endResetModel()

    def set_car(self, row: int, car: Car) -> None:
        self._cars = (*self._cars[:row], car, *self._cars[row + 1 :])
        last = self.columnCount() - 1
        self.dataChanged.emit(self.index(row, 0), self.index(row, last))

    def rowCount(self, parent: Any = None) -> int:
        return len(self._cars)

    def columnCount(self, parent: Any = None) -> int:
        return len(_HEADERS)

    def data(self, index: QModelIndex, role: int = 0) -> Any:
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.UserRole):
            return None
        is_shown = role == Qt.ItemDataRole.DisplayRole
        car = self._cars[index.row()]
        if index.column() == 0:
            number = index.row() + 1
            return (car.id or str(number)) if is_shown else number
        value_of, form, _ = _COLUMNS[_HEADERS[index.column()]]
        value = value_of(car)
        if value is None:
            return "" if is_shown else -1.0
        return form.format(value) if is_shown else value

    def headerData(self, section: int, orientation: Any, role: int = 0) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole and section:
            return _COLUMNS[_HEADERS[section]][2]
        return None


class CarTableView(QTableView):
    """Show cars; rows are chosen by the user or with `choose`.

    Parameters
    ----------
    parent : QWidget, optional
        As in Qt.
    is_sortable : bool
        Whether a click on a column's title sorts; otherwise rows stay as given.
    """

    chosen = Signal(list)  # numbers of cars, when the user chose them

    def __init__(
        self, parent: QWidget | None = None, *, is_sortable: bool = True
    ) -> None:
        super().__init__(parent)
        self._model = _CarModel(self)
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSortRole(Qt.ItemDataRole.UserRole)
        self._sorted.setSourceModel(self._model)
        self._is_told = False  # whether `choose` is at work
        self.setModel(self._sorted)
        if is_sortable:
            self.setSortingEnabled(True)
            self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setMinimumHeight(110)
        header, numbers = self.horizontalHeader(), self.verticalHeader()
        assert header is not None
        assert numbers is not None
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        header.setMinimumSectionSize(_PADDING)
        header.setStretchLastSection(True)
        numbers.hide()
        self._fit_columns()
        self._selection().selectionChanged.connect(self._on_selection)

    def show_table(self, table: CarTable) -> None:
        """Show other cars; none is chosen."""
        self._is_told = True
        self._model.set_cars(table.cars)
        self._is_told = False
        self._fit_columns()

    def show_car(self, row: int, car: Car) -> None:
        """Show a car of the table as it is now."""
        self._model.set_car(row, car)

    def _fit_columns(self) -> None:
        """Make columns as wide as their titles and the widest text they may hold."""
        metrics, title = self.fontMetrics(), self.horizontalHeader()
        assert title is not None
        ids = [car.id or str(row) for row, car in enumerate(self._model.cars[:200], 1)]
        for column, header in enumerate(_HEADERS):
            texts = ids if column == 0 else [_WIDEST[header]]
            wide = max(map(metrics.horizontalAdvance, texts), default=0)
            needed = max(wide, title.sectionSizeHint(column) - _PADDING)
            self.setColumnWidth(column, needed + _PADDING)
            is_empty = column > 0 and not self._model.has_values(header)
            self.setColumnHidden(column, is_empty and len(self._model.cars) > 0)

    def choice(self) -> list[int]:
        """Give the numbers of the chosen cars."""
        rows = self._selection().selectedRows()
        return sorted(self._sorted.mapToSource(row).row() for row in rows)

    def choose(self, cars: Iterable[int]) -> None:
        """Choose cars by number, and show the first; `chosen` is not sent."""
        indices = [self._sorted.mapFromSource(self._model.index(n, 0)) for n in cars]
        ranges = QItemSelection()
        for index in indices:
            ranges.select(index, index)
        flags = QItemSelectionModel.SelectionFlag
        self._is_told = True
        self._selection().select(ranges, flags.ClearAndSelect | flags.Rows)
        self._is_told = False
        if indices:
            self.scrollTo(indices[0])

    def _selection(self) -> QItemSelectionModel:
        model = self.selectionModel()
        assert model is not None
        return model

    def _on_selection(self) -> None:
        if not self._is_told:
            self.chosen.emit(self.choice())
