from __future__ import annotations

from dataclasses import fields

import pytest

from roteq_core.config import SegmentOptions, TrainConfig
from roteq_core.networks.membranes import MembraneNet


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrainConfig(steps=0), r"TrainConfig.steps must lie in \[1, "),
        (lambda: TrainConfig(device="tpu"), "TrainConfig.device must be one of"),
        (lambda: TrainConfig(crop=17), "TrainConfig.crop must be a multiple of 8, got"),
        (lambda: TrainConfig(crop=8), r"TrainConfig.crop must lie in \[16, "),
        (lambda: SegmentOptions(threshold=1.5), r"threshold must lie in \[0.0, 1.0\]"),
        (lambda: SegmentOptions(threshold=float("nan")), "threshold must lie in"),
        (lambda: SegmentOptions(tile=4), r"tile must lie in \[16, 16384\], got 4"),
        (lambda: SegmentOptions(pixel_size_nm=0), "pixel_size_nm must lie in"),
    ],
)
def test_values_beyond_their_limits_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("config", [TrainConfig, SegmentOptions])
def test_every_option_has_a_label_for_forms(config):
    assert all(item.metadata["label"] for item in fields(config))


def test_crop_is_a_multiple_of_the_stride_of_every_membrane_network():
    (crop,) = (item for item in fields(TrainConfig) if item.name == "crop")
    assert crop.metadata["step"] % MembraneNet.stride == 0
    assert crop.metadata["low"] % crop.metadata["step"] == 0
