"""The encoder of frame sequences, such as speech: recurrent layers that shorten the sequence, each by half.

Letters: S frames, and then positions, of a recording · D size of a frame
"""

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.model.encoder import Encoded, EncoderLayer, reversal
from nmt_cli.model.recurrent import Dropout


class FrameEncoder(nn.Module):
    """hʲ_i = BiLSTM(hʲ_{i-1}, [hʲ⁻¹_{2i}; hʲ⁻¹_{2i+1}])   (Chan et al. 2016, section 3.1)

    The last `pyramidal_layers` layers read two consecutive states of the layer below as one: k of them turn S frames
    into ⌈S / 2ᵏ⌉ positions. If a sequence is odd, the state that would follow its last one is 0. Layers below them read
    one state after the other.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        D, H, layers = config.frame_size, config.hidden_size, config.encoder_layers
        self.first_pyramidal = layers - config.pyramidal_layers
        count = {"none": 0, "first": 1, "all": layers}[config.bidirectional]
        self.layers = nn.ModuleList(
            EncoderLayer(config, size * (2 if i >= self.first_pyramidal else 1), bidirectional=i < count)
            for i, size in enumerate([D] + [H] * (layers - 1))
        )
        self.residual = config.residual
        self.dropout = Dropout(config.dropout, variational=config.variational_dropout)
        self.frame_size = D

    def forward(self, frames: Tensor, mask: Tensor) -> tuple[Encoded, Tensor]:
        """Frames (B, S, D), mask (B, S) true on real ones → states (B, S', H), mask (B, S')"""
        # On a CPU, PyTorch's LSTM does not check the size of its input.
        assert frames.shape[-1] == self.frame_size
        x, last = frames, []
        for i, layer in enumerate(self.layers):
            if i > 0:
                x = self.dropout(x)
            if i >= self.first_pyramidal:
                x, mask = pairs(x, mask)  # (B, S/2, 2·I), (B, S/2)
            y, state = layer(x, mask, reversal(mask.sum(dim=1), x.shape[1]))  # (B, S, H)
            x = x + y if self.residual and i > 0 else y
            last.append(state)
        return Encoded(x, tuple(last)), mask

    @property
    def frames_per_position(self) -> int:
        """2ᵏ: how many frames a position stands for."""
        return 1 << len(self.layers) - self.first_pyramidal

    def positions(self, lengths: Tensor) -> Tensor:
        """How many positions recordings with so many frames have: (B,) → (B,)"""
        frames = self.frames_per_position
        return (lengths + frames - 1) // frames

    def blank(self) -> Tensor:
        """A batch of one recording without content, for a process that has none in this update."""
        return torch.zeros(1, 1, self.frame_size)


def pairs(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """[x_{2i}; x_{2i+1}], where padding is 0: (B, S, I), (B, S) → (B, ⌈S/2⌉, 2·I), (B, ⌈S/2⌉)"""
    B, S, I = x.shape  # noqa: E741 - the size of the input
    x = x.masked_fill(~mask[..., None], 0.0)
    if S % 2:
        x = torch.cat([x, x.new_zeros(B, 1, I)], dim=1)
    return x.reshape(B, -1, 2 * I), mask[:, ::2]
