import pytest

from napari_roteq._parts.model_choice import (
    ModelBox,
    choose_model,
    known_models,
    spelled,
)
from napari_roteq._session import Session


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def box(session, qtbot, monkeypatch):
    monkeypatch.setattr("napari_roteq._parts.model_choice.shipped_models", dict)
    box = ModelBox(session, "membranes")
    qtbot.addWidget(box)
    return box


def test_opened_file_is_shared(session, box, membrane_model):
    box.open_file(membrane_model)
    assert box.model() == session.model == choose_model(membrane_model)
    assert spelled(box.model()) == membrane_model


def test_choice_of_another_widget_is_taken_over(session, box, membrane_model):
    session.model = choose_model(membrane_model)
    assert box.model() == session.model


def test_model_for_another_task_is_refused(session, qtbot, membrane_model):
    box = ModelBox(session, "cars")
    qtbot.addWidget(box)
    with qtbot.waitSignal(box.failed) as failed:
        box.open_file(membrane_model)
    assert "choose one for cars" in failed.args[0].sentence
    assert session.model is None


def test_own_choice_stays_when_another_task_gets_a_model(
    session, box, qtbot, membrane_model
):
    box.open_file(membrane_model)
    kept = box.model()
    other = choose_model(membrane_model)
    session.model = type(other)("cars", "cars.safetensors", {"task": "cars"})
    assert box.model() == kept


def test_baselines_are_offered_only_once_they_were_opened(
    session, tmp_path, membrane_model, monkeypatch
):
    from roteq_core.model import load_model, with_card

    path = tmp_path / "plain.safetensors"
    with_card(load_model(membrane_model), settings={"baseline": True}).save(path)
    monkeypatch.setattr(
        "napari_roteq._parts.model_choice.shipped_models", lambda: {"plain": path}
    )
    monkeypatch.setattr("roteq_core.card.shipped_models", lambda: {"plain": path})
    assert known_models(session) == []
    session.model = choose_model("plain")
    assert known_models(session, "membranes") == [session.model]
