from __future__ import annotations

import multiprocessing
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
import tifffile

from roteq_core.files.volumes import open_volume

PLANES = 24
BIG = np.random.default_rng(0).integers(0, 255, (PLANES, 200, 200), dtype=np.uint8)


def plain(path):
    tifffile.imwrite(path, BIG)
    return BIG


def packed(path):
    tifffile.imwrite(path, BIG, compression="zlib")
    return BIG


def packed_in_one_page(path):
    one = {"photometric": "rgb", "planarconfig": "separate"}
    tifffile.imwrite(path, BIG[:4], compression="zlib", **one)
    return BIG[:4]


def folder(path):
    path.mkdir()
    for z, plane in enumerate(BIG):
        tifffile.imwrite(path / f"{z}.tif", plane)
    return BIG


WRITERS = pytest.mark.parametrize("write", [plain, packed, packed_in_one_page, folder])


def count_wrong(volume, truth, seed, wrong):
    """Read planes in an order of one's own; `wrong` grows by those that differ."""
    for z in np.random.default_rng(seed).integers(0, len(volume), 5 * len(volume)):
        try:
            if not np.array_equal(volume[z], truth[z]):
                wrong.append(f"plane {z} differs")
        except ValueError as error:
            wrong.append(str(error))


def in_a_child(volume, truth, seed, answers):
    wrong = []
    count_wrong(volume, truth, seed, wrong)
    answers.put(wrong)


@WRITERS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_read_the_planes_they_ask_for(tmp_path, write):
    truth, wrong = write(tmp_path / "a.tif"), []
    volume = open_volume(tmp_path / "a.tif")
    threads = [
        threading.Thread(target=count_wrong, args=(volume, truth, seed, wrong))
        for seed in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@WRITERS
@pytest.mark.skipif(sys.platform != "linux", reason="nothing else forks safely")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_processes_read_the_planes_they_ask_for(tmp_path, write):
    truth = write(tmp_path / "a.tif")
    volume = open_volume(tmp_path / "a.tif")
    assert (volume[1] == truth[1]).all()  # its file is open before the fork
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    children = [
        context.Process(target=in_a_child, args=(volume, truth, seed, answers))
        for seed in range(3)
    ]
    for child in children:
        child.start()
    found = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert found == [[], [], []]


@WRITERS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_volume_that_was_read_can_be_pickled(tmp_path, write):
    truth = write(tmp_path / "a.tif")
    volume = open_volume(tmp_path / "a.tif")
    assert (volume[1] == truth[1]).all()
    again = pickle.loads(pickle.dumps(volume))
    assert again.shape == volume.shape
    assert (again.read() == truth).all()


def test_files_of_one_plane_do_not_stay_open(tmp_path):
    folder(tmp_path / "a")
    volume = open_volume(tmp_path / "a")
    assert (volume.read() == BIG).all()
    names = [Path(file.path).parent.name for file in psutil.Process().open_files()]
    assert "a" not in names
