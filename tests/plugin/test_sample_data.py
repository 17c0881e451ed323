import numpy as np
from napari.layers import Layer

from napari_roteq._car_shapes import TABLE
from napari_roteq._sample_data import FOLDER, aerial_scene, em_stack
from napari_roteq._segment.source import path_of, pixel_size_nm


def test_stack_knows_its_pixels_and_its_file():
    image, truth = (Layer.create(*each) for each in em_stack())
    assert image.data.shape == truth.data.shape
    assert pixel_size_nm(image) == 4.0
    assert path_of(image) == str(FOLDER / "em_stack.tif")
    np.testing.assert_allclose(image.scale, truth.scale)
    assert len(np.unique(truth.data)) > 20


def test_scene_has_boxes_on_its_cars():
    image, cars = (Layer.create(*each) for each in aerial_scene())
    assert image.rgb
    assert len(cars.data) == len(cars.metadata[TABLE]) > 10
    height, width = image.data.shape[:2]
    centers = np.array([box.mean(axis=0) for box in cars.data])
    assert (centers > 0).all()
    assert (centers < (height, width)).all()


def test_samples_are_small():
    files = [file for file in FOLDER.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 3_000_000
