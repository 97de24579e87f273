"""The loss on a random subset of target positions: less work for the vocabulary, the same gradient on average."""

import numpy as np
import torch
from torch import Tensor


def draw_subset(lengths: Tensor, share: float) -> Tensor:
    """Which of the N = Σ m_b real target tokens count, (M,) in order, from lengths m (B,) on the CPU.

    Of each sentence ⌊share·m⌋ or one more are drawn without replacement, so that every token counts with
    probability `share` exactly: 1/share times their loss is unbiased. All on the host: no device has to wait.
    """
    m = lengths.numpy()
    N = int(m.sum())
    sentence = np.repeat(np.arange(len(m)), m)  # (N,)
    chance, order = torch.split(torch.rand(len(m) + N, device="cpu"), [len(m), N])  # (B,), (N,)
    wanted = np.floor(share * m + chance.numpy())  # (B,) in the mean share·m
    by_chance = np.lexsort((order.numpy(), sentence))  # (N,) each sentence shuffled
    rank = np.arange(N) - np.repeat(np.cumsum(m) - m, m)  # (N,) place within its sentence
    return torch.from_numpy(np.sort(by_chance[rank < wanted[sentence]]))  # (M,)
