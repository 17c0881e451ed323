"""What a camera does to a picture: optics, tone, noise, compression."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from roteq_core.synthetic.styles import AerialStyle

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def take_picture(
    rng: np.random.Generator, radiance: np.ndarray, style: AerialStyle
) -> np.ndarray:
    """Turn a clean picture into what the camera of a style delivers.

    Parameters
    ----------
    rng : numpy Generator
        Where chance comes from.
    radiance : float32 array of shape (H, W, 3)
        RGB in 0..1.
    style : AerialStyle
        Its camera and tone settings are used.

    Returns
    -------
    uint8 array of shape (H, W, 3)
    """
    picture = _optics(rng, radiance, style)
    picture = _tone(picture, style)
    picture = _grain(rng, picture, style)
    if style.gray:
        picture = np.repeat((picture @ _LUMA)[..., None], 3, axis=2)
    image = (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)
    return _compress(image, style.jpeg)


def _optics(
    rng: np.random.Generator, picture: np.ndarray, style: AerialStyle
) -> np.ndarray:
    if style.resample > 1.02:
        picture = _coarsen(picture, style.resample)
    if style.blur > 0.2:
        picture = _gaussian(picture, style.blur)
    if style.motion > 0.3:
        picture = _smear(picture, style.motion, rng.uniform(0, np.pi))
    if style.sharpen > 0.05:
        picture = picture + style.sharpen * (picture - _gaussian(picture, 1.3))
    if style.vignette > 0.02:
        rows, columns = picture.shape[:2]
        y = np.linspace(-1, 1, rows, dtype=np.float32)[:, None]
        x = np.linspace(-1, 1, columns, dtype=np.float32)
        picture = picture * (1 - style.vignette * (x * x + y * y) / 2)[..., None]
    return picture


def _gaussian(picture: np.ndarray, sigma: float) -> np.ndarray:
    radius = max(1, int(np.ceil(3 * sigma)))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    taps = taps / taps.sum()
    rows, columns = picture.shape[:2]
    padded = np.pad(picture, ((radius, radius), (radius, radius), (0, 0)), "reflect")
    down = np.zeros((rows, *padded.shape[1:]), dtype=np.float32)
    across = np.zeros_like(picture)
    for k, tap in enumerate(taps.astype(np.float32)):
        down += tap * padded[k : k + rows]
    for k, tap in enumerate(taps.astype(np.float32)):
        across += tap * down[:, k : k + columns]
    return across


def _coarsen(picture: np.ndarray, factor: float) -> np.ndarray:
    """Sample the picture `factor` times coarser, and enlarge it again."""
    rows, columns = picture.shape[:2]
    small = (max(1, round(columns / factor)), max(1, round(rows / factor)))
    image = Image.fromarray((np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8))
    coarse = image.resize(small, Image.Resampling.BOX)
    fine = coarse.resize((columns, rows), Image.Resampling.BICUBIC)
    return np.asarray(fine, dtype=np.float32) / 255


def _smear(picture: np.ndarray, length: float, angle: float) -> np.ndarray:
    """Average two copies that are `length`, at most one, pixels apart."""
    rows, columns = picture.shape[:2]
    padded = np.pad(picture, ((0, 1), (1, 1), (0, 0)), "edge")
    down, across = length * np.sin(angle), length * np.cos(angle)
    side = 2 if across > 0 else 0
    moved = np.zeros_like(picture)
    for row, weight_y in ((0, 1 - down), (1, down)):
        for column, weight_x in ((1, 1 - abs(across)), (side, abs(across))):
            part = padded[row : row + rows, column : column + columns]
            moved += np.float32(weight_y * weight_x) * part
    return np.asarray(0.5 * (picture + moved))


def _tone(picture: np.ndarray, style: AerialStyle) -> np.ndarray:
    """Exposure, haze, white balance, saturation, contrast, gamma."""
    balance = np.array(
        [1 + style.warmth, 1 + style.tint, 1 - style.warmth], dtype=np.float32
    )
    picture = picture * (np.float32(style.brightness) * balance)
    gray = (picture @ _LUMA)[..., None]
    picture = gray + np.float32(style.saturation) * (picture - gray)
    picture = 0.5 + np.float32(style.contrast) * (picture - 0.5)
    sky = np.array([0.72, 0.76, 0.8], dtype=np.float32)
    picture = picture + np.float32(style.haze) * (sky - picture)
    return np.asarray(np.clip(picture, 0, 1) ** np.float32(style.gamma))


def _grain(
    rng: np.random.Generator, picture: np.ndarray, style: AerialStyle
) -> np.ndarray:
    """Noise that grows with the light, in brightness and in color."""
    if style.noise > 0.002:
        shape = picture.shape[:2]
        noise = rng.standard_normal(shape, dtype=np.float32) * np.float32(style.noise)
        picture = picture + (noise * (0.6 + 0.8 * picture.mean(axis=2)))[..., None]
    if style.chroma_noise > 0.002:
        noise = rng.standard_normal(picture.shape, dtype=np.float32)
        picture = picture + np.float32(style.chroma_noise) * noise
    return picture


def _compress(image: np.ndarray, quality: float) -> np.ndarray:
    if quality > 97:
        return image
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=int(quality))
    with Image.open(file) as decoded:
        return np.asarray(decoded.convert("RGB"))
