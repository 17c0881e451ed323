import numpy as np
import pytest

from napari_roteq._field.plots import FieldLegend, FiltersPlot, TurnPlot
from roteq_core.fields.filter_sheet import filter_sheet
from roteq_core.fields.turn_curve import TurnCurve


@pytest.fixture
def make(qtbot):
    def make(kind):
        plot = kind(None)
        qtbot.addWidget(plot)
        return plot

    return make


def test_filters_are_named_and_square(make):
    plot = make(FiltersPlot)
    plot.resize(300, 100)
    plot.show_sheet(filter_sheet(np.zeros((4, 8, 1, 1, 5, 5), np.float32)))
    plot.draw_now()
    names = [label.get_text() for label in plot.axes.get_yticklabels()]
    assert names == [f"filter {n}" for n in range(4)]
    degrees = [label.get_text() for label in plot.axes.get_xticklabels()]
    assert degrees == ["0°", "90°", "180°", "270°"]
    assert plot.minimumHeight() > 100
    plot.show_sheet(None)
    plot.draw_now()
    assert "come with the field" in plot.axes.texts[0].get_text()
    assert plot.minimumHeight() == 0


def test_curve_has_a_line_for_each_model(make):
    plot = make(TurnPlot)
    curve = TurnCurve("change of heading (degrees)")
    plot.show_curve(curve)
    plot.draw_now()  # nothing is known yet
    for angle in (0, 90, 180):
        curve.add(angle, {"ours": 0.0, "plain CNN": angle / 90})
    plot.show_curve(curve)
    plot.draw_now()
    assert {line.get_label() for line in plot.axes.lines} == {"ours", "plain CNN"}
    assert len(plot.axes.lines) == 2
    assert plot.axes.get_ylabel() == "change (degrees)"
    assert plot.axes.get_xlim() == (0, 360)
    assert plot.axes.get_ylim()[1] > 2


def test_what_reading_between_pixels_does_is_a_dotted_line(make):
    plot, curve = make(TurnPlot), TurnCurve("change of probability (RMS)")
    for angle in (0, 45, 90):
        change = (angle % 90) / 90
        curve.add(angle, {"ours": change}, {"ours": change / 5})
    plot.show_curve(curve)
    plot.draw_now()
    whole, reading, _ = plot.axes.lines
    assert (whole.get_linestyle(), reading.get_linestyle()) == ("-", ":")
    np.testing.assert_allclose(reading.get_ydata(), [0, 0.1, 0])
    texts = [text.get_text() for text in plot.axes.get_legend().get_texts()]
    assert texts == ["ours", "by reading between pixels"]


@pytest.mark.parametrize("color_by", ["direction", "strength"])
def test_legend_says_what_colors_mean(make, color_by):
    legend = make(FieldLegend)
    legend.show_for(color_by)
    shown = legend.bar if color_by == "strength" else legend.wheel
    assert shown.isVisibleTo(legend)
    shown.draw_now()
