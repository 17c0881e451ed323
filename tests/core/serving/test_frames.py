import io
import os
import threading

import numpy as np
import pytest

from roteq_core.serving.frames import FrameError, read_frame, write_frame


def sent(value, **options):
    pipe = io.BytesIO()
    write_frame(pipe, value)
    pipe.seek(0)
    return read_frame(pipe, **options)


def test_values_come_back_as_they_were():
    value = {"a": (1, "two", None), "b": [np.float32(3)]}
    assert sent(value) == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::2],
        np.zeros((0, 3)),
        np.array(True),
    ],
    ids=["contiguous", "fortran", "strided", "empty", "scalar"],
)
def test_arrays_come_back_equal_and_writable(array):
    back = sent(array)
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype
    back[...] = 0  # raises if it is read-only


def test_an_array_larger_than_the_pipe_arrives():
    array = np.random.default_rng(0).random((500, 1000))
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as source, open(write_end, "wb") as target:
        thread = threading.Thread(target=write_frame, args=(target, array))
        thread.start()
        np.testing.assert_array_equal(read_frame(source), array)
        thread.join()


def test_a_closed_pipe_is_the_end_of_file():
    with pytest.raises(EOFError):
        read_frame(io.BytesIO())


def test_an_unpicklable_value_leaves_the_pipe_clean():
    pipe = io.BytesIO()
    with pytest.raises(Exception, match="pickle"):
        write_frame(pipe, lambda: None)
    assert pipe.getvalue() == b""


def test_refused_packages_are_not_loaded_and_the_pipe_stays_in_step():
    pipe = io.BytesIO()
    write_frame(pipe, np.arange(3))
    write_frame(pipe, "next")
    pipe.seek(0)
    with pytest.raises(FrameError, match="numpy"):
        read_frame(pipe, refuse=("numpy",))
    assert read_frame(pipe) == "next"
