"""Model cards: what a model file says of itself, readable without loading a network.

A model file is safetensors with one JSON entry, ``roteq``, in its metadata. Pickles are
never read. Shipped models lie in ``roteq_core/weights`` and are known by name.
No torch.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

FORMAT = 1
WEIGHTS = Path(__file__).parent / "weights"
ANGLES = "radians from right (+u, columns) towards down (+v, rows)"


class ModelFileError(ValueError):
    """A file is not a model that this version can use; the message says why."""


@dataclass(frozen=True)
class ModelCard:
    """Everything about a model but its weights.

    Parameters
    ----------
    name, task : str
        What it is called, and what it is for: "membranes", "cars", "car-finder", …
    networks : list of dict
        The config of each network; several make an ensemble.
    summary : str
        One sentence for a list.
    pixel_size, pixel_unit : float or None, str
        The size of a pixel in training, e.g. 4 "nm".
    data, terms : str
        What it was trained on, and what may be done with it.
    limits : str
        Where it fails.
    training, scores : dict
        How it was trained, and how well it does.
    settings : dict
        What the task needs besides weights, such as a calibration.
    """

    name: str
    task: str
    networks: list[dict[str, Any]]
    summary: str = ""
    pixel_size: float | None = None
    pixel_unit: str = ""
    data: str = ""
    terms: str = ""
    limits: str = ""
    training: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    parameters: int = 0
    angles: str = ANGLES
    format: int = FORMAT

    @property
    def is_baseline(self) -> bool:
        """Whether it is there to be compared with, and not to be used."""
        return bool(self.settings.get("baseline"))

    def to_json(self) -> str:
        """Write the card as JSON text."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str, source: object = "the card") -> ModelCard:
        """Read a card, refusing newer formats and unknown entries."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ModelFileError(f"{source} is not readable JSON: {error}") from error
        if not isinstance(values, dict) or not isinstance(values.get("format"), int):
            raise ModelFileError(f"{source} has no format number")
        if values["format"] > FORMAT:
            raise ModelFileError(
                f"{source} has format {values['format']}, this version reads up to "
                f"{FORMAT}: update napari-roteq"
            )
        known = {item.name for item in dataclasses.fields(cls)}
        missing = {"name", "task", "networks"} - set(values)
        if wrong := sorted(set(values) - known) or sorted(missing):
            raise ModelFileError(f"{source} has unknown or missing entries: {wrong}")
        if not isinstance(values["networks"], list) or not values["networks"]:
            raise ModelFileError(f"{source} names no network")
        return cls(**values)


def read_card(path: Path | str) -> ModelCard:
    """Read the card of a model file without loading weights or torch."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no model file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise ModelFileError(
            f"{path} is not a safetensors file ({error}); pickled models (.pt, .pth) "
            "are never loaded"
        ) from error
    if "roteq" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file but not a roteq model")
    return ModelCard.from_json(metadata["roteq"], source=path)


def shipped_models() -> dict[str, Path]:
    """Names and files of the models that come with the package, in order of names."""
    models = {path.stem: path for path in WEIGHTS.glob("*.safetensors")}
    return dict(sorted(models.items()))


def find_model(name_or_path: Path | str) -> Path:
    """Give the file of a shipped model's name, or of a path."""
    shipped = shipped_models()
    if str(name_or_path) in shipped:
        return shipped[str(name_or_path)]
    path = Path(name_or_path)
    if path.is_file():
        return path
    raise ModelFileError(
        f"there is no model {str(name_or_path)!r}: give a file, or one of "
        f"{list(shipped)}"
    )


def check_model_output(path: Path) -> None:
    """Refuse a file to write a model to, unless it is called as models are."""
    if path.suffix != ".safetensors":
        raise ValueError(f"a model file must end in .safetensors, got {path}")


def file_hash(path: Path | str) -> str:
    """Give the first 16 digits of a file's SHA-256, for recipes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
