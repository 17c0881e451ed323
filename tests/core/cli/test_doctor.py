from __future__ import annotations

import sys

import pytest
import torch
from typer.testing import CliRunner

from roteq_core.cli import doctor
from roteq_core.cli.main import app


def test_report_names_versions_threads_devices_and_models():
    found = dict(doctor.findings())
    assert found["torch"] == torch.__version__
    assert found["threads"].startswith(f"{torch.get_num_threads()} of ")
    assert found["devices"].startswith("cpu")
    assert "weights" in found["models"]


def test_command_prints_every_finding():
    output = CliRunner().invoke(app, ["doctor"]).output
    assert all(name in output for name, _ in doctor.findings())


def test_missing_distribution_is_said_to_be_missing():
    assert doctor.installed_version("no-such-distribution") == "not installed"


def test_missing_qt_binding_comes_with_the_remedy(monkeypatch):
    monkeypatch.setattr(doctor, "QT_BINDINGS", ("NoSuchQt",))
    assert "napari-roteq[all]" in doctor.qt_binding()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X is Linux's")
def test_display_is_named_or_its_absence_explained(monkeypatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":7")
    assert doctor.display() == ":7"
    monkeypatch.delenv("DISPLAY")
    assert "xvfb-run" in doctor.display()


def test_models_are_listed_by_name(tmp_path):
    (tmp_path / "membranes.safetensors").touch()
    (tmp_path / "membranes.json").touch()
    assert doctor.shipped_models(tmp_path) == f"{tmp_path}: membranes"
    assert doctor.shipped_models(tmp_path / "absent").endswith(": none")
