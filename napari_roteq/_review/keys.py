"""The keys of a review: what they do, which they are, binding them (no Qt)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app_model.types import KeyBinding, KeyCode

from napari_roteq._settings import read_settings, write_setting


@dataclass(frozen=True)
class Command:
    """Something one can do in a review.

    Parameters
    ----------
    label : str
        For its button.
    key : str
        The key it has unless the user chose another, such as "Ctrl+Z".
    tip : str
        What it does, in a sentence.
    """

    label: str
    key: str
    tip: str


COMMANDS: dict[str, Command] = {
    "accept": Command("Accept", "Space", "The heading is right: go on to the next car"),
    "flip": Command("Flip", "F", "Swap front and rear"),
    "reject": Command(
        "Reject", "X", "No car, or of no use: go on; once more takes it back"
    ),
    "left_10": Command("−10", "Shift+Left", "Turn 10° counter-clockwise"),
    "left_1": Command("−1", "Left", "Turn 1° counter-clockwise"),
    "right_1": Command("+1", "Right", "Turn 1° clockwise"),
    "right_10": Command("+10", "Shift+Right", "Turn 10° clockwise"),
    "type": Command("Type", "H", "Type the heading in degrees, then Enter"),
    "previous": Command("Previous", "P", "Go back to the car before"),
    "next": Command("Next", "N", "Go on without a decision"),
    "undo": Command("Undo", "Ctrl+Z", "Take the last action back, without limit"),
    "redo": Command("Redo", "Ctrl+Shift+Z", "Do again what was undone"),
    "delete": Command("Delete", "Delete", "Take the car out of the table"),
    "predict": Command("Ask", "M", "Let the model tell the heading again"),
    "draw": Command(
        "Draw", "D", "Drag from tail to head to set a heading (or hold Shift)"
    ),
    "add": Command("Add", "C", "Click a missed car, or drag over it (or hold Ctrl)"),
    "edit": Command("Box", "E", "Turn, move or resize the box by its handles"),
    "browse": Command("Move", "Escape", "Move the view; click a car to go to it"),
}

# Degrees clockwise.
TURNS = {"left_10": -10.0, "left_1": -1.0, "right_1": 1.0, "right_10": 10.0}


def check_key(key: str) -> str:
    """Give a key as it is written; an error if there is none of that name."""
    try:
        binding = KeyBinding.from_str(key.strip())
        is_known = all(part.key != KeyCode.UNKNOWN for part in binding.parts)
    except (ValueError, KeyError, IndexError):
        is_known = False
    if not key.strip() or not is_known:
        raise ValueError(f"a key must be like F, Shift+Left or Ctrl+Z, got {key!r}")
    return str(binding)


def parse_keys(text: str) -> dict[str, str]:
    """Read keys the user chose, as in "flip=G, accept=Enter"; faults are left out."""
    chosen = {}
    for pair in text.split(","):
        name, _, key = pair.partition("=")
        try:
            if name.strip() in COMMANDS:
                chosen[name.strip()] = check_key(key)
        except ValueError:
            continue
    return chosen


def read_keys() -> dict[str, str]:
    """Give the key of every command, as the settings have it."""
    defaults = {name: check_key(command.key) for name, command in COMMANDS.items()}
    return {**defaults, **parse_keys(read_settings().keys)}


def store_key(name: str, key: str) -> dict[str, str]:
    """Give a command another key, and all keys as they are now.

    Raises
    ------
    ValueError
        If there is no such key, or another command has it.
    """
    key = check_key(key)
    keys = read_keys()
    taken = [other for other, its in keys.items() if its == key and other != name]
    if taken:
        other = COMMANDS[taken[0]].label
        raise ValueError(f"a key must be free, but {key} is that of {other!r}")
    keys[name] = key
    changed = [
        f"{each}={its}"
        for each, its in keys.items()
        if its != check_key(COMMANDS[each].key)
    ]
    write_setting("keys", ", ".join(changed))
    return keys


def reset_keys() -> dict[str, str]:
    """Give every command its first key again."""
    write_setting("keys", "")
    return read_keys()


class KeyBinder:
    """Binds commands to keys of a viewer and a layer, and lets go of them again.

    The layer's own bindings come before napari's for shapes, so they win while it is
    selected; the viewer's serve while another layer is.

    Parameters
    ----------
    viewer : Viewer
    run : callable
        Called with the name of a command.
    """

    def __init__(self, viewer: Any, run: Callable[[str], None]) -> None:
        self._viewer = viewer
        self._run = run
        self._bound: list[tuple[Any, str, Any]] = []

    @property
    def is_bound(self) -> bool:
        """Whether the keys work."""
        return bool(self._bound)

    def bind(self, layer: Any, keys: Mapping[str, str]) -> None:
        """Bind all keys, instead of those bound before."""
        self.unbind()
        for owner in (self._viewer, layer):
            for name, key in keys.items():
                before = owner.bind_key(key, None)
                owner.bind_key(key, self._bound_to(name))
                self._bound.append((owner, key, before))

    def unbind(self) -> None:
        """Give the keys back to what they did before."""
        while self._bound:
            owner, key, before = self._bound.pop()
            owner.bind_key(key, None)
            if before is not None:
                owner.bind_key(key, before)

    def _bound_to(self, name: str) -> Callable[[Any], None]:
        def press(_owner: Any) -> None:
            self._run(name)

        press.__doc__ = COMMANDS[name].tip
        return press
