import pytest
from npe2 import PluginManifest

MENUS = ("napari/layers/segment", "napari/layers/measure")


@pytest.fixture(scope="module")
def manifest():
    return PluginManifest.from_distribution("napari-roteq")


def test_every_command_can_be_imported(manifest):
    manifest.validate_imports()


def test_every_command_is_offered_somewhere(manifest):
    offered = set()
    for group in ("widgets", "readers", "writers", "sample_data"):
        offered |= {each.command for each in getattr(manifest.contributions, group)}
    assert offered == {each.id for each in manifest.contributions.commands}


def test_widgets_are_found_by_their_names(manifest):
    names = [each.display_name for each in manifest.contributions.widgets]
    assert {"Segment membranes", "Model", "Score"} <= set(names)
    assert len(names) == len(set(names))


def test_menus_hold_widgets(manifest):
    widgets = {each.command for each in manifest.contributions.widgets}
    for menu in MENUS:
        items = {each.command for each in manifest.contributions.menus[menu]}
        assert items
        assert items <= widgets


def test_preferences_offer_what_the_settings_read(manifest):
    from dataclasses import fields

    from napari_roteq._settings import Settings

    offered = {
        (key, name): each.default
        for key, group in manifest.contributions.configurations.items()
        for name, each in group.properties.items()
    }
    read = {
        (each.metadata["group"], each.name): each.default for each in fields(Settings)
    }
    assert offered == read
