import os
import subprocess
import sys

import pytest
import tifffile

from napari_roteq.demo import has_display


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a virtual display")
def test_demo_leaves_pictures_and_results(tmp_path, membrane_model):
    environment = {
        name: value for name, value in os.environ.items() if "DISPLAY" not in name
    }
    run = subprocess.run(
        [sys.executable, "-m", "napari_roteq.demo", "--model", membrane_model],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    out = tmp_path / "demo_output"
    assert str(out) in run.stdout
    assert (out / "segment_membranes.png").stat().st_size > 20_000
    assert tifffile.imread(out / "em_stack_slice_membranes.tif").std() > 0
    assert "iter_segment_part" in (out / "recipe.py").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux may have no display")
def test_display_is_found_by_its_name(monkeypatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_display()
    monkeypatch.delenv("DISPLAY")
    assert not has_display()
