"""The encoder of images: a grid of states, which attention reads as it reads the states of words.

Letters: L positions of an image, cells of a grid or rows of a feature matrix · D size of their features
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from nmt_cli.config.model import ModelConfig
from nmt_cli.errors import ConfigError
from nmt_cli.model.encoder import Encoded
from nmt_cli.model.recurrent import Dropout

CHANNELS = 3  # red, green, blue


class ImageEncoder(nn.Module):
    """a_i = features of position i;  h_i = W a_i + p_i   (Xu et al. 2015, section 3.1.1, where h_i = a_i)

    The features are those of a small convolutional network, or they come with the data. p_i is learned for each
    position: a weighted sum of h_i also says where it looked.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.network: Convolutions | None = None
        if config.source == "image":
            self.network = Convolutions(config.encoder_layers, config.hidden_size, config.image_grid)
            L, D = config.image_grid**2, config.hidden_size
        else:
            L, D = _feature_shape(config)
        self.W = nn.Linear(D, config.hidden_size)
        self.positions = nn.Embedding(L, config.hidden_size)
        dropout = config.dropout if config.input_dropout is None else config.input_dropout
        self.dropout = Dropout(dropout, variational=config.variational_dropout)

    def forward(self, source: Tensor) -> Encoded:
        """Images (B, height, width, 3) of bytes, or features (B, L, D) → states h (B, L, H)"""
        a = source.to(self.W.weight.dtype) if self.network is None else self.network(source)  # (B, L, D)
        return Encoded(self.dropout(self.W(a) + self.positions.weight), ())

    def blank(self) -> Tensor:
        """A batch of one source without content, for a process that has no image in this update."""
        if self.network is not None:
            side = 2 ** len(self.network.layers)
            return torch.zeros(1, side, side, CHANNELS, dtype=torch.uint8)
        return torch.zeros(1, self.positions.num_embeddings, self.W.in_features)


class Convolutions(nn.Module):
    """f ← relu(C f), each C a 3 × 3 convolution of stride 2;  a_i = mean of f over cell i of the grid"""

    def __init__(self, layers: int, size: int, grid: int) -> None:
        super().__init__()
        sizes = [CHANNELS, *(max(4, size >> above) for above in range(layers - 1, 0, -1)), size]
        self.layers = nn.ModuleList(
            nn.Conv2d(before, after, kernel_size=3, stride=2, padding=1) for before, after in pairwise(sizes)
        )
        self.grid = grid

    def forward(self, images: Tensor) -> Tensor:
        """Bytes (B, height, width, 3) → a (B, L, D), row by row"""
        weight = self.layers[0].weight
        assert isinstance(weight, Tensor)
        f = images.permute(0, 3, 1, 2).to(weight.dtype) / 127.5 - 1  # (B, 3, height, width)
        for layer in self.layers:
            f = torch.relu(layer(f))  # (B, C, height/2, width/2)
        a = adaptive_avg_pool2d(f, (self.grid, self.grid))  # (B, D, g, g)
        return a.flatten(2).transpose(1, 2)  # (B, g·g, D)


def _feature_shape(config: ModelConfig) -> tuple[int, int]:
    if config.feature_shape is None:
        raise ConfigError(
            "model.source = features needs model.feature_shape",
            hint="set it to the positions and the size of the features, such as model.feature_shape=[196, 512]",
        )
    L, D = config.feature_shape
    return L, D
