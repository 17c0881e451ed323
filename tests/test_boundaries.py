"""Who may import whom: the core knows no viewer, the viewer knows no torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import roteq_core

ROOT = Path(__file__).resolve().parent.parent
VIEWER_PACKAGES = {"napari", "napari_roteq", "qtpy", "magicgui", "superqt", "npe2"}
VIEWER_PACKAGES |= {"PyQt5", "PyQt6", "PySide2", "PySide6", "vispy"}


def module_files(package: str) -> dict[str, Path]:
    """Give {dotted module name: file} of a package in the checkout."""
    files = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = file
    return files


def imports(module: str, file: Path) -> Iterator[str]:
    """Give the dotted names that a module imports anywhere in it, made absolute."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(parents) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def nearest_module(name: str, modules: dict[str, Path]) -> str | None:
    """Give the longest prefix of a dotted name that is a module."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def torch_free_modules() -> list[str]:
    """Give the modules whose docstring, or that of their package, says "No torch"."""
    modules = module_files("roteq_core")

    def promises(name: str) -> bool:
        doc = ast.get_docstring(ast.parse(modules[name].read_text("utf-8"))) or ""
        return "no torch" in doc.lower()

    packages = {name: name.rpartition(".")[0] or name for name in modules}
    return [name for name in modules if promises(name) or promises(packages[name])]


def modules_after_import(*names: str) -> set[str]:
    """Import modules in a new interpreter; give the top-level names it has loaded."""
    code = f"import sys\nimport {', '.join(names)}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_imports_are_read_whatever_their_form(tmp_path):
    file = tmp_path / "b.py"
    file.write_text(
        "import x.y\n"
        "from . import c\n"
        "from .d import e\n"
        "from ..f import g\n"
        "def late():\n"
        "    from h import i\n"
    )
    found = set(imports("top.a.b", file))
    assert found == {"x.y", "top.a.c", "top.a.d.e", "top.f.g", "h.i"}


@pytest.mark.parametrize("module", module_files("roteq_core"))
def test_core_never_imports_the_viewer(module):
    names = imports(module, module_files("roteq_core")[module])
    assert not {name.partition(".")[0] for name in names} & VIEWER_PACKAGES


def test_core_has_no_import_cycle():
    modules = module_files("roteq_core")
    graph = {
        module: {nearest_module(name, modules) for name in imports(module, file)}
        - {None, module, "roteq_core"}
        for module, file in modules.items()
    }
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("outermost", ["cli", "serving"])
def test_nothing_in_the_core_rests_on_its_outermost_packages(outermost):
    package = f"roteq_core.{outermost}"
    for module, file in module_files("roteq_core").items():
        if not module.startswith(package):
            found = [
                n for n in imports(module, file) if f"{n}.".startswith(f"{package}.")
            ]
            assert not found, (module, found)


def test_torch_is_seen_where_it_is_imported():
    assert "torch" in modules_after_import("torch")


def test_modules_that_promise_it_load_no_torch():
    names = torch_free_modules()
    assert {"roteq_core.angles", "roteq_core.tables.car"} <= set(names)
    assert "roteq_core.layers" not in names
    assert "torch" not in modules_after_import("roteq_core", *names)


def test_command_line_starts_without_torch():
    assert "torch" not in modules_after_import("roteq_core.cli.main")


def test_package_of_the_plugin_loads_neither_torch_nor_qt():
    loaded = modules_after_import("napari_roteq")
    assert not loaded & {"torch", "napari", "qtpy", "PyQt6", "PySide6"}


def test_plugin_never_loads_torch():
    modules = module_files("napari_roteq")
    names = [name for name in modules if not name.endswith("__main__")]
    assert "torch" not in modules_after_import(*names)


@pytest.mark.parametrize("module", module_files("napari_roteq"))
def test_plugin_uses_public_names_of_the_core_only(module):
    names = imports(module, module_files("napari_roteq")[module])
    core = [name for name in names if name.partition(".")[0] == "roteq_core"]
    assert not [name for name in core if "._" in name]


@pytest.mark.parametrize("name", sorted(roteq_core.__all__))
def test_public_name_exists_and_is_no_module(name):
    assert getattr(roteq_core, name) is not None
    assert f"roteq_core.{name}" not in module_files("roteq_core")
