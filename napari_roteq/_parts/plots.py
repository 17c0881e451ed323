"""The kinds of plots: training curves, roses, histograms, sweeps, the color wheel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from qtpy.QtCore import Signal  # type: ignore[attr-defined]

from napari_roteq._colors import color_of
from napari_roteq._parts.plot_canvas import Plot
from roteq_core.angles import TURN, circular_mean, heading_from_angle

_TICKS = 4  # steps at most on an axis: text takes most of the time to draw
# Told apart on dark and on light, and by most color-blind readers.
LINE_COLORS = ("#3b8eea", "#e8833a", "#3aa655", "#b06fd8", "#d1495b")


class CurvesPlot(Plot):
    """Training and validation curves; the gap between them is marked where they end."""

    def __init__(
        self,
        *args: Any,
        x_label: str = "epoch",
        y_label: str = "loss",
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._x_label, self._y_label = x_label, y_label
        self.clear()

    def clear(self) -> None:
        """Forget all points."""
        self._points: list[tuple[float, float, float]] = []
        self.redraw()

    def add(self, epoch: float, train: float, validation: float | None = None) -> None:
        """Add a point to each curve; no validation leaves its curve as it is."""
        missing = float("nan")
        self._points.append(
            (epoch, train, missing if validation is None else validation)
        )
        self.redraw()

    def _draw(self, axes: Axes) -> None:
        axes.set_xlabel(self._x_label)
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.set_ylabel(self._y_label)
        if not self._points:
            return
        epoch, train, validation = np.array(self._points, float).T
        seen = np.isfinite(validation)
        dot = "." if len(epoch) < 30 else ""
        axes.plot(epoch, train, LINE_COLORS[0], marker=dot, label="training")
        if seen.any():
            kept = epoch[seen], validation[seen]
            axes.plot(*kept, LINE_COLORS[1], marker=dot, label="validation")
            axes.legend(fontsize="small", loc="upper right")
            _mark_gap(axes, epoch[seen][-1], train[seen][-1], validation[seen][-1])


def _mark_gap(axes: Axes, epoch: float, train: float, validation: float) -> None:
    """Draw the distance between the curves where they end, and its size."""
    axes.vlines(epoch, train, validation, linestyles=":", color="gray")
    axes.annotate(
        f"gap {validation - train:.3g} ",
        (epoch, (train + validation) / 2),
        ha="right",
        va="center",
        fontsize="small",
        bbox={"pad": 1, "alpha": 0.8, "linewidth": 0},
    )


class RosePlot(Plot):
    """Directions round a compass, with their circular mean and resultant length.

    The area of a petal is its share of the whole. An axis is drawn both ways.
    """

    petal_clicked = Signal(float, float)  # from, to: heading_cw_from_up_deg
    projection = "polar"
    margins = (36, 34, 36, 54)

    def __init__(self, *args: Any, petals: int = 24, **options: Any) -> None:
        super().__init__(*args, **options)
        self._petals = petals
        self.show_angles([])
        self.canvas.mpl_connect("button_press_event", self._on_press)

    def show_angles(
        self,
        angles: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        is_axial: bool = False,
    ) -> None:
        """Show angles.

        Parameters
        ----------
        angles : array of radians
            In our convention, from right towards down.
        weights : array of the same shape, optional
            How much each counts.
        is_axial : bool
            Whether opposite directions mean the same.
        """
        self._angles = np.ravel(np.asarray(angles, float))
        self._weights = (
            None if weights is None else np.ravel(np.asarray(weights, float))
        )
        self._is_axial = is_axial
        self.redraw()

    def summary(self) -> str:
        """Say the number, circular mean and resultant length."""
        period = TURN / 2 if self._is_axial else TURN
        mean, resultant = circular_mean(self._angles, self._weights, period=period)
        if not len(self._angles):
            return "no directions"
        heading = float(heading_from_angle(mean)) % (180 if self._is_axial else 360)
        return f"n {len(self._angles)} · mean {heading:.0f}° · R {resultant:.2f}"

    def _counts(self) -> np.ndarray:
        headings = np.asarray(heading_from_angle(self._angles))
        weights = self._weights
        if self._is_axial:
            headings = np.concatenate([headings, headings + 180]) % 360
            weights = None if weights is None else np.tile(weights, 2)
        edges = np.linspace(0, 360, self._petals + 1)
        return np.histogram(headings, edges, weights=weights)[0]

    def _draw(self, axes: Any) -> None:
        axes.set_theta_zero_location("N")
        axes.set_theta_direction(-1)
        axes.set_xticks(np.arange(0, TURN, TURN / 8))
        axes.set_yticklabels([])
        axes.set_title(self.summary())
        if not len(self._angles):
            return
        width = TURN / self._petals
        middles = (np.arange(self._petals) + 0.5) * width
        period = TURN / 2 if self._is_axial else TURN
        lengths = np.sqrt(self._counts())  # equal areas for equal shares
        axes.bar(middles, lengths, width, color=color_of(middles / period))
        mean, resultant = circular_mean(self._angles, self._weights, period=period)
        towards = np.radians(heading_from_angle(mean))
        ends = [towards, towards + np.pi] if self._is_axial else [towards]
        for end in ends:
            axes.plot([end, end], [0, resultant * lengths.max()], color="gray", lw=2.5)

    def _on_press(self, event: Any) -> None:
        if event.inaxes is self.axes and event.xdata is not None:
            width = 360 / self._petals
            first = np.floor(np.degrees(event.xdata) % 360 / width) * width
            self.petal_clicked.emit(float(first), float(first + width))


class HistogramPlot(Plot):
    """How often values occur, with marks at chosen ones."""

    def __init__(self, *args: Any, x_label: str = "", bins: int = 30, **options: Any):
        super().__init__(*args, **options)
        self._x_label = x_label
        self._bins = bins
        self.show_values([])

    def show_values(
        self, values: npt.ArrayLike, *, marks: Mapping[str, float] | None = None
    ) -> None:
        """Show values and name some on the axis, such as the median."""
        values = np.ravel(np.asarray(values, float))
        self._values = values[np.isfinite(values)]
        self._marks = dict(marks or {})
        self.redraw()

    def _draw(self, axes: Axes) -> None:
        axes.set_xlabel(self._x_label)
        axes.set_ylabel("count")
        if len(self._values):
            axes.hist(self._values, self._bins, color=LINE_COLORS[0])
        for (name, value), color in zip(
            self._marks.items(), LINE_COLORS[1:], strict=False
        ):
            axes.axvline(value, color=color, label=f"{name} {value:.3g}")
        if self._marks:
            axes.legend(fontsize="small")


class SweepPlot(Plot):
    """Lines over one quantity: a threshold sweep, an answer against the angle."""

    x_clicked = Signal(float)

    def __init__(
        self, *args: Any, x_label: str = "", y_label: str = "", **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._labels = x_label, y_label
        self.show_lines([], {})
        self.canvas.mpl_connect("button_press_event", self._on_press)

    def show_lines(
        self,
        x: npt.ArrayLike,
        lines: Mapping[str, Sequence[float] | np.ndarray],
        *,
        mark: float | None = None,
    ) -> None:
        """Show named lines over `x`, and one x marked, such as the best threshold."""
        self._x = np.asarray(x, float)
        self._lines = {name: np.asarray(y, float) for name, y in lines.items()}
        self._mark = mark
        self.redraw()

    def _draw(self, axes: Axes) -> None:
        axes.set_xlabel(self._labels[0])
        axes.set_ylabel(self._labels[1])
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.yaxis.set_major_locator(MaxNLocator(_TICKS))
        for (name, y), color in zip(self._lines.items(), LINE_COLORS, strict=False):
            axes.plot(self._x, y, color=color, label=name)
        if self._mark is not None:
            axes.axvline(self._mark, color="gray", linestyle=":")
        if self._lines:
            axes.legend(fontsize="small")

    def _on_press(self, event: Any) -> None:
        if event.inaxes is self.axes and event.xdata is not None:
            self.x_clicked.emit(float(event.xdata))


class WheelPlot(Plot):
    """The legend of direction colors: which color points which way."""

    projection = "polar"
    margins = (36, 34, 36, 34)

    def _draw(self, axes: Any) -> None:
        axes.set_theta_zero_location("N")
        axes.set_theta_direction(-1)
        edges = np.linspace(0, TURN, 181)
        middles = (edges[:-1] + edges[1:]) / 2
        axes.pcolormesh(edges, [0.6, 1.0], color_of(middles / TURN)[None])
        axes.set_rorigin(0)
        axes.set_ylim(0, 1)
        axes.set_xticks(np.arange(0, TURN, TURN / 4))
        axes.set_yticks([])
