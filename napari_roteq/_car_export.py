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
        One of `FORMATS`; otherwise the ending tells, and `.txt` is DOTA.
    size : (int, int), optional
        Height and width of the image, for YOLO-OBB.
    """
    kind, ending = FORMATS.get(chosen, (None, ".csv"))
    file = Path(path) if Path(path).suffix else Path(path + ending)
    if kind is None and file.suffix.lower() == ".txt":
        kind = "dota"
    image_size = None if size is None else (size[0], size[1])
    write_cars(table, file, format=kind, image_size=image_size)
    return file
