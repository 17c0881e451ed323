"""`roteq orient`: which way each car of a table points."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors, say


@plain_errors
def orient(
    image: Path = typer.Argument(help="A TIFF, PNG or JPEG; gray, RGB or RGBA."),
    cars: Path = typer.Argument(
        help="CSV, GeoJSON, DOTA, YOLO-OBB or VOC-rotated file with centers or boxes."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Where the table goes."),
    format: str | None = typer.Option(
        None,
        help="csv, geojson, dota, yolo-obb, voc-labelimg2 or voc-rolabelimg; told by "
        "the ending if not given.",
    ),
    model: str = typer.Option("cars", help="A shipped model's name, or a file."),
    car_length: float | None = typer.Option(
        None, help="Length in pixels of cars whose box is not known."
    ),
    pixel_size: float | None = typer.Option(
        None, help="Meters per pixel, in place of the length."
    ),
    copies: int = typer.Option(8, help="Turned and mirrored readings of each car."),
    batch: int = typer.Option(64, help="Cars at once; less needs less memory."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    redo_reviewed: bool = typer.Option(
        False, "--redo-reviewed", help="Also replace what a person decided."
    ),
) -> None:
    """Fill in the heading of every car, 0 to 360 degrees, with an error bar.

    OUTPUT keeps every column and gets heading_cw_from_up_deg (0 up, 90 right),
    angle_ccw_from_right_deg, heading_sd_deg, p_flip (chance that front and rear are
    swapped), status and source.
    """
    from roteq_core.cars.inputs import check_table_file
    from roteq_core.cars.orient import iter_orient
    from roteq_core.config import OrientOptions
    from roteq_core.tables import (
        ONE_IMAGE_FORMATS,
        CarTable,
        check_output,
        render_cars,
        write_cars,
    )

    def rows_to_write(table: CarTable) -> CarTable:
        if chosen in ONE_IMAGE_FORMATS and len(table.files) > 1:
            return table.for_image(image.name)  # the others are in the table given
        return table

    def check(table: CarTable) -> None:
        render_cars(rows_to_write(table), output, format=chosen)

    check_table_file(cars)
    chosen = check_output(output, format, like=cars, image=image)  # type: ignore[arg-type]
    options = OrientOptions(
        model=model,
        device=device,  # type: ignore[arg-type]
        copies=copies,
        batch=batch,
        car_length_px=car_length,
        pixel_size_m=pixel_size,
        redo_reviewed=redo_reviewed,
    )
    table = follow(iter_orient(image, cars, options, check=check), image.name)
    table = rows_to_write(table)
    write_cars(table, output, format=chosen)
    for note in table.notes:
        console.print(f"note: {note}", highlight=False)
    own = [
        car for car, here in zip(table, table.is_of(image.name), strict=True) if here
    ]
    done = sum(car.heading_cw_from_up_deg is not None for car in own)
    say(f"wrote {output}: {done} of {len(own)} cars of {image.name} with a heading")
