"""`roteq find-cars`: find the cars of an image, and which way they point."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors, say


@plain_errors
def find_cars(
    image: Path = typer.Argument(help="A TIFF, PNG or JPEG; gray, RGB or RGBA."),
    output: Path = typer.Option(..., "--output", "-o", help="Where the table goes."),
    format: str | None = typer.Option(
        None,
        help="csv, geojson, dota, yolo-obb, voc-labelimg2 or voc-rolabelimg; told by "
        "the ending if not given.",
    ),
    model: str = typer.Option("car-finder", help="A shipped model's name, or a file."),
    threshold: float | None = typer.Option(
        None, help="Least score of a car, 0 to 1; the model's own if not given."
    ),
    car_length: float | None = typer.Option(
        None, help="Typical length in pixels; found out if it is not given."
    ),
    pixel_size: float | None = typer.Option(
        None, help="Meters per pixel, in place of the length."
    ),
    tile: int = typer.Option(512, help="Pixels at once; less needs less memory."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    orient: bool = typer.Option(True, help="Also ask the heading model about each."),
    heading_model: str = typer.Option(
        "cars", help="The heading model: a shipped name, or a file."
    ),
) -> None:
    """Find cars, and write their places, lengths, headings and scores."""
    from roteq_core.cars.find_cars import iter_find_cars
    from roteq_core.config import FindOptions
    from roteq_core.tables import check_output, write_cars

    chosen = check_output(output, format, image=image)  # type: ignore[arg-type]
    options = FindOptions(
        model=model,
        device=device,  # type: ignore[arg-type]
        threshold=threshold,
        car_length_px=car_length,
        pixel_size_m=pixel_size,
        tile=tile,
        orient=orient,
        orient_model=heading_model,
    )
    table = follow(iter_find_cars(image, options), image.name)
    write_cars(table, output, format=chosen)
    for note in table.notes:
        say(f"note: {note}")
    console.print(f"wrote {output}: {len(table)} cars", highlight=False)
