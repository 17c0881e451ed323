"""Draw vectors into a layer that is there already, changing only what differs (no Qt).

Every change of a Vectors layer makes napari build its arrows anew, which the window
would feel if a new view changed everything that a new layer has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from napari.layers import Layer, Vectors

from napari_roteq._layers import METADATA, LayerData, find_layer, update_or_add

_PLACE = ("scale", "translate", "rotate", "shear")
_COLORS = ("edge_color", "edge_colormap", "edge_contrast_limits")
_DRAWN = "colors"  # in the metadata: what the colors were last set to


def draw_vectors(viewer: Any, layer_data: LayerData) -> Layer:
    """Put vectors into the viewer: into the layer of an earlier run, or a new one.

    The layer is known by the key in its metadata, see `tag`. Its colors are set anew
    only if they are to say something else than before.
    """
    lines, keywords, _ = layer_data
    (about,) = keywords["metadata"].values()
    old = find_layer(viewer, about["key"])
    about[_DRAWN] = _spoken(keywords)
    if not (isinstance(old, Vectors) and _lies_alike(old, lines, keywords)):
        layer = update_or_add(viewer, layer_data)
        _set_colors(layer, keywords)
    else:
        layer = old
        before = old.metadata[METADATA].get(_DRAWN)
        old.data = lines
        old.features = keywords["features"]
        old.metadata = {**old.metadata, **keywords["metadata"]}
        if before != about[_DRAWN]:
            _set_colors(old, keywords)
        elif len(lines) and old.edge_color_mode != "direct":
            old.refresh_colors()
    for name in ("edge_width", "length"):
        if not np.isclose(getattr(layer, name), keywords[name]):
            setattr(layer, name, keywords[name])
    return layer


def _spoken(keywords: dict[str, Any]) -> list[Any]:
    """Say what the colors mean: of which feature, up to which value."""
    return [keywords["edge_color"], float(keywords["edge_contrast_limits"][1])]


def _set_colors(layer: Any, keywords: dict[str, Any]) -> None:
    if not len(layer.data):
        layer.metadata[METADATA][_DRAWN] = None  # once there is something to color
        return
    for name in _COLORS:
        setattr(layer, name, keywords[name])


def _lies_alike(layer: Vectors, lines: np.ndarray, keywords: dict[str, Any]) -> bool:
    """Whether a layer has as many axes as new vectors and lies where they do."""
    if layer.ndim != lines.shape[-1]:
        return False
    pairs = [(getattr(layer, name), keywords[name]) for name in _PLACE]
    pairs.append((layer.affine.affine_matrix, keywords["affine"]))
    return all(np.allclose(a, b) for a, b in pairs)
