"""`roteq segment`: membranes, cells and directions of EM images."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roteq_core.cli.progress import follow, plain_errors, say
from roteq_core.config import CELL_THRESHOLD, JOIN_WIDTH

if TYPE_CHECKING:
    from roteq_core.config import SegmentOptions
    from roteq_core.jobs import Report


@plain_errors
def segment(
    images: list[Path] = typer.Argument(help="TIFF, image, Zarr, or folder of slices."),
    output: str = typer.Option(
        ..., "--output", "-o", help="A .tif file, or a folder for several inputs."
    ),
    model: str = typer.Option("membranes", help="A shipped model's name, or a file."),
    tile: int = typer.Option(1024, help="Pixels at once; less needs less memory."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    tta: int = typer.Option(1, help="Average over so many turned, mirrored copies."),
    cells: bool = typer.Option(False, "--cells", help="Also write cells."),
    direction: bool = typer.Option(False, "--direction", help="Also write directions."),
    threshold: float = typer.Option(
        CELL_THRESHOLD, help="Membrane strength that parts two cells."
    ),
    pixel_size: float | None = typer.Option(
        None, help="Nanometers per pixel; resampled to the model's."
    ),
    inverted: bool = typer.Option(False, "--inverted", help="Membranes are bright."),
    join: float = typer.Option(
        JOIN_WIDTH,
        help="Pixels by which membranes go on along their direction; 0: not.",
    ),
    close: bool = typer.Option(
        True, help="Bring pieces of membrane near to the strength of their wall."
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
    from roteq_core.membranes.segment import Segmenter, iter_segment_file

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
        close=close,
    )
    pairs = _targets(images, output)
    _check_apart(pairs, options)
    if plane is not None or area is not None:
        _segment_part(pairs, options, plane, area)
        return
    segmenter = Segmenter(options)
    for source, target in pairs:
        _advise(source, pixel_size, segmenter.model.card.pixel_size)
        job = iter_segment_file(source, target, options, segmenter=segmenter)
        for path in follow(job, source.name, _smaller_tile):
            say(f"wrote {path}")


def _segment_part(
    pairs: list[tuple[Path, Path]],
    options: SegmentOptions,
    plane: int | None,
    area: str | None,
) -> None:
    from roteq_core.card import find_model, read_card
    from roteq_core.files.volumes import open_volume
    from roteq_core.membranes.segment_part import iter_segment_part_file

    part = None if area is None else read_area(area)
    for source, _ in pairs:
        if plane is None and (count := len(open_volume(source))) > 1:
            raise ValueError(f"--area needs --plane: {source} has {count} planes")
    wanted = read_card(find_model(options.model)).pixel_size
    for source, target in pairs:
        _advise(source, options.pixel_size_nm, wanted)
        job = iter_segment_part_file(
            source, target, options, plane=plane or 0, area=part
        )
        for path in follow(job, source.name, _smaller_tile):
            say(f"wrote {path}")


def _smaller_tile(report: Report) -> str | None:
    """Say once that memory ran out; the smaller tile is kept."""
    if "tile" not in report.values:
        return None
    side = report.values["tile"]
    return f"note: memory ran out; going on with tiles of {side} pixels (--tile {side})"


def read_area(text: str) -> tuple[int, int, int, int]:
    """Read "0,10,100,200" as top, left, bottom, right."""
    try:
        top, left, bottom, right = (int(word) for word in text.split(","))
    except ValueError:
        raise ValueError(
            f"area must look like 0,10,100,200 (top,left,bottom,right), got {text!r}"
        ) from None
    return top, left, bottom, right


def _targets(images: list[Path], wanted: str) -> list[tuple[Path, Path]]:
    """Pair each input with its output file; all inputs must be there."""
    output = Path(wanted)
    if not wanted.strip() or output.name.lower() in (".tif", ".tiff"):
        raise ValueError(
            f"output must be a .tif file with a name, or a folder, got {wanted!r}"
        )
    is_folder = output.is_dir() or wanted.endswith(("/", "\\"))
    if missing := [str(image) for image in images if not image.exists()]:
        raise ValueError(f"there is no file or folder {', '.join(missing)}")
    if output.suffix.lower() in (".tif", ".tiff") and not is_folder:
        if len(images) > 1:
            raise ValueError(
                f"{len(images)} inputs need a folder as output, got the file {output}"
            )
        return [(images[0], output)]
    if output.is_file() or (output.suffix and not is_folder):
        raise ValueError(
            f"output must be a .tif file or a folder, got {output}; a / at its end "
            "makes it a folder"
        )
    names = [_name(image) for image in images]
    if len(set(names)) < len(names):
        raise ValueError(f"inputs of one run need different names, got {names}")
    return [
        (image, output / f"{name}.tif")
        for image, name in zip(images, names, strict=True)
    ]


def _name(image: Path) -> str:
    """What to call an input: "stack" for stack.tif, stack.ome.tif and stack/."""
    from roteq_core.files.volumes import IMAGE_SUFFIXES

    if image.is_dir() and image.suffix != ".zarr":
        return image.resolve().name
    is_known = image.suffix.lower() in (*IMAGE_SUFFIXES, ".zarr")
    stem = image.stem if is_known else image.name
    return re.sub(r"(?<=.)\.ome$", "", stem, flags=re.IGNORECASE)


def _check_apart(pairs: list[tuple[Path, Path]], options: SegmentOptions) -> None:
    """Refuse runs that would write a file twice, or over another input."""
    from roteq_core.membranes.outputs import check_outputs, output_paths

    seen: dict[Path, Path] = {}
    for source, target in pairs:
        paths = output_paths(target, options)
        for other, _ in pairs:
            check_outputs(other, paths)
        for path in paths.values():
            if path in seen:
                raise ValueError(
                    f"{path} would hold the results of both {seen[path]} and {source}: "
                    "give them different names, or segment them one by one"
                )
            seen[path] = source


def _advise(source: Path, given: float | None, wanted: float | None) -> None:
    """Say so if the pixels are not the model's, or a folder was read as one stack."""
    from roteq_core.files.volumes import open_volume

    volume = open_volume(source)
    if volume.note:
        say(f"note: {volume.note}")
    size = volume.pixel_size_nm
    if given is None and size and wanted and not 0.8 < size / wanted < 1.25:
        say(
            f"note: {source.name} says that its pixels are {size:g} nm, the model was "
            f"trained on {wanted:g} nm: --pixel-size {size:g} resamples"
        )
