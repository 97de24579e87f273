"""Log-mel frames: how much energy a recording has in each band of the mel scale, one frame every 10 ms.

X_tk = Σ_n w_n x_{10 ms · t + n} e^{-2πi nk/N}             w: a Hann window of 25 ms
y_tb = log(Σ_k M_bk |X_tk|² + ε)                           M_b: triangle around the center of band b
z_tb = (y_tb - mean_t y_tb) / (std_t y_tb + δ)             per recording, so that loudness does not matter
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WINDOW, HOP = 0.025, 0.010  # seconds
EPSILON = 1e-8  # ε: below the noise of 16-bit samples
DELTA = 1e-3  # δ: silence stays 0


def log_mel(samples: NDArray[np.float32], rate: int, bands: int) -> NDArray[np.float32]:
    """Samples (n,) → normalized frames (n // hop + 1, bands); frame t is centered on sample t · hop."""
    import torch

    window, hop, points = sizes(rate)
    x = torch.from_numpy(samples.astype(np.float64))
    spectrum = torch.stft(
        x,
        points,
        hop_length=hop,
        win_length=window,
        window=torch.hann_window(window, dtype=torch.float64),
        center=True,
        pad_mode="constant",
        return_complex=True,
    )  # (points/2 + 1, T)
    energy = spectrum.abs().square().T @ torch.from_numpy(mel_filters(rate, points, bands)).T  # (T, bands)
    y = torch.log(energy + EPSILON)
    z = (y - y.mean(dim=0)) / (y.std(dim=0, correction=0) + DELTA)
    frames: NDArray[np.float32] = z.float().numpy()
    return frames


def sizes(rate: int) -> tuple[int, int, int]:
    """Samples of a window and from one frame to the next, and points of the Fourier transform.

    With twice as many points as a window has samples, even the narrowest band has some.
    """
    window = round(WINDOW * rate)
    return window, round(HOP * rate), 2 ** (2 * window - 1).bit_length()


@lru_cache(maxsize=8)
def mel_filters(rate: int, points: int, bands: int) -> NDArray[Any]:
    """M (bands, points/2 + 1): triangles whose corners are equally spaced on the mel scale from 0 to rate / 2.

    mel(f) = 2595 log10(1 + f / 700)   (O'Shaughnessy 1987)
    """
    highest = 2595 * np.log10(1 + rate / 2 / 700)
    corners = 700 * (10 ** (np.linspace(0, highest, bands + 2) / 2595) - 1)  # in Hz
    f = np.arange(points // 2 + 1) * rate / points
    low, center, high = (corners[at : at + bands, None] for at in range(3))
    filters: NDArray[Any] = np.clip(
        np.minimum((f - low) / (center - low), (high - f) / (high - center)), 0, None
    )
    return filters
