"""Keys of a review: reading, choosing, binding and giving back."""

import pytest
from napari.components import ViewerModel
from napari.layers import Shapes

from napari_roteq._review import keys as _review_keys
from napari_roteq._review.keys import (
    COMMANDS,
    KeyBinder,
    check_key,
    parse_keys,
    read_keys,
    reset_keys,
    store_key,
)
from napari_roteq._review.lists import napari_name
from napari_roteq._settings import Settings


@pytest.fixture
def stored(monkeypatch):
    """Keep the settings in a dictionary."""
    kept = {"keys": ""}
    monkeypatch.setattr(_review_keys, "read_settings", lambda: Settings(**kept))
    monkeypatch.setattr(_review_keys, "write_setting", kept.__setitem__)
    return kept


def test_every_command_has_a_key_of_its_own(stored):
    keys = read_keys()
    assert set(keys) == set(COMMANDS)
    assert len(set(keys.values())) == len(keys)


@pytest.mark.parametrize("key", ["", "Foo", "Ctrl+", "Shift+Nothing"])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(ValueError, match="a key must be like"):
        check_key(key)


def test_faults_in_the_settings_do_no_harm(stored):
    assert parse_keys("flip=G, accept=Foo, dance=X, =, undo") == {"flip": "G"}
    stored["keys"] = "flip=Foo"
    assert read_keys()["flip"] == "F"


def test_a_key_is_kept_and_must_be_free(stored):
    assert store_key("flip", "G")["flip"] == "G"
    assert stored["keys"] == "flip=G"
    with pytest.raises(ValueError, match="G is that of 'Flip'"):
        store_key("accept", "G")
    assert store_key("accept", "F")["accept"] == "F"
    assert reset_keys() == {n: check_key(c.key) for n, c in COMMANDS.items()}


@pytest.mark.parametrize(
    ("qt", "napari"),
    [
        ("F", "F"),
        ("Shift+Left", "Shift+Left"),
        ("Ctrl+Return", "Ctrl+Enter"),
        ("Del", "Delete"),
        ("PgUp, A", "PageUp"),
    ],
)
def test_keys_of_qt_are_written_as_napari_does(qt, napari):
    assert check_key(napari_name(qt)) == napari


def test_bound_keys_run_commands_and_are_given_back(stored):
    viewer, layer, run, own = ViewerModel(), Shapes(), [], []
    viewer.bind_key("F", lambda _: own.append(1))
    before = dict(viewer.keymap)
    binder = KeyBinder(viewer, run.append)
    binder.bind(layer, read_keys())
    binder.bind(layer, read_keys())  # anew, as after a change
    for owner in (viewer, layer):
        names = {str(key): call for key, call in owner.keymap.items()}
        names["F"](owner)
    assert run == ["flip", "flip"]
    binder.unbind()
    assert dict(viewer.keymap) == before
    assert not layer.keymap
    assert not binder.is_bound
