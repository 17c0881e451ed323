"""Saving cars from the viewer (no Qt)."""

from __future__ import annotations

from pathlib import Path

from roteq_core.tables import CarTable, Format, write_cars

# What a file dialog offers: format and ending.
FORMATS: dict[str, tuple[Format, str]] = {
    "CSV (*.csv)": ("csv", ".csv"),
    "GeoJSON (*.geojson)": ("geojson", ".geojson"),
    "DOTA (*.txt)": ("dota", ".txt"),
    "YOLO-OBB (*.txt)": ("yolo-obb", ".txt"),
    "VOC, labelImg2 (*.xml)": ("voc-labelimg2", ".xml"),
    "VOC, roLabelImg (*.xml)": ("voc-rolabelimg", ".xml"),
}
_OTHER_ENDINGS = {".tsv": ".csv", ".json": ".geojson"}


def chosen_file(path: str, chosen: str = "") -> tuple[Path, Format | None]:
    """Give the file that is meant, and its format; None if neither tells it.

    A known ending that was typed counts. What was chosen decides between formats that
    share it, and where there is none.

    Parameters
    ----------
    path : str
        As typed; an ending is added if there is none.
    chosen : str
        One of `FORMATS`, or nothing.
    """
    wished, ending = FORMATS.get(chosen, (None, ".csv"))
    file = Path(path) if Path(path).suffix else Path(path + ending)
    suffix = file.suffix.lower()
    known = _OTHER_ENDINGS.get(suffix, suffix)
    sharing = [kind for kind, each in FORMATS.values() if each == known]
    return file, wished if wished in sharing or not sharing else sharing[0]


def save_cars(
    table: CarTable, path: str, chosen: str = "", size: tuple[int, ...] | None = None
) -> Path:
    """Save cars and give the file.

    Parameters
    ----------
    table : CarTable
    path : str
        Where; the ending of the format is added if there is none.
    chosen : str
        One of `FORMATS`; see `chosen_file`.
    size : (int, int), optional
        Height and width of the image, for YOLO-OBB.
    """
    file, kind = chosen_file(path, chosen)
    image_size = None if size is None else (size[0], size[1])
    write_cars(table, file, format=kind, image_size=image_size)
    return file
