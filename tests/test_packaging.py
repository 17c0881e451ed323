"""What is built and shipped: wheel, sdist and editable install, without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

SHIPPED = ("roteq_core/weights/*.safetensors", "roteq_core/weights/*.json")
SHIPPED += ("roteq_core/py.typed", "roteq_core/__init__.pyi")
LOOK = """
import json
from pathlib import Path
import napari_roteq
from npe2 import PluginManifest

folder = Path(napari_roteq.__file__).parent
manifest = PluginManifest.from_distribution("napari-roteq")
samples = sorted(f.name for f in (folder / "sample_data").glob("*"))
print(json.dumps({"name": manifest.name, "folder": str(folder), "samples": samples}))
"""


class Built(NamedTuple):
    """The two archives of one build."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(root, tmp_path_factory) -> Built:
    """Build the sdist, and the wheel from it, as a release would."""
    out = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--no-isolation", "--outdir", str(out), cwd=root)
    return Built(next(out.glob("*.whl")), next(out.glob("*.tar.gz")))


@pytest.fixture(scope="module")
def unpacked_sdist(built, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built.sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def run(*arguments: str, cwd: Path, path: tuple[Path, ...] = ()) -> str:
    """Run this Python in a folder, with folders put before its packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def sample_files(root: Path) -> set[str]:
    folder = root / "sample_data"
    files = (file for file in folder.rglob("*") if "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)) for file in files if file.is_file()}


def listed(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*") if file.name != "__pycache__")


def test_wheel_holds_the_real_manifest(built, root):
    with zipfile.ZipFile(built.wheel) as archive:
        shipped = archive.read("napari_roteq/napari.yaml")
    assert shipped == (root / "napari.yaml").read_bytes()


def test_wheel_holds_the_samples(built, root):
    prefix = "napari_roteq/sample_data/"
    names = {name for name in names_in(built.wheel) if name.startswith(prefix)}
    assert {name.removeprefix(prefix) for name in names} == sample_files(root)


def test_wheel_holds_models_types_and_public_names(built, root):
    wanted = {
        str(file.relative_to(root)) for glob in SHIPPED for file in root.glob(glob)
    }
    assert "roteq_core/__init__.pyi" in wanted
    assert wanted <= names_in(built.wheel)


def test_wheel_holds_nothing_else(built):
    tops = {name.partition("/")[0] for name in names_in(built.wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "roteq_core",
        "napari_roteq",
    }


def test_manifest_resolves_from_the_wheel(built, root, tmp_path):
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(tmp_path)
    seen = json.loads(run("-c", LOOK, cwd=tmp_path, path=(tmp_path,)))
    assert seen["name"] == "napari-roteq"
    assert seen["folder"] == str(tmp_path / "napari_roteq")
    assert seen["samples"] == listed(root / "sample_data")


def test_sdist_holds_real_files_and_no_links(unpacked_sdist, root):
    assert (unpacked_sdist / "napari.yaml").read_bytes() == (
        root / "napari.yaml"
    ).read_bytes()
    assert not (unpacked_sdist / "napari_roteq" / "napari.yaml").exists()
    assert not (unpacked_sdist / "napari_roteq" / "sample_data").exists()
    assert (unpacked_sdist / "Makefile").is_file()


def test_manifest_resolves_from_an_editable_install(unpacked_sdist, tmp_path):
    build = f"from hatchling.build import build_editable as b; b({str(tmp_path)!r})"
    run("-c", build, cwd=unpacked_sdist)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        archive.extractall(tmp_path)
    checkout = Path(next(tmp_path.glob("*.pth")).read_text().strip())

    seen = json.loads(run("-c", LOOK, cwd=tmp_path, path=(tmp_path, checkout)))

    assert seen["name"] == "napari-roteq"
    assert seen["folder"] == str(unpacked_sdist / "napari_roteq")
    assert seen["samples"] == listed(unpacked_sdist / "sample_data")
    assert (unpacked_sdist / "napari_roteq" / "napari.yaml").is_symlink()
