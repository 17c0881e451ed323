"""A stack of EM slices from file to file, beside a U-Net, and memory as it grows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tifffile
import torch

from benchmarks.measure import Effort, interleaved_minima, memory_in_fresh_process
from benchmarks.results import Results
from benchmarks.rivals.unet import UNet
from benchmarks.workloads import OURS, UNET
from roteq_core.config import SegmentOptions
from roteq_core.jobs import drain
from roteq_core.membranes.segment import iter_segment_file
from roteq_core.synthetic import em_stack

SECTION = "stack"


def write_stack(path: Path, slices: int, side: int) -> Path:
    """Write a stack of which every eighth slice is new; that is quick to draw."""
    image = em_stack(8, side, seed=0).image
    with tifffile.TiffWriter(path) as writer:
        for number in range(slices):
            writer.write(image[number % len(image)], contiguous=True)
    return path


def segment_by_us(source: Path, target: Path) -> None:
    drain(iter_segment_file(source, target, SegmentOptions(device="cpu")))


def segment_by_unet(network: UNet, source: Path, target: Path) -> None:
    """Slice by slice, as a script would do it."""
    with (
        tifffile.TiffFile(source) as stack,
        tifffile.TiffWriter(target) as writer,
        torch.inference_mode(),
    ):
        for page in stack.pages:
            image = page.asarray().astype(np.float32)
            image = (image - image.mean()) / image.std()
            scores = network(torch.from_numpy(image)[None, None])
            membrane = scores.softmax(1)[0, 1].numpy()
            writer.write(membrane, contiguous=True)


def measure_stack(results: Results, slices: int, side: int, effort: Effort) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = write_stack(Path(folder) / "stack.tif", slices, side)
        target = Path(folder) / "out.tif"
        network = UNet().eval()
        runs: dict[str, Callable[[], object]] = {
            OURS: lambda: segment_by_us(source, target),
            UNET: lambda: segment_by_unet(network, source, target),
        }
        seconds = interleaved_minima(runs, effort)
    megapixels = slices * side**2 / 1e6
    name = f"{slices} slices of {side}"
    for who, value in seconds.items():
        rate = megapixels / value
        results.put(SECTION, name, who, seconds=value, megapixels_per_s=rate)


def measure_growth(results: Results, counts: tuple[int, int], side: int) -> None:
    """Memory for a stack and for one ten times as high; smaller slices are quicker."""
    for slices in counts:
        arguments = ["stack", str(slices), str(side)]
        figure = memory_in_fresh_process("benchmarks.memory", arguments)
        results.put(SECTION, f"memory, slices of {side}", str(slices), peak_mb=figure)


def prepare_memory(slices: str, side: str) -> Callable[[], object]:
    """For `benchmarks.memory`: everything loaded, one small stack done."""
    folder = Path(tempfile.mkdtemp(prefix="roteq-bench-"))
    small = write_stack(folder / "small.tif", 1, int(side))
    segment_by_us(small, folder / "small-out.tif")
    source = write_stack(folder / "stack.tif", int(slices), int(side))
    return lambda: segment_by_us(source, folder / "out.tif")
