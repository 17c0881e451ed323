"""Frames: Python values through a pipe between our own two processes.

A frame is a pickle with its large buffers beside it, so that an array is written from
where it lies and read into where it will stay: measured for 30 x 512 x 512 float32
(31 MB), about 25 ms one way, no slower than shared memory and with nothing to clean up.

    count | length 0 … length count-1 | pickle | buffer 1 | … | buffer count-1

Pickles run code when they are read: frames are for the pipes of a process that we
started ourselves, never for files or sockets.
No torch.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import IO, Any

import numpy as np


class FrameError(Exception):
    """A frame arrived whole but its value could not be rebuilt here."""


def pack_frame(value: Any) -> list[memoryview]:
    """Make the pieces of a frame; arrays are not copied, so leave them as they are."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = [len(parts), *(part.nbytes for part in parts)]
    return [memoryview(struct.pack(f"<{len(sizes)}Q", *sizes)), *parts]


def write_packed(pipe: IO[bytes], pieces: list[memoryview]) -> None:
    """Send a packed frame."""
    for piece in pieces:
        pipe.write(piece)
    pipe.flush()


def write_frame(pipe: IO[bytes], value: Any) -> None:
    """Send one value; nothing is written if it cannot be pickled."""
    write_packed(pipe, pack_frame(value))


def read_frame(pipe: IO[bytes], *, refuse: tuple[str, ...] = ()) -> Any:
    """Receive one value.

    Parameters
    ----------
    pipe : binary file
        The end to read from.
    refuse : tuple of str
        Packages whose objects may not appear in the value, so that reading it does not
        import them. The viewer refuses torch.

    Raises
    ------
    EOFError
        The other side is gone.
    FrameError
        The value could not be rebuilt; the pipe itself is still in step.
    """
    (count,) = struct.unpack("<Q", _read_exactly(pipe, 8))
    sizes = struct.unpack(f"<{count}Q", _read_exactly(pipe, 8 * count))
    head, *buffers = [_read_exactly(pipe, size) for size in sizes]
    try:
        return _Unpickler(io.BytesIO(head), buffers, refuse).load()
    except Exception as error:
        raise FrameError(f"{type(error).__name__}: {error}") from error


def _read_exactly(pipe: IO[bytes], size: int) -> memoryview:
    # Not a bytearray: filling that with zeros would hold up the other threads.
    content = np.empty(size, np.uint8).data
    rest = content
    while rest:
        count = pipe.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other side of the pipe is closed")
        rest = rest[count:]
    return content


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, file: IO[bytes], buffers: list[memoryview], refuse: tuple[str, ...]
    ) -> None:
        super().__init__(file, buffers=buffers)
        self._refuse = refuse

    def find_class(self, module: str, name: str) -> Any:
        package = module.partition(".")[0]
        if package in self._refuse:
            raise pickle.UnpicklingError(f"{module}.{name} must not be sent here")
        return super().find_class(module, name)
