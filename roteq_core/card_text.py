"""What only a person can say of a model, for its card. No torch."""

from __future__ import annotations

from dataclasses import dataclass

from roteq_core.config import option


@dataclass(frozen=True)
class CardText:
    """The entries of a `ModelCard` that a person writes.

    Parameters
    ----------
    name : str
        What it is called.
    summary, data, terms, limits : str
        See `ModelCard`.
    pixel_size_nm : float, optional
        Of the training images; predictions of other images are resampled to it.
    """

    name: str = option("my-model", "Name", "What it is called.", advanced=False)
    summary: str = option(
        "", "In a sentence", "For lists; written for you if empty.", advanced=False
    )
    data: str = option(
        "", "Trained on", "Specimen, microscope, place, season, …", advanced=False
    )
    terms: str = option(
        "", "Terms", "What others may do with it, e.g. CC BY 4.0.", advanced=False
    )
    limits: str = option("", "Limits", "Where it fails.", advanced=False)
    pixel_size_nm: float | None = option(
        None,
        "Pixel size (nm)",
        "Of the training images; other images are resampled to it.",
        low=0.001,
        high=1e9,
        advanced=False,
    )
