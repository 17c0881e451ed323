"""`roteq segment`: membranes, cells and directions of EM images."""

from __future__ import annotations

from pathlib import Path

import typer

from roteq_core.cli.progress import console, follow, plain_errors


@plain_errors
def segment(
    images: list[Path] = typer.Argument(help="TIFF, image, Zarr, or folder of slices."),
    output: Path = typer.Option(
        ..., "--output", "-o", help="A .tif file, or a folder for several inputs."
    ),
    model: str = typer.Option("membranes", help="A shipped model's name, or a file."),
    tile: int = typer.Option(512, help="Pixels at once; less needs less memory."),
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
) -> None:
    """Segment membranes: probability, cells and directions, as TIFF files.

    The probability goes to OUTPUT, cells to OUTPUT_cells.tif and directions (axial
    angle in radians from right towards down, and strength) to OUTPUT_direction.tif.
    """
    from roteq_core.config import SegmentOptions
    from roteq_core.segment import iter_segment_file

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
    )
    for source, target in _targets(images, output):
        written = follow(iter_segment_file(source, target, options), source.name)
        for path in written:
            console.print(f"wrote {path}", highlight=False)


def _targets(images: list[Path], output: Path) -> list[tuple[Path, Path]]:
    """Pair each input with its output file."""
    if output.suffix.lower() in (".tif", ".tiff"):
        if len(images) > 1:
            raise ValueError(
                f"{len(images)} inputs need a folder as output, got the file {output}"
            )
        return [(images[0], output)]
    if output.suffix:
        raise ValueError(f"output must be a .tif file or a folder, got {output}")
    names = [image.stem for image in images]
    if len(set(names)) < len(names):
        raise ValueError(f"inputs of one run need different names, got {names}")
    return [(image, output / f"{image.stem}.tif") for image in images]
