"""The encoder of images: a grid of states, which attention reads as it reads the states of words.

Letters: L positions of an image, cells of a grid or rows of a feature matrix · D size of their features
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d

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
        self.network: StridedConvolutions | PooledConvolutions | None = None
        if config.source == "image":
            network = NETWORKS[config.image_network]
            self.network = network(config.encoder_layers, config.hidden_size, config.image_grid)
            L, D = config.image_grid**2, config.hidden_size
        else:
            L, D = _feature_shape(config)
        self.W = nn.Linear(D, config.hidden_size)
        self.positions = nn.Embedding(L, config.hidden_size)
        self.dropout = Dropout(config.input_dropout_rate, variational=config.variational_dropout)

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


class StridedConvolutions(nn.Module):
    """f ← relu(C f), each C a 3 × 3 convolution of stride 2;  a_i = mean of f over cell i of the grid

    What a cell sees is centered on its upper left corner.
    """

    def __init__(self, layers: int, size: int, grid: int) -> None:
        super().__init__()
        self.layers = _convolutions(layers, size, stride=2)
        self.grid = grid

    def forward(self, images: Tensor) -> Tensor:
        """Bytes (B, height, width, 3) → a (B, L, D), row by row"""
        f = _channels_first(images, self.layers)  # (B, 3, height, width)
        for layer in self.layers:
            f = torch.relu(layer(f))  # (B, C, height/2, width/2)
        return _cells(f, self.grid)


class PooledConvolutions(nn.Module):
    """f ← pool(relu(N(C f)));  a_i = mean of f over cell i of the grid   (Simonyan & Zisserman 2015, section 2.1)

    C is a 3 × 3 convolution, N normalizes over all channels and positions of an image (VGG has no normalization),
    pool is the maximum of 2 × 2 positions. What a cell sees is centered on its middle.
    """

    def __init__(self, layers: int, size: int, grid: int) -> None:
        super().__init__()
        self.layers = _convolutions(layers, size, stride=1)
        self.norms = nn.ModuleList(nn.GroupNorm(1, channels) for channels in _channels(layers, size)[1:])
        self.grid = grid

    def forward(self, images: Tensor) -> Tensor:
        """Bytes (B, height, width, 3) → a (B, L, D), row by row"""
        f = _channels_first(images, self.layers)  # (B, 3, height, width)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            # A last odd row or column is pooled alone: none is lost.
            f = max_pool2d(torch.relu(norm(layer(f))), 2, ceil_mode=True)  # (B, C, height/2, width/2)
        return _cells(f, self.grid)


NETWORKS: dict[str, type[StridedConvolutions | PooledConvolutions]] = {
    "strided": StridedConvolutions,
    "pooled": PooledConvolutions,
}


def _channels(layers: int, size: int) -> list[int]:
    """Those of the image, and of each layer: twice as many as the one before; the last has `size`."""
    return [CHANNELS, *(max(4, size >> above) for above in range(layers - 1, 0, -1)), size]


def _convolutions(layers: int, size: int, stride: int) -> nn.ModuleList:
    return nn.ModuleList(
        nn.Conv2d(before, after, kernel_size=3, stride=stride, padding=1)
        for before, after in pairwise(_channels(layers, size))
    )


def _channels_first(images: Tensor, layers: nn.ModuleList) -> Tensor:
    """Bytes (B, height, width, 3) → numbers from -1 to 1, (B, 3, height, width), in the precision of the layers"""
    weight = layers[0].weight
    assert isinstance(weight, Tensor)
    return images.permute(0, 3, 1, 2).to(weight.dtype) / 127.5 - 1


def _cells(f: Tensor, grid: int) -> Tensor:
    """f (B, D, height, width) → a (B, grid·grid, D)"""
    return adaptive_avg_pool2d(f, (grid, grid)).flatten(2).transpose(1, 2)


def _feature_shape(config: ModelConfig) -> tuple[int, int]:
    if config.feature_shape is None:
        raise ConfigError(
            "model.source = features needs model.feature_shape",
            hint="set it to the positions and the size of the features, such as model.feature_shape=[196, 512]",
        )
    L, D = config.feature_shape
    return L, D
