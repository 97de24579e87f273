"""Settings of the section `train`: batches, optimization, schedules, validation, checkpoints and stopping."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from nmt_cli.config.section import Section, default_of, incompatible, reject, setting


class TrainConfig(Section):
    """An update is one step of the optimizer; an epoch is one pass over the training set."""

    seed: int = setting(1, "random seed for initial weights, dropout, batch order and subword sampling", ge=0)
    batch_tokens: int = setting(
        512,
        "target tokens per batch, including `<eos>` and padding (sentences × longest); up to twice as many source "
        "tokens, where four frames of audio count as one",
        ge=1,
    )
    batch_sentences: int = setting(
        0, "sentence pairs per batch, instead of a token budget; 0: use batch_tokens", ge=0
    )
    pool_batches: int = setting(
        64, "batches per pool; sentences are shuffled, then sorted by length within each pool", ge=1
    )
    subword_sampling: float = setting(
        0.0,
        "subword regularization: BPE-dropout rate, or smoothing parameter α of unigram sampling (smaller is more "
        "random); 0: off",
        ge=0.0,
        le=1.0,
    )

    scheduled_sampling: float = setting(
        0.0,
        "maximum probability of feeding the decoder its own prediction instead of the reference; 0: teacher forcing",
        ge=0.0,
        le=1.0,
    )
    sampling_schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = setting(
        "linear", "how that probability grows over updates"
    )
    sampling_updates: int = setting(
        5000,
        "time scale k of that growth: u/k up to 1 (linear), 1 - e^{-u/k} (exponential), 1 - k/(k + e^{u/k}) "
        "(inverse_sigmoid)",
        ge=1,
    )
    sampled_word: Literal["best", "drawn"] = setting(
        "best", "prediction to feed: the most probable word, or one drawn from the predicted distribution"
    )
    loss_share: float = setting(
        1.0,
        "fraction of the target tokens, chosen at random, that the loss is computed on",
        gt=0.0,
        le=1.0,
    )
    loss_words: int = setting(
        0,
        "number of target tokens per sentence, chosen at random, that the loss is computed on; 0: all of them",
        ge=0,
    )

    objective: Literal["likelihood", "mrt"] = setting(
        "likelihood",
        "what is minimized: cross-entropy with the references, or the expected risk of the model's own translations "
        "(minimum risk training), which needs a trained model (--init)",
    )
    mrt_metric: Literal["bleu", "chrf"] = setting(
        "bleu", "mrt: sentence-level metric; the risk is 1 minus this, between 0 and 1"
    )
    mrt_samples: int = setting(8, "mrt: samples per sentence, in addition to the reference", ge=1, le=1000)
    mrt_sharpness: float = setting(
        0.005, "mrt: exponent α of the probabilities of candidates", gt=0.0, le=1000.0
    )

    guided_alignment: float = setting(
        0.0,
        "guided attention: weight of its cross-entropy with word alignments, those given to `nmt preprocess "
        "--alignments` or else those that an EM aligner finds in the training set; 0: off",
        ge=0.0,
        le=1000.0,
    )

    soft_updates: int = setting(
        0, "hard attention: updates at the beginning in which attention is soft", ge=0
    )

    accumulate: int = setting(1, "number of batches whose gradients are accumulated for one update", ge=1)
    optimizer: Literal["adam", "adamw", "sgd"] = setting("adam", "optimization algorithm")
    learning_rate: float = setting(4e-3, "peak learning rate, reached after warm-up", gt=0.0)
    adam_beta1: float = setting(0.9, "β₁ of adam and adamw", ge=0.0, lt=1.0)
    adam_beta2: float = setting(0.999, "β₂ of adam and adamw", ge=0.0, lt=1.0)
    momentum: float = setting(0.0, "momentum of sgd", ge=0.0, lt=1.0)
    weight_decay: float = setting(
        0.0, "weight decay: L2 penalty in the gradient, decoupled for adamw", ge=0.0
    )
    clip_norm: float = setting(1.0, "clip the gradient to this norm; 0: no clipping", ge=0.0)
    label_smoothing: float = setting(
        0.1, "label smoothing: probability mass spread over the vocabulary", ge=0.0, lt=1.0
    )

    schedule: Literal["constant", "inverse_sqrt", "cosine", "plateau", "step"] = setting(
        "cosine", "learning rate schedule after warm-up (step: per epoch, as in Luong et al. 2015)"
    )
    warmup_updates: int = setting(200, "updates of linear warm-up from 0", ge=0)
    decay_factor: float = setting(
        0.5, "plateau and step: factor applied to the learning rate at each decay", gt=0.0, lt=1.0
    )
    decay_patience: int = setting(
        2, "plateau: validations without improvement before the learning rate decays", ge=1
    )
    decay_after_epochs: int = setting(
        4, "step: epochs at the full learning rate; it decays in each later epoch", ge=0
    )
    final_rate: float = setting(
        0.01, "cosine and plateau: lower bound, as a fraction of the peak learning rate", ge=0.0, le=1.0
    )

    precision: Literal["auto", "fp32", "bf16", "fp16"] = setting(
        "auto", "precision of matrix products (auto: bf16 or fp16 on a GPU, fp32 on most CPUs)"
    )
    tf32: bool = setting(True, "allow TF32 on NVIDIA GPUs for fp32 matrix products")

    gradient_exchange: Literal["fp32", "bf16", "fp16"] = setting(
        "fp32",
        "several processes: precision in which gradients are exchanged; bf16 and fp16 halve the traffic",
    )
    bucket_megabytes: int = setting(
        25, "several processes: gradients are exchanged in parts of this size while backward continues", ge=1
    )

    ema_decay: float = setting(
        0.999,
        "decay of the exponential moving average of the weights, which is validated and saved; 0: off",
        ge=0.0,
        lt=1.0,
    )
    average_best: int = setting(
        3, "number of best checkpoints kept; their average becomes the model if it scores best", ge=1
    )

    metric: Literal["bleu", "chrf", "wer", "perplexity"] = setting(
        "bleu", "validation metric that selects the best model; wer: of recordings only"
    )
    patience: int = setting(
        8, "early stopping: validations without improvement before training stops; 0: off", ge=0
    )
    max_epochs: int = setting(6, "maximum number of epochs; 0: no limit", ge=0)
    max_updates: int = setting(0, "maximum number of updates; 0: no limit", ge=0)
    validate_every: int = setting(0, "updates between validations; 0: after every epoch", ge=0)
    validate_sentences: int = setting(
        2000, "validate BLEU and chrF on the first N validation pairs; 0: all", ge=0
    )
    validate_beam: int = setting(1, "beam size for validation; 1 is greedy search", ge=1)
    samples: int = setting(3, "sample translations shown at each validation", ge=0)
    save_every: int = setting(500, "updates between checkpoints; 0: only at validations", ge=0)
    log_every: int = setting(50, "updates between lines in metrics.jsonl", ge=1)

    @model_validator(mode="after")
    def _reject_contradictions(self) -> Self:
        reject(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.schedule == "cosine" and not self.max_updates and not self.max_epochs:
            yield (
                "train.schedule = cosine needs a limit, but train.max_updates and train.max_epochs are both 0; "
                "set one of them"
            )
        for name in ("sampling_schedule", "sampling_updates", "sampled_word"):
            if not self.scheduled_sampling and getattr(self, name) != default_of(self, name):
                yield (
                    f"train.{name} = {getattr(self, name)} has no effect with train.scheduled_sampling = 0; "
                    f"set train.scheduled_sampling = 0.25, or leave out train.{name}"
                )
        if self.loss_words and self.loss_share < 1:
            yield incompatible("train", self, "loss_words", "loss_share", "leave out one of them")
        yield from self._mrt_contradictions()
        if self.guided_alignment and self.subword_sampling:
            yield incompatible("train", self, "guided_alignment", "subword_sampling", "leave out one of them")
        if self.momentum and self.optimizer != "sgd":
            yield incompatible("train", self, "momentum", "optimizer", "set train.adam_beta1 instead")

    def _mrt_contradictions(self) -> Iterator[str]:
        if self.objective == "mrt":
            for name in ("scheduled_sampling", "loss_share", "loss_words", "guided_alignment"):
                if getattr(self, name) != default_of(self, name):
                    yield incompatible("train", self, name, "objective", f"leave out train.{name}")
            return
        for name in ("mrt_metric", "mrt_samples", "mrt_sharpness"):
            if getattr(self, name) != default_of(self, name):
                yield incompatible("train", self, name, "objective", "set train.objective = mrt")
