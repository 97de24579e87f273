"""Initial weights, all drawn from one generator."""

from typing import cast

import torch
from torch import Tensor, nn

from nmt_cli.vocabulary.token_ids import PAD


@torch.no_grad()
def initialize(model: nn.Module, generator: torch.Generator) -> None:
    """Initialize every weight of the model, in the order of its modules.

    recurrent weights     orthogonal, each gate separately                          (Saxe et al. 2014)
    other matrices        uniform in ±√(6 / (fan_in + fan_out)), each gate too      (Glorot & Bengio 2010)
    word vectors          normal with standard deviation 1/√E; that of <pad> is 0
    biases                0, but 1 for the forget gate of an LSTM                   (Jozefowicz et al. 2015)
    """
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            _initialize_recurrent(module, generator)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
    for module in model.modules():  # last: a tied vocabulary projection shares these weights
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
            module.weight[PAD] = 0


def _initialize_recurrent(module: nn.RNNBase, generator: torch.Generator) -> None:
    for name, weight in module.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(weight)
        else:
            draw = nn.init.orthogonal_ if name.startswith("weight_hh") else nn.init.xavier_uniform_
            for gate in weight.chunk(len(weight) // module.hidden_size):  # (H, I or H)
                draw(gate, generator=generator)
    if isinstance(module, nn.LSTM):
        bias = cast(Tensor, module.bias_ih_l0)  # (4·H,) gates i, f, g, o; added to bias_hh, which stays 0
        bias[module.hidden_size : 2 * module.hidden_size] = 1
