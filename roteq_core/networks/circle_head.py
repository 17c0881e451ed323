"""Mix curves over the angle without ever leaving the circle.

What follows the whole-crop templates of `CarNet` where there are several of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CircleHead(nn.Module):
    """Mix the responses of templates around the circle, and turn along with them.

    Each template's R responses are samples of a smooth curve over the angle. The curve
    is read finely, its negative part is cut off, and the sum over templates of a
    learnt circular convolution is given at R angles again:

        y(α) = Σ_f (w_f * max(t_f, 0))(α),

    with w_f held by its first Fourier coefficients. So templates for dark and for
    bright cars, say, are not averaged before anything is decided.

    Parameters
    ----------
    templates : int
        F.
    """

    fine, orders = 48, 5

    def __init__(self, templates: int):
        super().__init__()
        std = 0.1 / templates**0.5
        self.weight = nn.Parameter(std * torch.randn(2, templates, self.orders + 1))

    def forward(self, responses: Tensor) -> Tensor:
        """(B, F, R, …) → (B, R, …)."""
        count = responses.shape[2]
        curves = responses.movedim(2, -1)
        held = torch.fft.rfft(curves)[..., : (count - 1) // 2 + 1] * (self.fine / count)
        bright = torch.fft.irfft(held, n=self.fine).relu()
        kept = min((count - 1) // 2, self.orders) + 1
        spectrum = torch.fft.rfft(bright)[..., :kept]
        weight = torch.complex(*self.weight[..., :kept].to(bright))
        mixed = torch.einsum("bf...k,fk->b...k", spectrum, weight)
        mixed = mixed * (count / self.fine)
        turned: Tensor = torch.fft.irfft(mixed, n=count)
        return turned.movedim(-1, 1)
