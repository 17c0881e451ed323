"""Jobs on the vector fields of a model: any layer and filter, on a plane or a file.

Which layers there are is in `roteq_core.fields.layers`, how a field is computed in
`roteq_core.fields.maps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from roteq_core.areas import Area, check_area, with_context
from roteq_core.card import ModelCard, file_hash, find_model
from roteq_core.cars.orient import read_image
from roteq_core.cars.sizes import DEFAULT_LENGTH_PX
from roteq_core.config import FieldOptions
from roteq_core.device import choose_device
from roteq_core.fields.layers import FieldLayer, field_layers, find_layer
from roteq_core.fields.maps import iter_network_field
from roteq_core.fields.placed import LayerField
from roteq_core.files.plane_writer import write_planes
from roteq_core.files.volumes import open_volume
from roteq_core.jobs import Job, Report
from roteq_core.layers import RotConv
from roteq_core.membranes.segment import LARGEST_ZOOM
from roteq_core.model import Model, warm_model
from roteq_core.normalize import Normalization, fit_normalization
from roteq_core.resample import resample, scaled_shape
from roteq_core.tasks.car_crops import CAR_LENGTH, image_maps
from roteq_core.tasks.car_scenes import FINDER_LENGTH, normalize_scene

#: A raw plane, how its whole image is normalized, and the part of it to keep.
GivenPlane = tuple[np.ndarray, Normalization, Area | None]
#: Tasks whose models are told the length of cars and look at colors.
CAR_TASKS = ("cars", "car-finder")


def chosen_network(model: Model, options: FieldOptions) -> tuple[nn.Module, FieldLayer]:
    """Give the member of a model and the layer that options name."""
    if options.member >= len(model.networks):
        raise ValueError(
            f"member must be below {len(model.networks)}, the number of networks of "
            f"{model.card.name}, got {options.member}"
        )
    network = model.networks[options.member]
    return network, find_layer(field_layers(network.config), options.layer)


def model_zoom(card: ModelCard, options: FieldOptions) -> float:
    """How many times larger than the given image the model wants to see it."""
    if card.task in CAR_TASKS:
        usual = CAR_LENGTH if card.task == "cars" else FINDER_LENGTH
        return usual / (options.car_length_px or DEFAULT_LENGTH_PX)
    if not card.pixel_size or not options.pixel_size_nm:
        return 1.0
    zoom = options.pixel_size_nm / card.pixel_size
    if not 1 / LARGEST_ZOOM <= zoom <= LARGEST_ZOOM:
        raise ValueError(
            f"the pixel size must be within {LARGEST_ZOOM} times the model's "
            f"{card.pixel_size:g} nm, got {options.pixel_size_nm:g} nm"
        )
    return zoom


def network_input(
    card: ModelCard,
    network: nn.Module,
    given: tuple[np.ndarray, Normalization],
    options: FieldOptions,
) -> np.ndarray:
    """Bring a plane to what a network takes: normalized maps (C, h, w) at its scale."""
    plane, normalization = given
    maps = int(getattr(network.config, "in_maps", 1))
    if card.task in CAR_TASKS:
        scene = torch.from_numpy(image_maps(plane, maps))[None]
        image = normalize_scene(scene)[0].numpy()
        image = -image if normalization.inverted else image
    else:
        if plane.ndim != 2:
            raise ValueError(f"a plane must have shape (H, W), got {plane.shape}")
        image = np.repeat(normalization.apply(plane)[None], maps, 0)
    shape = scaled_shape(image.shape[1:], model_zoom(card, options))
    return np.stack([resample(part, shape) for part in image])


def iter_field(
    given: GivenPlane,
    options: FieldOptions,
    *,
    filters: Sequence[int] | None = None,
) -> Job[LayerField]:
    """Compute the fields of a layer on one plane.

    Parameters
    ----------
    given : array of shape (H, W) or (H, W, 3), Normalization, Area or None
        The raw plane, how its whole image is normalized, and the part to keep (see
        `with_context`); models of cars take colors and normalize what they are given
        themselves.
    options : FieldOptions
    filters : sequence of int, optional
        Which filters of the layer; all if not given.
    """
    plane, normalization, keep = given
    yield Report(0, 0, "loading the model")
    model = warm_model(options.model)
    device = choose_device(options.device)
    network, layer = chosen_network(model.to(device), options)
    seen = network_input(model.card, network, (plane, normalization), options)
    wanted = _check_filters(filters, layer)
    field, first = yield from iter_network_field(
        network, layer, seen, wanted, tile=options.tile, device=device
    )
    # Pixels of the plane for each pixel that the network sees, along both axes.
    rows, columns = (a / b for a, b in zip(plane.shape, seen.shape[1:], strict=False))
    found = LayerField(
        field,
        wanted,
        ((first[0] + 0.5) * rows - 0.5, (first[1] + 0.5) * columns - 0.5),
        (layer.stride * rows, layer.stride * columns),
    )
    return found if keep is None else found.within(keep)


def iter_field_part(
    source: Path | str,
    options: FieldOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
    filters: Sequence[int] | None = None,
) -> Job[LayerField]:
    """Compute the fields of a layer on a plane of a file, or on a part of it.

    Parameters
    ----------
    source : path
        A file or folder that `open_volume` reads.
    options : FieldOptions
    plane : int
        Which plane, counted from 0 through all leading axes.
    area : (int, int, int, int), optional
        Top, left, bottom and right of the part. What lies around it counts, as it does
        on the whole plane.
    filters : sequence of int, optional
        Which filters of the layer; all if not given.
    """
    given = _read_around(source, options, plane, area)
    return (yield from iter_field(given, options, filters=filters))


def read_part(
    source: Path | str,
    options: FieldOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
) -> tuple[np.ndarray, Normalization]:
    """Read a part of a plane of a file, and how the file is normalized.

    Gray, (H, W); in color, (H, W, 3), if the model looks at colors and the file is one
    picture that has them.
    """
    whole, normalization = _read_plane(source, options, plane)
    if area is None:
        return whole, normalization
    check_area(area, whole.shape)
    return _cut(whole, area), normalization


def _read_around(
    source: Path | str, options: FieldOptions, plane: int, area: Area | None
) -> GivenPlane:
    """Read a plane, or a part of it with what counts around it."""
    whole, normalization = _read_plane(source, options, plane)
    if area is None:
        return whole, normalization, None
    check_area(area, whole.shape)
    read, keep = with_context(area, whole.shape)
    return _cut(whole, read), normalization, keep


def _read_plane(
    source: Path | str, options: FieldOptions, plane: int
) -> tuple[np.ndarray, Normalization]:
    if _wants_colors(options) and Path(source).is_file():
        picture = read_image(source)
        if picture.ndim == 3 and picture.shape[-1] in (3, 4) and plane == 0:
            return picture[..., :3], Normalization(0.0, 1.0, options.inverted)
    volume = open_volume(source)
    if not 0 <= plane < len(volume):
        raise ValueError(f"plane must lie in 0…{len(volume) - 1}, got {plane}")
    return volume[plane], fit_normalization(volume, inverted=options.inverted)


def _cut(plane: np.ndarray, area: Area) -> np.ndarray:
    top, left, bottom, right = area
    return plane[top:bottom, left:right]


def iter_field_file(
    source: Path | str,
    output: Path | str,
    options: FieldOptions,
    *,
    plane: int = 0,
    area: Area | None = None,
    filters: Sequence[int] | None = None,
) -> Job[Path]:
    """Write the fields of a layer to a TIFF: a plane for each filter, channels u and v.

    See `iter_field_part` for the parameters. Where the vectors lie is in the recipe of
    the file (`read_recipe`): "first" and "step".
    """
    output = Path(output)
    if output.suffix.lower() not in (".tif", ".tiff"):
        raise ValueError(f"output must be a .tif file, got {output}")
    if output.exists() and output.samefile(source):
        raise ValueError(f"the output {output} must not be the input itself")
    found = yield from iter_field_part(
        source, options, plane=plane, area=area, filters=filters
    )
    recipe = {
        "job": "field",
        "version": version("napari-roteq"),
        "model_hash": file_hash(find_model(options.model)),
        "options": asdict(options),
        "source": Path(source).name,
        "plane": plane,
        "area": area,
        "filters": found.filters,
        "first": found.first,
        "step": found.step,
    }
    with write_planes(output, len(found.field), recipe=recipe, channels=True) as write:
        for field in found.field:
            write(field)
    return output


def turned_filters(options: FieldOptions) -> np.ndarray:
    """Give the filters of a layer at their R orientations, (F, R, C, 1 or 2, k, k)."""
    network, layer = chosen_network(warm_model(options.model), options)
    module = network.get_submodule(layer.name)
    assert isinstance(module, RotConv)
    with torch.inference_mode():
        return np.asarray(module.turned_filters().float().cpu().numpy())


def _wants_colors(options: FieldOptions) -> bool:
    card = warm_model(options.model).card
    return card.task in CAR_TASKS and card.networks[0].get("in_maps") == 3


def _check_filters(filters: Sequence[int] | None, layer: FieldLayer) -> tuple[int, ...]:
    wanted = tuple(range(layer.filters) if filters is None else filters)
    wrong: list[Any] = [n for n in wanted if not 0 <= n < layer.filters]
    if wrong or not wanted:
        raise ValueError(
            f"filters of {layer.name} must lie in 0…{layer.filters - 1}, got "
            f"{list(wanted)}"
        )
    return wanted
