"""What the widgets of one viewer share: model, last prediction, recipes (no Qt)."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psygnal import Signal

from napari_roteq._recipes import Recipe


@dataclass(frozen=True)
class ModelChoice:
    """A model as the viewer knows it; its weights live in the compute process.

    Parameters
    ----------
    name : str
        For people.
    path : str
        The file it is loaded from.
    card : mapping
        What the file says of itself: task, pixel size, scores, hash, …
    """

    name: str
    path: str
    card: Mapping[str, Any] = field(default_factory=dict)


class Session:
    """The shared state of one viewer. Setting a value tells every widget."""

    model_changed = Signal(object)  # ModelChoice or None
    prediction_changed = Signal(object)
    recipe_added = Signal(object)  # Recipe

    def __init__(self) -> None:
        self._model: ModelChoice | None = None
        self._prediction: Any = None
        self.recipes: list[Recipe] = []

    @classmethod
    def of(cls, viewer: Any) -> Session:
        """Give the session of a viewer, the same for every proxy of it."""
        real = getattr(viewer, "__wrapped__", viewer)  # plugins get a proxy each
        if id(real) not in _sessions:
            _sessions[id(real)] = cls()
            weakref.finalize(real, _sessions.pop, id(real), None)
        return _sessions[id(real)]

    @property
    def model(self) -> ModelChoice | None:
        """The model the widgets use."""
        return self._model

    @model.setter
    def model(self, model: ModelChoice | None) -> None:
        if model != self._model:
            self._model = model
            self.model_changed.emit(model)

    @property
    def prediction(self) -> Any:
        """The last prediction of any widget."""
        return self._prediction

    @prediction.setter
    def prediction(self, prediction: Any) -> None:
        self._prediction = prediction
        self.prediction_changed.emit(prediction)

    def log(self, recipe: Recipe) -> None:
        """Remember what was run."""
        self.recipes.append(recipe)
        self.recipe_added.emit(recipe)


_sessions: dict[int, Session] = {}
