"""The encoder–decoder: all parts together, behind the protocol."""

import math
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from nmt_cli.config.model import ModelConfig
from nmt_cli.data.batches import Batch, collate
from nmt_cli.errors import ConfigError
from nmt_cli.model.copying import copied_weight, copies_of, mixture
from nmt_cli.model.decoder import Decoded, Decoder
from nmt_cli.model.encoder import Bridge, Encoder, reversal, take
from nmt_cli.model.fast.cross_entropy import chunked_cross_entropy
from nmt_cli.model.frame_encoder import FrameEncoder
from nmt_cli.model.image_encoder import ImageEncoder
from nmt_cli.model.loss import (
    BASELINE_DECAY,
    coverage_loss,
    doubly_stochastic_loss,
    draw_share,
    draw_words,
    expected_risk,
    guided_alignment_loss,
    hard_attention_loss,
    mix_inputs,
)
from nmt_cli.model.protocol import (
    TEACHER_FORCING,
    Copies,
    Loss,
    Memory,
    Risks,
    ScheduledSampling,
    State,
    padding_mask,
)
from nmt_cli.model.recurrent import Dropout, WordDropout
from nmt_cli.model.recurrent_decoders import (
    AttentionDecoder,
    AttentionMemory,
    BahdanauDecoder,
    GNMTDecoder,
    LuongDecoder,
    LuongFeedingDecoder,
    PlainDecoder,
    PlainMemory,
)
from nmt_cli.model.transformer import TransformerDecoder, TransformerEncoder, TransformerMemory
from nmt_cli.vocabulary.token_ids import PAD


class Seq2Seq(nn.Module):
    """p(y | x) = Π_t p(y_t | y_{<t}, x)   (Sutskever et al. 2014, equation 1)"""

    def __init__(
        self, config: ModelConfig, source_words: nn.Embedding, target_words: nn.Embedding, *, tied: bool
    ) -> None:
        """`tied`: the vocabulary projection shares its weights with the target words."""
        super().__init__()
        self.source_words = source_words
        self.target_words = target_words
        self.input_dropout = Dropout(config.input_dropout_rate, variational=config.variational_dropout)
        self.word_dropout = WordDropout(config.word_dropout)
        self.encoder = build_encoder(config)
        self.bridge = Bridge(config)
        self.decoder = build_decoder(config)
        self.vocabulary = nn.Linear(config.features_size, target_words.num_embeddings)
        if tied:
            self.vocabulary.weight = target_words.weight
        self.copying = config.copying
        self.loss_chunk_tokens = config.loss_chunk_tokens
        self.reverse_source = config.reverse_source
        # The decoder sees only the order in which it writes; `collate`, `force` and `Hypothesis` convert.
        self.reverse_target = config.reverse_target
        self.entropy_weight = config.entropy_weight
        self.coverage_weight = config.coverage_loss
        self.doubly_stochastic_weight = config.doubly_stochastic
        # b of REINFORCE, the moving average of log p(y_t); initially all words are equally probable.
        self.baseline: Tensor | None
        first = torch.tensor(-math.log(target_words.num_embeddings)) if config.hard_attention else None
        self.register_buffer("baseline", first)

    def vocabulary_size(self) -> int:
        """V, the size of the target vocabulary."""
        return self.vocabulary.out_features

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Source (B, S) with `lengths` (B,) on the CPU → memory; a language model ignores the source.

        An image is (B, height, width, 3), or its features (B, S, D); its length is not needed. A recording is frames
        (B, S, D); its memory has fewer positions.
        If the encoder reads the source backwards (Sutskever et al. 2014, section 3.3), memory is in source order again.
        """
        if isinstance(self.encoder, ImageEncoder):
            encoded = self.encoder(source)  # (B, L, H)
            mask = torch.ones(encoded.states.shape[:2], dtype=torch.bool, device=source.device)  # (B, L)
            found: Memory = self.decoder.build_memory(encoded.states, self.bridge(encoded, mask), mask)
            return found
        mask = padding_mask(lengths, source.shape[1], source.device)  # (B, S)
        if isinstance(self.encoder, FrameEncoder):
            encoded, mask = self.encoder(source.to(self.vocabulary.weight.dtype), mask)  # (B, S', H), (B, S')
            heard: Memory = self.decoder.build_memory(encoded.states, self.bridge(encoded, mask), mask)
            return heard
        if self.encoder is None:
            if isinstance(self.decoder, TransformerDecoder):
                return TransformerMemory(mask, ())
            return PlainMemory(mask, self.bridge.zero(len(mask), self.target_words.weight), None)
        x = self._word_vectors(self.source_words, source)  # (B, S, E)
        if self.reverse_source:
            swap = reversal(mask.sum(dim=1) - 1, source.shape[1])  # (B, S) <eos> stays at the end
            x = take(x, swap)  # (B, S, E)
        encoded = self.encoder(x, mask)
        states = take(encoded.states, swap) if self.reverse_source else encoded.states  # (B, S, H)
        memory: Memory = self.decoder.build_memory(states, self.bridge(encoded, mask), mask)
        return replace(cast(AttentionMemory, memory), source=source) if self.copying else memory

    def decode(self, memory: Memory, target_inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing with (B, T): features (B, T, F) and attention (B, T, S), if there is any."""
        decoded = self._decode(memory, target_inputs, attention=True)
        return decoded.features, decoded.attention

    def start(self, memory: Memory, beam: int) -> State:
        """The state before the first step, the same for all `beam` hypotheses of a sentence."""
        state: State = self.decoder.start(memory, beam)
        return state

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor | None]:
        """Tokens (B, K) → features (B, K, F), the next state, attention (B, K, S)."""
        return self.decoder.step(self._word_vectors(self.target_words, tokens), state, memory)

    def copies(
        self, attention: Tensor | None, memory: Memory, positions: Tensor | None = None
    ) -> Copies | None:
        """What steps with attention (B, Q, S) can copy, (B, Q, S), or (N, S) for the steps at `positions` (N,)."""
        source = memory.source if isinstance(memory, AttentionMemory) else None
        return None if source is None or attention is None else copies_of(source, attention, positions)

    def project(self, features: Tensor, copies: Copies | None = None) -> Tensor:
        """Features (…, F) and what can be copied (…, S) → logits (…, V); of a model that copies, log-probabilities."""
        if copies is None:
            assert not self.copying, "a model that copies needs to know what it can copy"
            logits: Tensor = self.vocabulary(features)
            return logits
        return mixture(self.vocabulary(features[..., :-1]), features[..., -1:], copies)

    def loss(
        self,
        batch: Batch,
        *,
        label_smoothing: float = 0.0,
        scheduled_sampling: ScheduledSampling = TEACHER_FORCING,
        token_fraction: float = 1.0,
        tokens_per_sentence: int = 0,
        guided_alignment: float = 0.0,
        risks: Risks | None = None,
    ) -> Loss:
        """As in the protocol; `total` includes the losses of hard attention and coverage."""
        memory = self.encode(batch.source, batch.source_lengths)
        inputs = batch.target_inputs
        if risks is not None:
            return self._risk(batch, memory, risks)
        if scheduled_sampling.probability > 0:
            inputs = mix_inputs(self, memory, inputs, scheduled_sampling)
        explores = self.baseline is not None and self.training and self._is_hard
        weighs = self.coverage_weight > 0 or self.doubly_stochastic_weight > 0
        guides = guided_alignment > 0 and batch.links is not None
        decoded = self._decode(memory, inputs, attention=explores or weighs or guides or self.copying)
        positions, labels, weights = batch.positions, batch.labels, None  # (N,) each
        if tokens_per_sentence or token_fraction < 1:
            if tokens_per_sentence:
                subset, weights = draw_words(batch.target_lengths, tokens_per_sentence)  # (M,), (M,)
                weights = weights.to(labels.device, torch.float32, non_blocking=True)
            else:
                subset = draw_share(batch.target_lengths, token_fraction)  # (M,)
            subset = subset.to(labels.device, non_blocking=True)
            positions, labels = positions.index_select(0, subset), labels.index_select(0, subset)  # (M,) each
        losses = torch.empty_like(labels, dtype=torch.float32) if explores else None  # (M,)
        total, cross_entropy, _ = chunked_cross_entropy(
            *self._outputs(memory, decoded, positions, labels),
            label_smoothing=label_smoothing,
            chunk_tokens=self.loss_chunk_tokens,
            losses=losses,
            token_weights=weights,
        )
        if token_fraction < 1:
            total, cross_entropy = total / token_fraction, cross_entropy / token_fraction
        if losses is not None:
            scale = 1 / token_fraction if weights is None else weights
            total = total + self._hard_attention_loss(batch, memory, decoded, losses, positions, scale)
        if weighs:
            total = total + self._attention_penalties(batch, memory, decoded)
        if guides:
            assert decoded.attention is not None
            assert batch.links is not None
            assert batch.link_weights is not None
            guided = guided_alignment_loss(decoded.attention, batch.links, batch.link_weights)
            total = total + guided_alignment * guided
        return Loss(total, cross_entropy, len(batch.labels))

    def _outputs(
        self, memory: Memory, decoded: Decoded, positions: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
        """What the cross-entropy of `labels` (N,) at `positions` (N,) depends on; padding is not projected."""
        features, u, a = decoded.features.flatten(0, 1).index_select(0, positions), None, None  # (N, F)
        copies = self.copies(decoded.attention, memory, positions)  # (N, S)
        if copies is not None:
            features, u, a = features[:, :-1], features[:, -1], copied_weight(copies, labels)
        return features, self.vocabulary.weight, self.vocabulary.bias, labels, u, a

    def _risk(self, batch: Batch, memory: Memory, risks: Risks) -> Loss:
        """The expected risk; the cross-entropy is that of the references.

        Its gradient is that of a weighted sum of log-probabilities, whose weights depend on the probabilities: they are
        computed first, from the same features.
        """
        decoded = self._decode(memory, batch.target_inputs, attention=self.copying)
        outputs = self._outputs(memory, decoded, batch.positions, batch.labels)
        exact = torch.promote_types(decoded.features.dtype, torch.float32)
        losses = torch.empty_like(batch.labels, dtype=exact)  # (N,) -log p of each token
        lengths = batch.target_lengths.to(batch.labels.device, non_blocking=True)
        row = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)  # (N,)
        options: Any = {"label_smoothing": 0.0, "chunk_tokens": self.loss_chunk_tokens}
        with torch.no_grad():
            chunked_cross_entropy(*outputs, losses=losses, **options)
            log_p = -losses.new_zeros(len(lengths)).index_add(0, row, losses)  # (R,)
            risk, weights = expected_risk(log_p, risks)
        weighted = chunked_cross_entropy(*outputs, token_weights=-weights[row], **options).total
        cross_entropy = -(log_p * risks.is_reference).sum()
        return Loss(weighted + (risk - weighted).detach(), cross_entropy, len(batch.labels))

    def _hard_attention_loss(
        self,
        batch: Batch,
        memory: Memory,
        decoded: Decoded,
        losses: Tensor,
        counted: Tensor,
        scale: float | Tensor,
    ) -> Tensor:
        assert decoded.attention is not None
        assert decoded.probabilities is not None
        assert self.baseline is not None
        return hard_attention_loss(
            decoded.attention,
            decoded.probabilities,
            losses,
            counted,
            batch.positions,
            baseline=self.baseline,
            scale=scale,
            entropy_weight=self.entropy_weight,
            expected=memory.expected if isinstance(memory, AttentionMemory) else None,
        )

    def _attention_penalties(self, batch: Batch, memory: Memory, decoded: Decoded) -> Tensor | float:
        """The losses of how attention is spread, each with its weight."""
        penalties: Tensor | float = 0.0
        if self.coverage_weight:
            assert decoded.attention is not None
            penalties = self.coverage_weight * coverage_loss(decoded.attention, batch.positions)
        if self.doubly_stochastic_weight:
            # Hard attention: of the probabilities, because a sampled position has no gradient.
            alpha = decoded.attention if decoded.probabilities is None else decoded.probabilities
            assert alpha is not None
            extra = doubly_stochastic_loss(alpha, batch.positions, cast(Any, memory).mask)
            penalties = penalties + self.doubly_stochastic_weight * extra
        return penalties

    def forward(self, batch: Batch, **options: Any) -> Loss:
        """`loss`, under the name that torch's wrappers call."""
        return self.loss(batch, **options)

    def empty_batch(self) -> Batch:
        """A batch without content, for a process that has none in this update."""
        batch = collate([[]], [[]])
        if isinstance(self.encoder, ImageEncoder | FrameEncoder):
            return batch._replace(source=self.encoder.blank())
        return batch

    @torch.no_grad()
    def learn_baseline(self, loss: Loss) -> None:
        """b ← 0.9 b + 0.1 mean log p(y_t), after the backward pass of `loss`   (Xu et al. 2015, section 4.1)"""
        if self.baseline is not None:
            reward = -loss.cross_entropy.to(self.baseline) / loss.tokens
            # An update skipped because it is not finite must not change the baseline either.
            self.baseline.lerp_(torch.where(reward.isfinite(), reward, self.baseline), 1 - BASELINE_DECAY)

    def start_softly(self, soft: bool) -> None:
        """A training mode: with `soft`, hard attention is soft attention as long as the model is in training mode."""
        if isinstance(self.decoder, AttentionDecoder):
            self.decoder.attention.soft_start = soft

    @property
    def _is_hard(self) -> bool:
        return isinstance(self.decoder, AttentionDecoder) and self.decoder.attention.is_hard

    def _decode(self, memory: Memory, inputs: Tensor, *, attention: bool) -> Decoded:
        return self.decoder.decode(memory, self._word_vectors(self.target_words, inputs), attention=attention)

    def _word_vectors(self, words: nn.Embedding, tokens: Tensor) -> Tensor:
        x: Tensor = self.input_dropout(self.word_dropout(words(tokens)))  # (B, S or T or K, E)
        return x


def build_encoder(config: ModelConfig) -> Encoder | TransformerEncoder | ImageEncoder | FrameEncoder | None:
    """The encoder that the settings need; a language model has none."""
    if config.reads_images:
        return ImageEncoder(config)
    if config.reads_frames:
        return FrameEncoder(config)
    if config.is_language_model:
        return None
    return TransformerEncoder(config) if config.cell == "transformer" else Encoder(config)


def build_decoder(config: ModelConfig) -> Decoder[Any, Any]:
    """The decoder that the settings need: a loop only where attention and recurrence depend on each other."""
    if config.cell == "transformer":
        return TransformerDecoder(config)
    if config.attention == "none":
        return PlainDecoder(config)
    if config.query == "before":
        return BahdanauDecoder(config)
    if config.input_feeding:
        return LuongFeedingDecoder(config)
    return GNMTDecoder(config) if config.attention_layer == "bottom" else LuongDecoder(config)


def build_model(
    config: ModelConfig,
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    *,
    shared: bool,
    generator: torch.Generator,
) -> Seq2Seq:
    """A model with initial weights drawn from `generator`; `shared`: both sides use one vocabulary."""
    model = blank_model(config, source_vocabulary_size, target_vocabulary_size, shared=shared)
    initialize(model, generator)
    return model


def blank_model(
    config: ModelConfig, source_vocabulary_size: int, target_vocabulary_size: int, *, shared: bool
) -> Seq2Seq:
    """A model whose weights will all be replaced: without `initialize`, which takes long for large matrices."""
    tying = config.tying(joint=shared)
    if tying == "all" and not shared:
        raise ConfigError(
            "model.tied_embeddings = all is incompatible with vocabulary.joint = false",
            hint="set model.tied_embeddings = decoder, or preprocess with vocabulary.joint = true",
        )
    if config.copying and not shared:
        raise ConfigError(
            "model.copying = true is incompatible with vocabulary.joint = false",
            hint="set model.copying = false, or preprocess with vocabulary.joint = true",
        )
    # Torch's own initialization must not advance the global generator.
    with torch.random.fork_rng(devices=[]):
        target_words = _words(target_vocabulary_size, config.embedding_size)
        source_words = target_words
        if tying != "all" and not config.is_language_model and config.source == "text":
            source_words = _words(source_vocabulary_size, config.embedding_size)
        return Seq2Seq(config, source_words, target_words, tied=tying != "none")


def _words(count: int, size: int) -> nn.Embedding:
    """Word vectors that will be initialized or loaded; torch's own draw would import its compiler on `meta`."""
    return nn.Embedding(count, size, padding_idx=PAD, _weight=torch.empty(count, size))


def expected_weights(
    config: ModelConfig, source_vocabulary_size: int, target_vocabulary_size: int, *, shared: bool
) -> dict[str, Tensor]:
    """Shape and type of every weight of a model, as tensors without memory."""
    with torch.device("meta"):
        model = blank_model(config, source_vocabulary_size, target_vocabulary_size, shared=shared)
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


# Initial weights, all drawn from one generator.


@torch.no_grad()
def initialize(model: Seq2Seq, generator: torch.Generator) -> None:
    """Initialize every weight of the model, in the order of its modules.

    recurrent weights     orthogonal, each gate separately                          (Saxe et al. 2014)
    convolutions          uniform in ±√(6 / fan_in)                                 (He et al. 2015)
    other matrices        uniform in ±√(6 / (fan_in + fan_out)), each gate too      (Glorot & Bengio 2010)
    word vectors          normal with standard deviation 1/√E; that of <pad> is 0
    biases                0, but 1 for the forget gate of an LSTM                   (Jozefowicz et al. 2015)

    Recurrent models of text and speech learn attention much sooner (docs/experiments.md) if word vectors start with
    2/√E, and the vocabulary, tied to them or not, with 2/√F.
    """
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            _initialize_recurrent(module, generator)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu", generator=generator)
            assert module.bias is not None
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm | nn.GroupNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
    for module in model.modules():  # last: a tied vocabulary projection shares these weights
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
            if module.padding_idx is not None:
                module.weight[PAD] = 0
    if isinstance(model.encoder, Encoder | FrameEncoder):
        vocabulary = model.vocabulary.weight
        if vocabulary is not model.target_words.weight:
            nn.init.normal_(vocabulary, std=vocabulary.shape[1] ** -0.5, generator=generator)
        for weight in {vocabulary, model.source_words.weight, model.target_words.weight}:
            weight.mul_(2)


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
