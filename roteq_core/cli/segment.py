"""`roteq segment`: membranes, cells and directions of EM images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roteq_core.cli.progress import follow, plain_errors, say

if TYPE_CHECKING:
    from roteq_core.config import SegmentOptions


@plain_errors
def segment(
    images: list[Path] = typer.Argument(help="TIFF, image, Zarr, or folder of slices."),
    output: Path = typer.Option(
        ..., "--output", "-o", help="A .tif file, or a folder for several inputs."
    ),
    model: str = typer.Option("membranes", help="A shipped model's name, or a file."),
    tile: int = typer.Option(1024, help="Pixels at once; less needs less memory."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    tta: int = typer.Option(1, help="Average over so many turned, mirrored copies."),
    cells: bool = typer.Option(False, "--cells", help="Also write cells."),
    direction: bool = typer.Option(False, "--direction", help="Also write directions."),
    threshold: float = typer.Option(
        0.5, help="Membrane strength that parts two cells."
    ),
    pixel_size: float | None = typer.Option(
        None, help="Nanometers per pixel; resampled to the model's."
    ),
    inverted: bool = typer.Option(False, "--inverted", help="Membranes are bright."),
    join: float = typer.Option(
        3.0, help="Pixels by which membranes go on along their direction; 0: not."
    ),
    plane: int | None = typer.Option(None, help="Only this plane, counted from 0."),
    area: str | None = typer.Option(
        None, help="Only this part of it: top,left,bottom,right in pixels."
    ),
) -> None:
    """Segment membranes: probability, cells and directions, as TIFF files.

    The probability goes to OUTPUT, cells to OUTPUT_cells.tif and directions (axial
    angle in radians from right towards down, and strength) to OUTPUT_direction.tif.
    """
    from roteq_core.config import SegmentOptions
    from roteq_core.segment import Segmenter, iter_segment_file

    options = SegmentOptions(
        model=model,
        device=device,  # type: ignore[arg-type]
        tile=tile,
        turns=tta,
        cells=cells,
        direction=direction,
        threshold=threshold,
        pixel_size_nm=pixel_size,
        inverted=inverted,
        join=join,
    )
    pairs = _targets(images, output)
    if plane is not None or area is not None:
        _segment_part(pairs, options, plane or 0, area)
        return
    segmenter = Segmenter(options)
    for source, target in pairs:
        _advise_size(source, pixel_size, segmenter.model.card.pixel_size)
        job = iter_segment_file(source, target, options, segmenter=segmenter)
        for path in follow(job, source.name):
            say(f"wrote {path}")


def _segment_part(
    pairs: list[tuple[Path, Path]],
    options: SegmentOptions,
    plane: int,
    area: str | None,
) -> None:
    from roteq_core.serving import iter_segment_part_file

    part = None if area is None else read_area(area)
    for source, target in pairs:
        job = iter_segment_part_file(source, target, options, plane=plane, area=part)
        for path in follow(job, source.name):
            say(f"wrote {path}")


def read_area(text: str) -> tuple[int, int, int, int]:
    """Read "0,10,100,200" as top, left, bottom, right."""
    try:
        top, left, bottom, right = (int(word) for word in text.split(","))
    except ValueError:
        raise ValueError(
            f"area must look like 0,10,100,200 (top,left,bottom,right), got {text!r}"
        ) from None
    return top, left, bottom, right


def _targets(images: list[Path], output: Path) -> list[tuple[Path, Path]]:
    """Pair each input with its output file; all inputs must be there."""
    if missing := [str(image) for image in images if not image.exists()]:
        raise ValueError(f"there is no file or folder {', '.join(missing)}")
    if output.suffix.lower() in (".tif", ".tiff") and not output.is_dir():
        if len(images) > 1:
            raise ValueError(
                f"{len(images)} inputs need a folder as output, got the file {output}"
            )
        return [(images[0], output)]
    if (output.suffix or output.is_file()) and not output.is_dir():
        raise ValueError(f"output must be a .tif file or a folder, got {output}")
    names = [_name(image) for image in images]
    if len(set(names)) < len(names):
        raise ValueError(f"inputs of one run need different names, got {names}")
    return [
        (image, output / f"{name}.tif")
        for image, name in zip(images, names, strict=True)
    ]


def _name(image: Path) -> str:
    """What to call an input: "stack" for stack.tif, stack.ome.tif and stack/."""
    if image.is_dir() and image.suffix != ".zarr":
        return image.resolve().name
    return image.name.partition(".")[0] or image.stem


def _advise_size(source: Path, given: float | None, wanted: float | None) -> None:
    """Say so if the file knows that its pixels are not the model's."""
    from roteq_core.volumes import open_volume

    size = open_volume(source).pixel_size_nm
    if given is None and size and wanted and not 0.8 < size / wanted < 1.25:
        say(
            f"note: {source.name} says that its pixels are {size:g} nm, the model was "
            f"trained on {wanted:g} nm: --pixel-size {size:g} resamples"
        )
