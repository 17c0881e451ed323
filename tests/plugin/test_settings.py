from types import SimpleNamespace

import napari.settings
import pytest

from napari_roteq._settings import Settings, read_settings


@pytest.fixture
def preferences(monkeypatch):
    def set_up(**groups):
        def get_plugin_settings(name):
            return {"napari-roteq": SimpleNamespace(**groups)}[name]

        monkeypatch.setattr(
            napari.settings, "get_plugin_settings", get_plugin_settings, raising=False
        )

    return set_up


def test_what_the_user_chose_is_read(preferences):
    preferences(
        compute=SimpleNamespace(device="cpu", tile=256, warm_up=False),
        display=SimpleNamespace(vectors=500),
    )
    assert read_settings() == Settings("cpu", 256, False, 500)


def test_what_is_missing_has_its_default(preferences):
    preferences(compute=SimpleNamespace(device="cpu"))
    assert read_settings() == Settings(device="cpu")


def test_without_preferences_there_are_defaults(monkeypatch):
    monkeypatch.delattr(napari.settings, "get_plugin_settings", raising=False)
    assert read_settings() == Settings()


def test_an_unregistered_plugin_has_defaults(monkeypatch):
    def get_plugin_settings(name):
        raise KeyError(name)

    monkeypatch.setattr(
        napari.settings, "get_plugin_settings", get_plugin_settings, raising=False
    )
    assert read_settings() == Settings()
