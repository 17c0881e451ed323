"""The filters of a layer as an Image layer beside the image (no Qt)."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_roteq._field.recipe import named_model
from napari_roteq._layers import LayerData, tag
from napari_roteq._recipes import Recipe
from napari_roteq._session import ModelChoice
from roteq_core.config import FieldOptions
from roteq_core.fields.filter_sheet import FilterSheet

ROLE = "filters"
_GAP = 0.05  # of the image's width, between it and the filters


def filter_layer(
    image: Any, sheet: FilterSheet, options: FieldOptions, model: ModelChoice
) -> LayerData:
    """Lay filters out at the right of an image, no higher or wider than it is.

    Parameters
    ----------
    image : Image
        The source, beside which they lie.
    sheet : FilterSheet
    options : FieldOptions
        Names the model and the layer.
    model : ModelChoice
    """
    (top, left), (bottom, right) = np.asarray(image.extent.world)[:, -2:]
    height, width = max(bottom - top, 1e-9), max(right - left, 1e-9)
    rows, columns = sheet.image.shape
    size = min(height / rows, width / columns)
    recipe = Recipe(
        job="roteq_core.fields.compute:turned_filters",
        args=(options,),
        is_generator=False,
        model=named_model(model),
    )
    about = {
        "name": f"{model.name} {options.layer} {ROLE}",
        "scale": (size, size),
        "translate": (top + size / 2, right + _GAP * width + size / 2),
        "units": image.units[-2:],
        "colormap": "coolwarm",
        "contrast_limits": (-sheet.largest, sheet.largest),
        "interpolation2d": "nearest",
        "metadata": tag(ROLE, image, {**recipe.as_dict(), "rows": list(sheet.rows)}),
    }
    return np.nan_to_num(sheet.image), about, "image"
