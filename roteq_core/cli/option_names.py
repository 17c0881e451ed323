"""Errors of the library in the words of the command line."""

from __future__ import annotations

import re

_OTHER_NAMES = {
    "turns": "tta",
    "pixel_size_nm": "pixel-size",
    "pixel_size_m": "pixel-size",
    "car_length_px": "car-length",
    "orient_model": "heading-model",
}
_FIELD = re.compile(
    r"\b(?:SegmentOptions|OrientOptions|FindOptions|TrainConfig|MembraneNetConfig)"
    r"\.(\w+)"
)
_ARGUMENT = re.compile(r"\b(truth_kind|polarity)(=| must)")


def in_options(text: str) -> str:
    """Name options (``--tile``) where an error names fields or arguments."""
    text = _FIELD.sub(lambda found: _option(found[1]), text)
    text = _ARGUMENT.sub(
        lambda found: _option(found[1]) + found[2].replace("=", " "), text
    )
    return text.replace("use score_labels", "give --labels")


def _option(name: str) -> str:
    return "--" + _OTHER_NAMES.get(name, name).replace("_", "-")
