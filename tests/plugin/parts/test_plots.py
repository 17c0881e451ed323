import time

import numpy as np
import pytest
from matplotlib.backend_bases import MouseEvent

from napari_roteq._parts.plot_canvas import theme_colors
from napari_roteq._parts.plots import (
    CurvesPlot,
    HistogramPlot,
    RosePlot,
    SweepPlot,
    WheelPlot,
)
from roteq_core.angles import angle_from_heading


@pytest.fixture
def made(qtbot):
    def make(kind, **options):
        plot = kind(**options)
        qtbot.addWidget(plot)
        plot.resize(320, 240)
        plot.show()
        return plot

    return make


def pixels(plot):
    plot.draw_now()
    return np.asarray(plot.canvas.buffer_rgba())[..., :3].astype(int)


@pytest.mark.parametrize("kind", [CurvesPlot, RosePlot, HistogramPlot, SweepPlot])
def test_an_empty_plot_can_be_drawn(made, kind):
    assert np.ptp(pixels(made(kind))) > 0  # axes and labels


def test_many_points_give_few_drawings(made, qtbot, monkeypatch):
    plot = made(CurvesPlot)
    drawings = []
    draw = plot.canvas.draw
    monkeypatch.setattr(plot.canvas, "draw", lambda: (drawings.append(1), draw()))
    began = time.monotonic()
    for epoch in range(1, 500):
        plot.add(epoch, 1 / epoch, 1.2 / epoch)
    qtbot.waitUntil(lambda: bool(plot.axes.lines), timeout=5000)
    # Qt itself may ask for one when the window appears.
    assert 1 <= len(drawings) <= 2 + (time.monotonic() - began) / 0.3
    assert len(plot.axes.lines[0].get_xdata()) == 499


def test_a_hidden_plot_draws_only_when_it_is_shown(made, qtbot, monkeypatch):
    plot = made(CurvesPlot)
    plot.hide()
    plot.draw_now()
    plot.add(1, 0.5)
    qtbot.wait(300)
    assert not plot.axes.lines
    plot.show()
    qtbot.waitUntil(lambda: bool(plot.axes.lines), timeout=3000)


def test_curves_mark_the_gap_where_they_end(made):
    plot = made(CurvesPlot)
    plot.add(1, 0.9, 1.0)
    plot.add(2, 0.5, 0.75)
    plot.add(3, 0.4)  # not validated in this epoch
    plot.draw_now()
    train, validation = plot.axes.lines
    assert train.get_xdata().tolist() == [1, 2, 3]
    assert validation.get_ydata().tolist() == [1.0, 0.75]
    assert plot.axes.texts[0].get_text().strip() == "gap 0.25"
    plot.clear()
    plot.draw_now()
    assert not plot.axes.lines


def test_the_rose_points_like_a_compass(made):
    plot = made(RosePlot, petals=4)
    plot.show_angles(angle_from_heading([10, 20, 100]))
    plot.draw_now()
    heights = [bar.get_height() ** 2 for bar in plot.axes.patches]
    assert heights == pytest.approx([2, 1, 0, 0])
    assert plot.axes.get_theta_direction() == -1
    image = pixels(plot)
    height, width = image.shape[:2]
    colored = np.ptp(image, axis=-1) > 30
    assert (
        colored[: height // 2, width // 2 :].sum() > 3 * colored[:, : width // 2].sum()
    )


def test_the_rose_says_mean_and_resultant(made):
    plot = made(RosePlot)
    plot.show_angles(angle_from_heading([350, 10, 0]))
    assert plot.summary().startswith("n 3 · mean 0° · R 0.99")
    plot.show_angles(angle_from_heading([0, 180]))
    assert plot.summary().endswith("R 0.00")
    plot.show_angles(angle_from_heading([0, 180]), is_axial=True)
    assert plot.summary().endswith("R 1.00")
    plot.show_angles([])
    assert plot.summary() == "no directions"


def test_an_axis_is_drawn_both_ways(made):
    plot = made(RosePlot, petals=4)
    plot.show_angles(
        angle_from_heading([10, 10, 100]), weights=[1, 1, 2], is_axial=True
    )
    plot.draw_now()
    heights = [bar.get_height() ** 2 for bar in plot.axes.patches]
    assert heights == pytest.approx([2, 2, 2, 2])


def click(plot, x, y):
    plot.draw_now()
    px, py = plot.axes.transData.transform((x, y))
    event = MouseEvent("button_press_event", plot.canvas, px, py, button=1)
    plot.canvas.callbacks.process("button_press_event", event)


def test_a_click_on_a_petal_says_which_headings_it_holds(made, qtbot):
    plot = made(RosePlot, petals=4)
    plot.show_angles(angle_from_heading([100] * 9))
    with qtbot.waitSignal(plot.petal_clicked, timeout=1000) as signal:
        click(plot, np.radians(100), 1.0)
    assert signal.args == [90, 180]


def test_a_click_in_a_sweep_says_where(made, qtbot):
    plot = made(SweepPlot, x_label="threshold", y_label="score")
    plot.show_lines([0, 0.5, 1], {"V-Rand": [0.2, 0.9, 0.1]}, mark=0.5)
    with qtbot.waitSignal(plot.x_clicked, timeout=1000) as signal:
        click(plot, 0.25, 0.5)
    assert signal.args[0] == pytest.approx(0.25, abs=0.01)
    assert len(plot.axes.lines) == 2


def test_a_histogram_leaves_out_what_is_not_a_number(made):
    plot = made(HistogramPlot, x_label="error (°)", bins=5)
    plot.show_values([1, 2, 2, np.nan], marks={"median": 2})
    plot.draw_now()
    assert sum(bar.get_height() for bar in plot.axes.patches) == 3
    assert plot.axes.get_legend().get_texts()[0].get_text() == "median 2"


def test_the_wheel_repeats_for_axes(made):
    plot = made(WheelPlot)
    plot.draw_now()
    colors = plot.axes.collections[0].get_facecolor()
    assert np.abs(colors[0] - colors[len(colors) // 2]).max() > 0.1
    assert np.abs(colors[0] - colors[-1]).max() < 0.1


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_plot_has_the_colors_of_the_theme(made, theme):
    plot = made(SweepPlot)
    plot.set_theme(theme)
    background = theme_colors(theme)["background"].lstrip("#")
    expected = [int(background[i : i + 2], 16) for i in (0, 2, 4)]
    assert pixels(plot)[1, 1].tolist() == expected


def test_the_plot_follows_the_theme_of_its_viewer(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()
    viewer.theme = "dark"
    plot = CurvesPlot(viewer)
    qtbot.addWidget(plot)
    dark = pixels(plot)[1, 1].tolist()
    viewer.theme = "light"
    assert pixels(plot)[1, 1].tolist() != dark
