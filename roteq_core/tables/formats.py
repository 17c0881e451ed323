"""Reading and writing tables of cars, whatever the format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from roteq_core.tables.car import CornerOrder
from roteq_core.tables.csv_format import parse_csv, render_csv
from roteq_core.tables.detection import (
    FORMATS,
    detect_format,
    is_xml,
    known_format,
)
from roteq_core.tables.dota import parse_dota, render_dota
from roteq_core.tables.files import (
    FileChangedError,
    fingerprint,
    read_text,
    sidecar_path,
    summarize,
    write_atomically,
)
from roteq_core.tables.geojson import parse_geojson, render_geojson
from roteq_core.tables.table import CarTable, Format
from roteq_core.tables.voc import parse_voc
from roteq_core.tables.voc_writer import render_voc
from roteq_core.tables.yolo_obb import (
    parse_yolo_obb,
    prepare_yolo_obb,
    render_yolo_obb,
)

ONE_IMAGE_FORMATS = ("dota", "yolo-obb", "voc-labelimg2", "voc-rolabelimg")
_TEXT_FORMATS = ("dota", "yolo-obb")


def read_cars(
    path: str | os.PathLike[str],
    *,
    image_size: tuple[int, int] | None = None,
    format: Format | None = None,
    corner_order: CornerOrder | None = None,
    class_names: Sequence[str] | None = None,
) -> CarTable:
    """Read a table of cars.

    Every format and its angle convention is told in docs/formats.md.

    Parameters
    ----------
    path : path
        A CSV, GeoJSON, DOTA text, YOLO-OBB text or VOC-rotated XML file.
    image_size : (int, int), optional
        Height and width of the image, as in `image.shape`; needed for YOLO-OBB.
    format : str, optional
        One of `FORMATS`; found from the name and the content if not given.
    corner_order : {"front edge first", "unknown"}, optional
        How to read the corners of DOTA and YOLO-OBB text of other tools; without it
        such files give axes, not headings.
    class_names : sequence of str, optional
        Of YOLO-OBB's class numbers.

    Returns
    -------
    CarTable
        Its `notes` tell what could not be understood.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path.name} is a folder; use read_car_folder for folders")
    before = fingerprint(path)
    text = read_text(path)
    try:
        if known_format(format) is None and not is_xml(path.name, text):
            format = detect_format(path.name, text)
        table = _parse(path, text, format, image_size, corner_order, class_names)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return replace(table, fingerprint=before, image_size=image_size or table.image_size)


def _parse(
    path: Path,
    text: str,
    format: Format | None,
    image_size: tuple[int, int] | None,
    order: CornerOrder | None,
    class_names: Sequence[str] | None,
) -> CarTable:
    if format == "csv":
        return parse_csv(text)
    if format == "geojson":
        return parse_geojson(text)
    if format is None or format == "voc-labelimg2" or format == "voc-rolabelimg":
        return parse_voc(text, format)  # which finds the dialect by itself
    beside = _read_sidecar(path)
    if format == "dota":
        return parse_dota(text, beside, order=order)
    size = image_size or (beside.header.get("image_size") if beside else None)
    if size is None and not text.strip():
        return CarTable(format="yolo-obb")
    if size is None:
        raise ValueError(
            "YOLO-OBB holds fractions of the image: image_size must be given, got None"
        )
    size = (int(size[0]), int(size[1]))
    return parse_yolo_obb(text, size, beside, class_names=class_names, order=order)


def _read_sidecar(path: Path) -> CarTable | None:
    beside = sidecar_path(path)
    if not beside.is_file():
        return None
    try:
        return parse_csv(read_text(beside))
    except ValueError as error:
        raise ValueError(f"the file beside it, {beside.name}: {error}") from error


def write_cars(
    table: CarTable,
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    if_changed_since: str | None = None,
    image_size: tuple[int, int] | None = None,
    class_names: Sequence[str] | None = None,
    sidecar: bool = True,
) -> str:
    """Write a table of cars, at once or not at all.

    Parameters
    ----------
    table : CarTable
        Of one image for DOTA, YOLO-OBB and VOC.
    path : path
        Its ending tells the format; `.txt` needs `format` or a table read from one.
    format : str, optional
        One of `FORMATS`.
    if_changed_since : str, optional
        A fingerprint. If the file is another one by now (or one exists, for an empty
        fingerprint), nothing is written and `FileChangedError` is raised.
    image_size : (int, int), optional
        Height and width, for YOLO-OBB.
    class_names : sequence of str, optional
        For YOLO-OBB; without them labels are numbered in alphabetical order.
    sidecar : bool
        Whether DOTA and YOLO-OBB text get the file beside them that keeps what they
        cannot hold.

    Returns
    -------
    str
        The fingerprint of what was written.
    """
    contents = render_cars(
        table,
        path,
        format=format,
        image_size=image_size,
        class_names=class_names,
        sidecar=sidecar,
    )
    return write_rendered(contents, path, if_changed_since=if_changed_since)


def write_rendered(
    contents: Mapping[Path, bytes],
    path: str | os.PathLike[str],
    *,
    if_changed_since: str | None = None,
) -> str:
    """Write what `render_cars` gave for a path; the rest is as in `write_cars`."""
    if if_changed_since is not None and fingerprint(path) != if_changed_since:
        raise FileChangedError(
            f"{Path(path).name} has changed on disk since it was read; "
            "it was not overwritten"
        )
    for file, content in contents.items():
        write_atomically(file, content)
    return fingerprint(path)


def render_cars(
    table: CarTable,
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,
    image_size: tuple[int, int] | None = None,
    class_names: Sequence[str] | None = None,
    sidecar: bool = True,
) -> dict[Path, bytes]:
    """Give what `write_cars` would write: the bytes of each file."""
    path = Path(path)
    format = known_format(format) or format_to_write(path, table)
    if format in ONE_IMAGE_FORMATS and len(table.files) > 1:
        raise ValueError(
            f"{format} holds one image a file, got {len(table.files)}: "
            f"{summarize(table.files)}; use write_car_folder"
        )
    table = replace(table, image_size=image_size or table.image_size)
    if path.suffix.lower() == ".tsv":
        table = replace(table, delimiter="\t")
    contents = {}
    try:
        if format == "yolo-obb":
            table = prepare_yolo_obb(table, class_names)
        if sidecar and format in _TEXT_FORMATS:
            beside = replace(table, delimiter=",")
            contents[sidecar_path(path)] = render_csv(beside).encode()
        contents[path] = _render(table, format).encode()
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return contents


def _render(table: CarTable, format: Format) -> str:
    if format == "csv":
        return render_csv(table)
    if format == "geojson":
        return render_geojson(table)
    if format == "dota":
        return render_dota(table)
    if format == "yolo-obb":
        return render_yolo_obb(table)
    return render_voc(table, format)


def format_to_write(path: Path, table: CarTable) -> Format:
    """Tell the format for a new file from its ending, else from the table's own."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if suffix in (".geojson", ".json"):
        return "geojson"
    if suffix == ".xml":
        return "voc-rolabelimg" if table.format == "voc-rolabelimg" else "voc-labelimg2"
    if suffix == ".txt" and table.format in _TEXT_FORMATS:
        return table.format
    raise ValueError(
        f"the format must be given for {path.name}: one of {', '.join(FORMATS)}"
    )


def check_output(
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    like: str | os.PathLike[str] | None = None,
    image: str | os.PathLike[str] | None = None,
) -> Format:
    """Tell the format of a file before there is a table, or refuse it.

    Parameters
    ----------
    path : path
        Where a table will be written; its folder must be there.
    format : str, optional
        One of `FORMATS`.
    like : path, optional
        The table from which that one will be made; it may be the file itself.
    image : path, optional
        The image of the cars, which must not be overwritten.
    """
    path = Path(path)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder} to write {path.name} to")
    both = [Path(file) for file in (path, image) if file and Path(file).exists()]
    if len(both) == 2 and both[0].samefile(both[1]):
        raise ValueError(f"the output {path} must not be the input itself")
    if known_format(format) is not None or like is None:
        return format or format_to_write(path, CarTable())
    return format_to_write(path, CarTable(format=_format_of(Path(like))))


def _format_of(path: Path) -> Format:
    text = read_text(path)
    try:
        return detect_format(path.name, text)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
