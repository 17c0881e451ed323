"""Recipes: what made a result, and the same again as a command or as Python (no Qt)."""

from __future__ import annotations

import dataclasses
import datetime
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Call:
    """A value that is made by calling a function, such as reading a file.

    Parameters
    ----------
    function : str
        "module:function".
    args : tuple
        Its positional arguments.
    kwargs : mapping
        Its keyword arguments.
    """

    function: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How a result was made, in plain values.

    Parameters
    ----------
    job : str
        "module:function" of the job that made it.
    args : tuple
        Its positional arguments: plain values, lists, dicts, config dataclasses, or
        `Call` for what is read from a file.
    kwargs : mapping
        Its keyword arguments, likewise.
    input : str, optional
        The file of the image; None if the layer was not opened from one.
    cli : tuple of str
        The words after `roteq` that do the same on the command line.
    then : tuple of str
        Likewise for a second command, where it takes two.
    no_cli : str
        Why there is no command, and what to do to get one.
    model : mapping
        Name and hash of the model.
    is_generator : bool
        Whether the job yields reports and has to be drained.
    version, created : str
        Of this program, and when, in ISO 8601.
    """

    job: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    input: str | None = None
    cli: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    no_cli: str = ""
    model: Mapping[str, str] = field(default_factory=dict)
    is_generator: bool = True
    version: str = field(default_factory=lambda: version("napari-roteq"))
    created: str = field(
        default_factory=lambda: datetime.datetime.now().isoformat(timespec="seconds")
    )

    def as_dict(self) -> dict[str, Any]:
        """Give the recipe as plain values, for metadata and JSON."""
        fields = dataclasses.fields(self)
        return {each.name: _plain(getattr(self, each.name)) for each in fields}

    def as_cli(self) -> str:
        """Give the command line that makes the result again."""
        self._check_input()
        if not self.cli:
            none = f"{self.job} must have a command line form, it has none"
            raise ValueError(self.no_cli or none)
        commands = [each for each in (self.cli, self.then) if each]
        return " && ".join(shlex.join(("roteq", *words)) for words in commands)

    def as_python(self) -> str:
        """Give the Python lines that make the result again."""
        self._check_input()
        imports: set[tuple[str, str]] = set()
        call = _spell(Call(self.job, self.args, self.kwargs), imports)
        if self.is_generator:
            imports.add(("roteq_core.jobs", "drain"))
            call = f"drain({call})"
        lines = [f"from {module} import {name}" for module, name in sorted(imports)]
        return "\n".join([*lines, "", f"result = {call}"]) + "\n"

    def _check_input(self) -> None:
        if self.input is None:
            raise ValueError(
                "the image must be opened from a file to be named in a command; save "
                "the layer, open that file and run again"
            )


def _plain(value: Any) -> Any:
    """Turn a value into what JSON knows; refuse arrays and other objects."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {each.name: _plain(getattr(value, each.name)) for each in fields}
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()  # a number of numpy
    raise ValueError(f"a recipe must hold plain values, got {type(value).__name__}")


def _spell(value: Any, imports: set[tuple[str, str]]) -> str:
    """Write a value as Python, noting what has to be imported for it."""
    if isinstance(value, Call):
        module, _, name = value.function.partition(":")
        imports.add((module, name))
        return f"{name}({_spell_arguments(value.args, value.kwargs, imports)})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        imports.add((type(value).__module__, type(value).__qualname__))
        changed = _changed_fields(value)
        arguments = _spell_arguments((), changed, imports)
        return f"{type(value).__qualname__}({arguments})"
    if isinstance(value, Mapping):
        items = (f"{key!r}: {_spell(item, imports)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return f"[{', '.join(_spell(item, imports) for item in value)}]"
    if isinstance(value, tuple):
        inside = "".join(f"{_spell(item, imports)}, " for item in value)
        return f"({inside.removesuffix(' ') if len(value) == 1 else inside[:-2]})"
    return repr(_plain(value))


def _spell_arguments(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], imports: set[tuple[str, str]]
) -> str:
    named = [f"{name}={_spell(value, imports)}" for name, value in kwargs.items()]
    return ", ".join([*(_spell(value, imports) for value in args), *named])


def _changed_fields(value: Any) -> dict[str, Any]:
    """Give the fields of a dataclass that differ from their defaults."""
    changed = {}
    for each in dataclasses.fields(value):
        if not each.init:
            continue
        default = each.default
        if each.default_factory is not dataclasses.MISSING:
            default = each.default_factory()
        if default is dataclasses.MISSING or getattr(value, each.name) != default:
            changed[each.name] = getattr(value, each.name)
    return changed
