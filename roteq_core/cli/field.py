"""`roteq field`: the vector fields of a layer of a model."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import follow, plain_errors, say
from roteq_core.cli.segment import read_area


@plain_errors
def field(
    image: Path = typer.Argument(help="TIFF, image, Zarr, or folder of slices."),
    output: Path = typer.Option(..., "--output", "-o", help="A .tif file."),
    model: str = typer.Option("membranes", help="A shipped model's name, or a file."),
    layer: str = typer.Option(
        "", help="A layer of its network; a wrong name lists the right ones."
    ),
    filters: list[int] = typer.Option(
        [], "--filter", help="A filter, counted from 0; may be repeated. All if none."
    ),
    member: int = typer.Option(0, help="Which network of an ensemble."),
    plane: int = typer.Option(0, help="Which plane, counted from 0."),
    area: str | None = typer.Option(
        None, help="Only this part of it: top,left,bottom,right in pixels."
    ),
    tile: int = typer.Option(512, help="Pixels at once; less needs less memory."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    pixel_size: float | None = typer.Option(
        None, help="Nanometers per pixel; resampled to the model's."
    ),
    car_length: float | None = typer.Option(
        None, help="Pixels, for models of cars; resampled to the model's."
    ),
    inverted: bool = typer.Option(False, "--inverted", help="Swap bright and dark."),
) -> None:
    """Write the vector fields of a layer as a TIFF.

    One plane for each filter, with two channels: u (right) and v (down). The recipe
    in the file says where the first vector lies and how many pixels are between them.
    """
    from roteq_core.config import FieldOptions
    from roteq_core.fields.compute import iter_field_file

    options = FieldOptions(
        model=model,
        layer=layer,
        member=member,
        device=device,  # type: ignore[arg-type]
        tile=tile,
        pixel_size_nm=pixel_size,
        car_length_px=car_length,
        inverted=inverted,
    )
    job = iter_field_file(
        image,
        output,
        options,
        plane=plane,
        area=None if area is None else read_area(area),
        filters=filters or None,
    )
    say(f"wrote {follow(job, image.name)}")
