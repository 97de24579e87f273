"""The encoder–decoder: its parts put together behind the protocol."""

import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch
from nmt_cli.config.model import ModelConfig
from nmt_cli.errors import ConfigError
from nmt_cli.model.bridge import Bridge
from nmt_cli.model.decoder import Decoder, DecoderState, SourceMemory
from nmt_cli.model.dropout import Dropout, WordDropout
from nmt_cli.model.encoder import Encoder
from nmt_cli.model.initialization import initialize
from nmt_cli.model.loss import chunked_cross_entropy
from nmt_cli.model.parallel_decoder import ParallelDecoder
from nmt_cli.model.protocol import PAD, Loss, padding_mask
from nmt_cli.model.sequential_decoder import SequentialDecoder


class Seq2Seq(nn.Module):
    """p(y | x) = Π_t p(y_t | y_{<t}, x)   (Sutskever et al. 2014, equation 1)"""

    def __init__(
        self, config: ModelConfig, source_words: nn.Embedding, target_words: nn.Embedding, *, tied: bool
    ) -> None:
        """`tied`: the vocabulary projection has the weights of the target words."""
        super().__init__()
        self.source_words = source_words
        self.target_words = target_words
        input_dropout = config.dropout if config.input_dropout is None else config.input_dropout
        self.input_dropout = Dropout(input_dropout, variational=config.variational_dropout)
        self.word_dropout = WordDropout(config.word_dropout)
        self.encoder = Encoder(config)
        self.bridge = Bridge(config)
        self.decoder = build_decoder(config)
        self.vocabulary = nn.Linear(config.features_size, target_words.num_embeddings)
        if tied:
            self.vocabulary.weight = target_words.weight
        self.loss_chunk_tokens = config.loss_chunk_tokens

    def encode(self, source: Tensor, lengths: Tensor) -> SourceMemory:
        """Source (B, S) with `lengths` (B,) on the CPU → memory."""
        mask = padding_mask(lengths, source.shape[1], source.device)  # (B, S)
        encoded = self.encoder(self._word_vectors(self.source_words, source), mask)
        initial, summary = self.bridge(encoded, mask)  # each (B, H)
        if self.decoder.attention is None:
            return SourceMemory(initial, summary, None, None, mask)
        keys = self.decoder.attention.score.keys(encoded.states)  # (B, S, A)
        return SourceMemory(initial, summary, encoded.states, keys, mask)

    def decode(self, memory: SourceMemory, target_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing with (B, T): features (B, T, F) and attention (B, T, S), if there is one."""
        return self.decoder.decode(memory, self._word_vectors(self.target_words, target_inputs))

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        return self.decoder.start(memory, beam)

    def step(
        self, tokens: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Tokens (B, K) → features (B, K, F), the next state, attention (B, K, S)."""
        return self.decoder.step(self._word_vectors(self.target_words, tokens), state, memory)

    def project(self, features: Tensor) -> Tensor:
        """Features (…, F) → logits (…, V)."""
        logits: Tensor = self.vocabulary(features)
        return logits

    def loss(self, batch: Batch, *, label_smoothing: float = 0.0) -> Loss:
        """Cross-entropy of the real target tokens, summed."""
        memory = self.encode(batch.source, batch.source_lengths)
        features, _ = self.decode(memory, batch.target_inputs)  # (B, T, F)
        return chunked_cross_entropy(
            features.flatten(0, 1).index_select(
                0, batch.positions
            ),  # (N, F) padding is gone before the projection
            self.vocabulary.weight,
            self.vocabulary.bias,
            batch.labels,
            label_smoothing=label_smoothing,
            chunk_tokens=self.loss_chunk_tokens,
        )

    def forward(self, batch: Batch, *, label_smoothing: float = 0.0) -> Loss:
        """`loss`, under the name that wrappers for several processes call."""
        return self.loss(batch, label_smoothing=label_smoothing)

    def _word_vectors(self, words: nn.Embedding, tokens: Tensor) -> Tensor:
        x: Tensor = self.input_dropout(self.word_dropout(words(tokens)))  # (B, S or T or K, E)
        return x


def build_decoder(config: ModelConfig) -> Decoder:
    """The decoder that the settings need: a loop only where attention and recurrence depend on each other."""
    return (
        SequentialDecoder(config)
        if config.query == "before" or config.input_feeding
        else ParallelDecoder(config)
    )


def build_model(
    config: ModelConfig,
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    *,
    shared: bool,
    generator: torch.Generator,
) -> Seq2Seq:
    """A model with fresh weights drawn from `generator`; `shared`: both sides have one vocabulary."""
    tying = config.tying(joint=shared)
    if tying == "all" and not shared:
        raise ConfigError(
            "model.tied_embeddings = all contradicts vocabulary.joint = false",
            hint="set model.tied_embeddings = decoder, or make the data with vocabulary.joint = true",
        )
    with torch.random.fork_rng(devices=[]):  # torch's own first weights must not use up the global generator
        target_words = nn.Embedding(target_vocabulary_size, config.embedding_size, padding_idx=PAD)
        source_words = target_words
        if tying != "all":
            source_words = nn.Embedding(source_vocabulary_size, config.embedding_size, padding_idx=PAD)
        model = Seq2Seq(config, source_words, target_words, tied=tying != "none")
    initialize(model, generator)
    return model
