"""The encoder–decoder: its parts put together behind the protocol."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batch import Batch
from nmt_cli.errors import ConfigError
from nmt_cli.model.decoder import Decoded, Decoder, DecoderState, SourceMemory
from nmt_cli.model.dropout import Dropout, WordDropout
from nmt_cli.model.encoder import Bridge, Encoder, reversal, take
from nmt_cli.model.initialization import initialize
from nmt_cli.model.loss import (
    BASELINE_DECAY,
    chunked_cross_entropy,
    coverage_loss,
    draw_subset,
    hard_attention_loss,
)
from nmt_cli.model.parallel_decoder import ParallelDecoder
from nmt_cli.model.protocol import PAD, Loss, padding_mask
from nmt_cli.model.scheduled_sampling import NO_WORDS, OwnWords, mix_inputs
from nmt_cli.model.sequential_decoder import SequentialDecoder
from nmt_cli.model.transformer import TransformerDecoder, TransformerEncoder


class Seq2Seq(nn.Module):
    """p(y | x) = Π_t p(y_t | y_{<t}, x)   (Sutskever et al. 2014, equation 1)"""

    def __init__(
        self, config: ModelConfig, source_words: nn.Embedding, target_words: nn.Embedding, *, tied: bool
    ) -> None:
        """`tied`: the vocabulary projection has the weights of the target words."""
        super().__init__()
        self.source_words = source_words
        self.target_words = target_words
        # In place of the target words for single steps: see translator/arranging.
        self.step_words: nn.Embedding | None = None
        input_dropout = config.dropout if config.input_dropout is None else config.input_dropout
        self.input_dropout = Dropout(input_dropout, variational=config.variational_dropout)
        self.word_dropout = WordDropout(config.word_dropout)
        self.encoder = build_encoder(config)
        self.bridge = Bridge(config)
        self.decoder = build_decoder(config)
        self.vocabulary = nn.Linear(config.features_size, target_words.num_embeddings)
        if tied:
            self.vocabulary.weight = target_words.weight
        self.loss_chunk_tokens = config.loss_chunk_tokens
        self.reverse_source = config.reverse_source
        self.entropy_weight = config.entropy_weight
        self.coverage_weight = config.coverage_loss
        # b of REINFORCE, the moving average of log p(y_t); at first all words are alike.
        self.baseline: Tensor | None
        first = torch.tensor(-math.log(target_words.num_embeddings)) if config.hard_attention else None
        self.register_buffer("baseline", first)

    def encode(self, source: Tensor, lengths: Tensor) -> SourceMemory:
        """Source (B, S) with `lengths` (B,) on the CPU → memory; that of a language model is empty.

        The source may be read backwards (Sutskever et al. 2014, section 3.3); memory is in its own order again.
        """
        mask = padding_mask(lengths, source.shape[1], source.device)  # (B, S)
        if self.encoder is None:
            return SourceMemory(self.bridge.zero(len(mask), self.target_words.weight), None, None, None, mask)
        x = self._word_vectors(self.source_words, source)  # (B, S, E)
        if self.reverse_source:
            swap = reversal(
                mask.sum(dim=1) - 1, source.shape[1]
            )  # (B, S) without <eos>, which stays at the end
            x = take(x, swap)  # (B, S, E)
        encoded = self.encoder(x, mask)
        initial, summary = self.bridge(encoded, mask)  # each (B, H)
        states = take(encoded.states, swap) if self.reverse_source else encoded.states  # (B, S, H)
        return self.decoder.remember(states, initial, summary, mask)

    def decode(self, memory: SourceMemory, target_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing with (B, T): features (B, T, F) and attention (B, T, S), if there is one."""
        decoded = self._decode(memory, target_inputs, attention=True)
        return decoded.features, decoded.attention

    def start(self, memory: SourceMemory, beam: int) -> DecoderState:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        return self.decoder.start(memory, beam)

    def step(
        self, tokens: Tensor, state: DecoderState, memory: SourceMemory
    ) -> tuple[Tensor, DecoderState, Tensor | None]:
        """Tokens (B, K) → features (B, K, F), the next state, attention (B, K, S)."""
        words = self.target_words if self.step_words is None else self.step_words
        return self.decoder.step(self._word_vectors(words, tokens), state, memory)

    def project(self, features: Tensor) -> Tensor:
        """Features (…, F) → logits (…, V)."""
        logits: Tensor = self.vocabulary(features)
        return logits

    def loss(
        self,
        batch: Batch,
        *,
        label_smoothing: float = 0.0,
        own_words: OwnWords = NO_WORDS,
        share: float = 1.0,
    ) -> Loss:
        """Cross-entropy of the real target tokens, summed, and in `total` what else the settings ask for.

        own_words   scheduled sampling: how often the decoder is fed its own words
        share       of the target tokens of a sentence that count, drawn at random; the loss is scaled up
        """
        memory = self.encode(batch.source, batch.source_lengths)
        inputs = batch.target_inputs
        if own_words.probability > 0:
            inputs = mix_inputs(self, memory, inputs, own_words)
        explores = self.baseline is not None and self.training
        decoded = self._decode(memory, inputs, attention=explores or self.coverage_weight > 0)
        positions, labels = batch.positions, batch.labels  # (N,) each
        if share < 1:
            subset = draw_subset(batch.target_lengths, share).to(labels.device, non_blocking=True)
            positions, labels = positions.index_select(0, subset), labels.index_select(0, subset)  # (M,) each
        features = decoded.features.flatten(0, 1)  # (B·T, F)
        losses = torch.empty_like(labels, dtype=torch.float32) if explores else None  # (M,)
        total, cross_entropy, _ = chunked_cross_entropy(
            features.index_select(0, positions),  # (M, F) padding is gone before the projection
            self.vocabulary.weight,
            self.vocabulary.bias,
            labels,
            label_smoothing=label_smoothing,
            chunk_tokens=self.loss_chunk_tokens,
            losses=losses,
        )
        if share < 1:
            total, cross_entropy = total / share, cross_entropy / share
        if losses is not None:
            total = total + self._choice_loss(decoded, losses, positions, batch.positions, 1 / share)
        if self.coverage_weight:
            assert decoded.attention is not None
            total = total + self.coverage_weight * coverage_loss(decoded.attention, batch.positions)
        return Loss(total, cross_entropy, len(batch.labels))

    def forward(self, batch: Batch, **how: Any) -> Loss:
        """`loss`, under the name that wrappers for several processes call."""
        return self.loss(batch, **how)

    @torch.no_grad()
    def learn_baseline(self, loss: Loss) -> None:
        """b ← 0.9 b + 0.1 mean log p(y_t), after the gradient of `loss` was taken   (Xu et al. 2015, 4.1)"""
        if self.baseline is not None:
            reward = -loss.cross_entropy.to(self.baseline) / loss.tokens
            # An update that is skipped because it is not finite must leave no trace here either.
            self.baseline.lerp_(torch.where(reward.isfinite(), reward, self.baseline), 1 - BASELINE_DECAY)

    def _choice_loss(
        self, decoded: Decoded, losses: Tensor, counted: Tensor, positions: Tensor, scale: float
    ) -> Tensor:
        assert decoded.attention is not None
        assert decoded.chances is not None
        assert self.baseline is not None
        return hard_attention_loss(
            decoded.attention,
            decoded.chances,
            losses,
            counted,
            positions,
            baseline=self.baseline,
            scale=scale,
            entropy_weight=self.entropy_weight,
        )

    def _decode(self, memory: SourceMemory, inputs: Tensor, *, attention: bool) -> Decoded:
        return self.decoder.decode(memory, self._word_vectors(self.target_words, inputs), attention=attention)

    def _word_vectors(self, words: nn.Embedding, tokens: Tensor) -> Tensor:
        x: Tensor = self.input_dropout(self.word_dropout(words(tokens)))  # (B, S or T or K, E)
        return x


def build_encoder(config: ModelConfig) -> Encoder | TransformerEncoder | None:
    """The encoder that the settings need; a language model has none."""
    if config.is_language_model:
        return None
    return TransformerEncoder(config) if config.cell == "transformer" else Encoder(config)


def build_decoder(config: ModelConfig) -> Decoder:
    """The decoder that the settings need: a loop only where attention and recurrence depend on each other."""
    if config.cell == "transformer":
        return TransformerDecoder(config)
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
        if tying != "all" and not config.is_language_model:
            source_words = nn.Embedding(source_vocabulary_size, config.embedding_size, padding_idx=PAD)
        model = Seq2Seq(config, source_words, target_words, tied=tying != "none")
    initialize(model, generator)
    return model
