"""Turned and mirrored copies of an image, to average a prediction over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from roteq_core.image_turning import turn_image

_POOLED = 8  # pixels that the deepest level of a membrane network takes together


@dataclass(frozen=True)
class TurnedCopy:
    """A turned, perhaps mirrored, copy of an image, and the way back."""

    angle: float
    mirrored: bool

    def forward(self, image: np.ndarray) -> np.ndarray:
        """Turn a normalized image (H, W) on a canvas that holds all of it."""
        if self.mirrored:
            image = image[:, ::-1]
        if self.angle == 0:
            return np.ascontiguousarray(image)
        if self.angle % (math.pi / 2):  # quarter turns need no larger canvas
            diagonal = math.hypot(*image.shape)
            image = np.pad(image, [_around(n, diagonal) for n in image.shape])
        given = torch.from_numpy(np.ascontiguousarray(image))
        return turn_image(given, self.angle, mode="bicubic").contiguous().numpy()

    def backward(self, maps: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Bring maps of the copy back to the image's frame.

        Parameters
        ----------
        maps : float array of shape (3, …)
            A scalar, and an axis as (cos 2θ, sin 2θ): the axis is turned too.
        shape : (H, W)
            Of the image.

        Returns
        -------
        float array of shape (3, H, W)
        """
        scalar, cos2, sin2 = maps
        if self.angle:
            back = turn_image(torch.from_numpy(maps.copy()), -self.angle).numpy()
            height, width = shape
            top, left = (back.shape[1] - height) // 2, (back.shape[2] - width) // 2
            scalar, c, s = back[:, top : top + height, left : left + width]
            cos, sin = math.cos(2 * self.angle), math.sin(2 * self.angle)
            cos2, sin2 = cos * c + sin * s, cos * s - sin * c
        if self.mirrored:
            scalar, cos2, sin2 = scalar[:, ::-1], cos2[:, ::-1], -sin2[:, ::-1]
        return np.stack([scalar, cos2, sin2])


def turned_copies(turns: int) -> list[TurnedCopy]:
    """Choose copies to average over.

    The networks answer quarter turns exactly, so the angles lie within one; every other
    copy is mirrored, which no network of ours answers exactly.
    """
    if turns < 1:
        raise ValueError(f"test-time turns must be at least 1, got {turns}")
    angles = math.ceil(turns / 2)
    return [
        TurnedCopy(math.pi / 2 * (i // 2) / angles, bool(i % 2)) for i in range(turns)
    ]


def _around(length: int, diagonal: float) -> tuple[int, int]:
    """As much before as behind, so that images turn about their own center.

    Whole cells of a network's pooling, so that it meets the canvas as it meets the
    image: otherwise copies of an image and of its quarter turn would differ.
    """
    margin = _POOLED * math.ceil((diagonal - length) / 2 / _POOLED)
    return margin, margin
