from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtWidgets import QApplication, QLabel, QSpinBox, QToolButton

from napari_roteq._parts.form import Form
from roteq_core.config import TrainConfig
from roteq_core.net_config import NET_CONFIGS


@dataclass(frozen=True)
class Config:
    epochs: int = field(
        default=20,
        metadata={"low": 1, "high": 500, "tip": "How often", "unit": "times"},
    )
    rate: float = field(default=3e-4, metadata={"low": 0.0, "step": 1e-4})
    device: Literal["auto", "cpu", "cuda"] = "auto"
    average: bool = field(default=True, metadata={"label": "Average the weights"})
    note: str = ""
    orientations: int = field(
        default=8, metadata={"choices": (4, 8, 16), "advanced": True}
    )
    crop: int | None = field(default=None, metadata={"low": 8, "advanced": True})
    folder: Path = Path("runs")
    widths: tuple[int, ...] = (8, 16)
    secret: int = field(default=3, metadata={"hidden": True})

    def __post_init__(self):
        if self.crop is not None and self.crop % 8:
            raise ValueError(f"crop must be a multiple of 8, got {self.crop}")


OTHER = Config(
    epochs=7,
    rate=0.123456789,
    device="cuda",
    average=False,
    note="x",
    orientations=16,
    crop=64,
    folder=Path("a/b"),
    widths=(1,),
    secret=9,
)


@pytest.fixture
def form(qtbot):
    form = Form(Config)
    qtbot.addWidget(form)
    form.show()
    return form


def test_a_fresh_form_has_the_defaults(form):
    assert form.value() == Config()


def test_what_is_set_can_be_got(form):
    form.set_value(OTHER)
    assert form.value() == OTHER
    form.set_value(Config())
    assert form.value() == Config()


@pytest.mark.parametrize(
    "config",
    [
        TrainConfig(steps=7, learning_rate=1.25e-5, device="cpu", rotate=False),
        *(make() for make in NET_CONFIGS.values()),
    ],
    ids=lambda config: type(config).__name__,
)
def test_every_config_of_the_core_goes_round(qtbot, config):
    form = Form(type(config))
    qtbot.addWidget(form)
    assert form.value() == type(config)()
    form.set_value(config)
    assert form.value() == config


def test_floats_are_written_without_idle_zeros(qtbot):
    form = Form(TrainConfig)
    qtbot.addWidget(form)
    assert form.editor("learning_rate").part.text() == "0.006"
    form.editor("learning_rate").part.stepUp()
    assert form.value().learning_rate == pytest.approx(0.0061)
    form.editor("clip").part.setValue(0)
    assert form.editor("clip").part.text() == "0"


def test_an_instance_gives_its_own_values(qtbot):
    form = Form(OTHER)
    qtbot.addWidget(form)
    assert form.value() == OTHER


def test_setting_tells_once_and_only_if_something_changed(form):
    heard = []
    form.changed.connect(lambda: heard.append(form.value()))
    form.set_value(OTHER)
    assert heard == [OTHER]
    form.set_value(OTHER)
    assert len(heard) == 1


def test_every_edit_by_the_user_is_told(form, qtbot):
    for name, edit in {
        "epochs": lambda part: part.setValue(9),
        "rate": lambda part: part.setValue(0.5),
        "device": lambda part: part.setCurrentText("cpu"),
        "average": lambda part: part.click(),
        "note": lambda part: part.setText("new"),
        "orientations": lambda part: part.setCurrentText("4"),
        "crop": lambda part: part.click(),
    }.items():
        with qtbot.waitSignal(form.changed, timeout=1000):
            edit(form.editor(name).part)
    value = form.value()
    assert (value.epochs, value.rate, value.device) == (9, 0.5, "cpu")
    assert (value.average, value.note, value.orientations) == (False, "new", 4)
    assert value.crop is not None


def test_small_floats_are_shown_in_full(form):
    assert form.editor("rate").part.text() == "0.0003"


def test_limits_units_and_tips_come_from_the_metadata(form):
    part = form.editor("epochs").part
    assert (part.minimum(), part.maximum()) == (1, 500)
    assert part.suffix() == " times"
    assert part.toolTip() == "How often"


def test_labels_are_given_or_made_from_the_name(form):
    labels = [label.text() for label in form.findChildren(QLabel)]
    assert "Epochs" in labels
    assert form.editor("average").part.text() == "Average the weights"


def test_values_out_of_range_are_refused(form):
    with pytest.raises(ValueError, match=r"\[1, 500\], got 0"):
        form.set_value(Config(epochs=0))
    with pytest.raises(ValueError, match="one of"):
        form.set_value(Config(device="tpu"))


def test_values_that_do_not_go_together_are_a_problem(form):
    assert form.problem() is None
    form.set_value(Config(crop=16))
    form.editor("crop")._inner.part.setValue(17)
    assert form.problem() == "crop must be a multiple of 8, got 17"


def test_advanced_fields_are_folded_away(form):
    assert form.editor("epochs").isVisible()
    assert not form.editor("crop").isVisible()
    form.findChild(QToolButton).click()
    assert form.editor("crop").isVisible()


def test_hidden_and_skipped_fields_have_no_editor_but_keep_their_value(qtbot):
    form = Form(OTHER, skip=("note",))
    qtbot.addWidget(form)
    for name in ("secret", "widths", "note"):
        with pytest.raises(KeyError):
            form.editor(name)
    assert form.value() == OTHER


def test_a_path_is_chosen_in_a_dialog(form, monkeypatch, qtbot):
    from qtpy.QtWidgets import QFileDialog, QPushButton

    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/tmp/x", ""))
    form.editor("folder").findChild(QPushButton).click()
    assert form.value().folder == Path("/tmp/x")


def test_the_wheel_scrolls_the_panel_not_the_value(form):
    box = form.editor("epochs").part
    assert isinstance(box, QSpinBox)
    box.clearFocus()
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, event)
    assert box.value() == 20
