"""The rotating convolution as a module: only canonical filters are parameters."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from roteq_core import functional as rf
from roteq_core.checks import (
    check_at_least_one,
    check_conv_input,
    check_finite_weights,
    check_integers,
)
from roteq_core.engine.fused import Pooling, fused_conv_pool
from roteq_core.first_filters import draw_stable
from roteq_core.geometry import (
    FULL_CIRCLE,
    Basis,
    Interval,
    as_basis,
    as_interval,
    is_full_circle,
    orientation_angles,
    turning_operator,
)
from roteq_core.pooling import Orientations, orientation_pool, sector_pool

Pool = Literal["vector", "magnitude", "none"]
Path = Literal["auto", "fused", "plain"]


class RotConv(nn.Module):
    """Convolve with every filter at R orientations, and pool over them.

    Parameters
    ----------
    in_maps, filters : int
        Maps of the input, and canonical filters: the maps of the output.
    kernel_size : int
        Odd or even.
    orientations : int
        R. Multiples of 4 make quarter turns exact. May be changed after training, as
        `basis` and `interval` may.
    vector_input : bool
        Whether the input is a field (B, C, 2, H, W) or an image (B, C, H, W).
    pool : {"vector", "magnitude", "none"}
        Give a field, only its magnitude (B, F, H, W), or all R responses
        (B, F, R, H, W).
    bins : int
        For ``magnitude``: how many sectors of the circle are kept apart.
    basis : str or Basis
        How filters are turned; ``"bilinear"`` is the paper's.
    refine : bool
        Sub-bin angles; the paper has none.
    interval : (float, float)
        The range of angles in radians.
    padding : int or "same"
        ``"same"`` needs an odd kernel and keeps the size at stride 1.
    init : {"stable", "paper"}
        Magnitudes that stay stable through depth, or the paper's N(0, 1e-3).
    path : {"auto", "fused", "plain"}
        How to compute; ``auto`` is fused, and plain while exporting. More than one
        bin, and responses themselves, are always plain. Gradients of gradients and
        `torch.func.grad` need ``plain``; neither path has `torch.func.vmap`.
    """

    _bank: tuple[Tensor, Tensor] | None  # the weights, and what was made of them

    def __init__(
        self,
        in_maps: int,
        filters: int,
        kernel_size: int,
        *,
        orientations: int = 16,
        vector_input: bool = True,
        pool: Pool = "vector",
        bins: int = 1,
        basis: str | Basis = "smooth",
        refine: bool = True,
        interval: Interval = FULL_CIRCLE,
        stride: int = 1,
        padding: int | Literal["same"] = "same",
        bias: bool = True,
        init: Literal["stable", "paper"] = "stable",
        path: Path = "auto",
    ):
        super().__init__()
        check_at_least_one(
            in_maps=in_maps, filters=filters, kernel_size=kernel_size, stride=stride
        )
        if pool not in ("vector", "magnitude", "none"):
            raise ValueError(
                f"pool must be 'vector', 'magnitude' or 'none', got {pool!r}"
            )
        if path not in ("auto", "fused", "plain"):
            raise ValueError(f"path must be 'auto', 'fused' or 'plain', got {path!r}")
        if kernel_size == 1 and pool == "vector" and not vector_input:
            raise ValueError(
                "a single tap on images has no direction: pool must be 'magnitude' or "
                f"'none' for kernel_size=1, got {pool!r}"
            )
        if padding == "same" and kernel_size % 2 == 0:
            raise ValueError(
                f"padding 'same' needs an odd kernel_size, got {kernel_size}"
            )
        if isinstance(padding, str) and padding != "same":
            raise ValueError(f"padding must be 'same' or an integer, got {padding!r}")
        padding = kernel_size // 2 if isinstance(padding, str) else padding
        check_integers(0, padding=padding)
        check_at_least_one(bins=bins)
        if bins > 1 and pool != "magnitude":
            raise ValueError(
                "bins above 1 need pool='magnitude', got "
                f"bins={bins} with pool={pool!r}"
            )
        self.in_maps, self.filters = int(in_maps), int(filters)
        self.kernel_size, self.vector_input = int(kernel_size), vector_input
        self.stride, self.padding = int(stride), int(padding)
        self.pool, self.bins, self.refine, self.path = pool, int(bins), refine, path
        self._turn_to(orientations, interval, basis)
        shape = (filters, in_maps, 2 if vector_input else 1, kernel_size, kernel_size)
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.zeros(filters)) if bias else None
        self.reset_parameters(init)

    @property
    def orientations(self) -> int:
        """R; setting it turns the same filters to other angles."""
        return self._orientations

    @orientations.setter
    def orientations(self, count: int) -> None:
        self._turn_to(count, self.interval, self.basis)

    @property
    def interval(self) -> Interval:
        """The range of angles; setting it turns the same filters to other angles."""
        return self._interval

    @interval.setter
    def interval(self, interval: Interval) -> None:
        self._turn_to(self.orientations, interval, self.basis)

    @property
    def basis(self) -> Basis:
        """How filters are turned; setting it gives the same weights another meaning."""
        return self._basis

    @basis.setter
    def basis(self, basis: str | Basis) -> None:
        self._turn_to(self.orientations, self.interval, basis)

    def _turn_to(self, count: int, interval: Interval, basis: str | Basis) -> None:
        interval, basis = as_interval(interval), as_basis(basis)
        angles = orientation_angles(count, interval)
        if self.bins > count:
            raise ValueError(
                f"bins must lie between 1 and R = {count}, got {self.bins}"
            )
        self._orientations, self._interval, self._basis = int(count), interval, basis
        step = float(angles[1] - angles[0]) if count > 1 else 0.0
        self.angles = Orientations(float(angles[0]), step, is_full_circle(interval))
        self.operator = turning_operator(
            self.kernel_size,
            count,
            interval=interval,
            basis=basis,
            vector=self.vector_input,
        )
        self._bank = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made anew: it is many times as large as the weights."""
        return {k: v for k, v in vars(self).items() if k not in ("operator", "_bank")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._turn_to(self._orientations, self._interval, self._basis)

    def reset_parameters(self, init: Literal["stable", "paper"] = "stable") -> None:
        """Draw new filters; biases become zero."""
        if init not in ("stable", "paper"):
            raise ValueError(f"init must be 'stable' or 'paper', got {init!r}")
        if init == "paper":
            nn.init.normal_(self.weight, std=1e-3)
        else:
            draw_stable(self.weight, self.operator, self.basis)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Image (B, C, H, W) or field (B, C, 2, H, W) → see `pool`."""
        self._check_input(x)
        if self._use_fused():
            return self._fused(x)
        responses = self.responses(x)
        if self.pool == "none":
            return responses
        if self.pool == "magnitude":
            return sector_pool(responses, self.bins, angles=self.angles)
        return orientation_pool(responses, self.angles, refine=self.refine)

    def responses(self, x: Tensor) -> Tensor:
        """All R responses, (B, F, R, H', W')."""
        return rf.convolve_bank(
            x,
            self._cached_bank(),
            self.operator.trig,
            bias=self.bias,
            stride=self.stride,
            padding=self.padding,
        )

    def turned_filters(self) -> Tensor:
        """The canonical filters at R orientations, (F, R, C, 1 or 2, k, k)."""
        flat = self.weight.flatten(2)
        matrices = self.operator.matrices().to(flat)
        turned = torch.einsum("rpq,fcq->frcp", matrices, flat)
        return turned.reshape(*turned.shape[:3], *self.weight.shape[2:])

    def _use_fused(self) -> bool:
        if self.pool == "none" or (self.pool == "magnitude" and self.bins > 1):
            return False  # most of the responses are asked for
        if self.path != "auto":
            return self.path == "fused"
        return not _is_exporting()

    def _fused(self, x: Tensor) -> Tensor:
        maps = x.flatten(1, 2) if self.vector_input else x
        bank = self._cached_bank()
        device = x.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
            maps, bank = maps.to(dtype), bank.to(dtype)
        pooling = Pooling(
            self.filters,
            self.angles,
            self.refine,
            self.stride,
            self.padding,
            keep="vector" if self.pool == "vector" else "magnitude",
            one_wave=self.vector_input and self.kernel_size == 1,
        )
        return fused_conv_pool(maps, bank, self.operator.trig, self.bias, pooling)

    def _cached_bank(self) -> Tensor:
        """The harmonic bank; kept in eval mode until the weights change."""
        learns = torch.is_grad_enabled() and self.weight.requires_grad
        if self.training or learns or _is_exporting():
            return rf.harmonic_bank(self.weight, self.operator)
        if self._bank is None or not _is_same(self._bank[0], self.weight):
            # Tensors of inference mode could not take part in gradients later.
            with torch.inference_mode(False), torch.no_grad():
                bank = rf.harmonic_bank(self.weight, self.operator)
                bank = bank.contiguous(memory_format=torch.channels_last)
                self._bank = (self.weight.detach().clone(), bank)
        return self._bank[1]

    def train(self, mode: bool = True) -> RotConv:
        """Switch between training and evaluation, forgetting the cached bank."""
        self._bank = None
        return super().train(mode)

    def _check_input(self, x: Tensor) -> None:
        check_conv_input(x, self.weight, self.padding)
        # It is cheap, but a GPU would have to wait for it at each step of a training.
        if (x.is_cpu or not self.training) and not _is_exporting():
            check_finite_weights(self)

    def extra_repr(self) -> str:
        """Show the options that matter."""
        kind = "field" if self.vector_input else "image"
        return (
            f"{self.in_maps}, {self.filters}, {self.kernel_size}, {kind}, "
            f"R={self.orientations}, pool={self.pool!r}, basis={self.basis.kind!r}, "
            f"refine={self.refine}, stride={self.stride}, padding={self.padding}"
        )


def _is_exporting() -> bool:
    """Whether torch follows the computation to write it down."""
    tracing: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return torch.compiler.is_compiling() or tracing


def _is_same(kept: Tensor, weight: Tensor) -> bool:
    """Compare by value: versions of tensors miss writes through `.data`."""
    alike = kept.dtype == weight.dtype and kept.device == weight.device
    return alike and torch.equal(kept, weight)
