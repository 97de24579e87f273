"""Settings of the section `train`: what training sees, how it learns, when it validates, saves and ends."""

from typing import Literal, Self

from pydantic import model_validator

from nmt_cli.config.section import Section, setting


class TrainConfig(Section):
    """How a model is trained. An update is a step of the optimizer, an epoch a pass over all pairs."""

    seed: int = setting(
        1, "decides initial weights, dropout, the order of batches and subword sampling", ge=0
    )
    batch_tokens: int = setting(
        1024, "target tokens of a batch, <eos> and padding included (rows × longest)", ge=1
    )
    batch_sentences: int = setting(0, "if not 0, sentence pairs of a batch, instead of a token budget", ge=0)
    pool_batches: int = setting(
        64, "batches of a pool: sentences are sorted by length within a shuffled pool", ge=1
    )
    subword_sampling: float = setting(
        0.0,
        "random splits of training text; bpe: share of merges left out; "
        "unigram: power of the splits' probabilities (small is wild); 0: none",
        ge=0.0,
        le=1.0,
    )

    scheduled_sampling: float = setting(
        0.0,
        "largest probability that the decoder is fed its own word instead of the right one; 0: teacher forcing",
        ge=0.0,
        le=1.0,
    )
    sampling_schedule: Literal["constant", "linear", "exponential", "inverse_sigmoid"] = setting(
        "linear", "how that probability grows with the updates"
    )
    sampling_updates: int = setting(
        5000,
        "scale k of that growth: it is whole after k updates (linear); 1 - e^{-u/k}; 1 - k/(k + e^{u/k})",
        ge=1,
    )
    sampled_word: Literal["best", "drawn"] = setting(
        "best", "its own word is the most probable one, or drawn from what it predicts"
    )
    loss_share: float = setting(
        1.0,
        "share of the target tokens of a sentence, drawn at random, that the loss is computed on",
        gt=0.0,
        le=1.0,
    )

    accumulate: int = setting(1, "batches whose gradients are added up for one update", ge=1)
    optimizer: Literal["adam", "adamw", "sgd"] = setting("adam", "how gradients become steps")
    learning_rate: float = setting(2e-3, "largest learning rate, after warm-up", gt=0.0)
    adam_beta1: float = setting(0.9, "decay of the mean of gradients, for adam and adamw", ge=0.0, lt=1.0)
    adam_beta2: float = setting(
        0.999, "decay of the mean of squared gradients, for adam and adamw", ge=0.0, lt=1.0
    )
    momentum: float = setting(0.0, "momentum of sgd", ge=0.0, lt=1.0)
    weight_decay: float = setting(
        0.0, "pull of the weights to 0: in the gradient, or beside it for adamw", ge=0.0
    )
    clip_norm: float = setting(1.0, "gradients with a larger norm are scaled down to it; 0: never", ge=0.0)
    label_smoothing: float = setting(
        0.1, "share of probability spread over all words in the loss", ge=0.0, lt=1.0
    )

    schedule: Literal["constant", "inverse_sqrt", "cosine", "plateau", "step"] = setting(
        "cosine", "how the learning rate goes on after warm-up (step: Luong's)"
    )
    warmup_updates: int = setting(200, "updates in which the learning rate grows from 0", ge=0)
    decay_factor: float = setting(
        0.5, "plateau and step: what the learning rate is multiplied by", gt=0.0, lt=1.0
    )
    decay_patience: int = setting(2, "plateau: validations without a better score before it decays", ge=1)
    decay_after_epochs: int = setting(
        8, "step: epochs with the full learning rate; it decays at each later one", ge=0
    )
    final_rate: float = setting(
        0.01, "cosine and plateau: smallest share of the learning rate", ge=0.0, le=1.0
    )

    precision: Literal["auto", "fp32", "bf16", "fp16"] = setting(
        "auto", "number format of matrix products (auto: bf16 or fp16 on a GPU, fp32 on most CPUs)"
    )
    tf32: bool = setting(True, "allow TF32 products on NVIDIA GPUs where the precision is fp32")

    ema_decay: float = setting(
        0.999, "decay of the moving average of the weights that is used; 0: none", ge=0.0, lt=1.0
    )
    average_best: int = setting(
        3, "best checkpoints that are kept; their mean is the model if it scores best", ge=1
    )

    metric: Literal["bleu", "chrf", "perplexity"] = setting(
        "bleu", "validation score that decides which model is best"
    )
    patience: int = setting(8, "validations without a better score before training ends; 0: never", ge=0)
    max_epochs: int = setting(10, "epochs after which training ends; 0: no limit", ge=0)
    max_updates: int = setting(0, "updates after which training ends; 0: no limit", ge=0)
    validate_every: int = setting(0, "updates from one validation to the next; 0: each epoch", ge=0)
    validate_sentences: int = setting(
        2000, "first validation pairs that are translated for BLEU; 0: all", ge=0
    )
    validate_beam: int = setting(1, "beam size of that translation; 1 is greedy search", ge=1)
    samples: int = setting(3, "validation sentences whose translations are shown each time", ge=0)
    save_every: int = setting(
        500, "updates from one checkpoint to the next; 0: at each validation only", ge=0
    )
    log_every: int = setting(50, "updates from one line of metrics.jsonl to the next", ge=1)

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        contradictions = []
        if self.schedule == "cosine" and not self.max_updates and not self.max_epochs:
            contradictions.append(
                "train.schedule = cosine contradicts train.max_updates = 0 with train.max_epochs = 0; "
                "set one of them"
            )
        for name in ("sampling_schedule", "sampling_updates", "sampled_word"):
            value = getattr(self, name)
            if not self.scheduled_sampling and value != type(self).model_fields[name].default:
                contradictions.append(
                    f"train.{name} = {value} contradicts train.scheduled_sampling = 0, which never samples; "
                    f"set train.scheduled_sampling = 0.25, or leave out train.{name}"
                )
        if self.momentum and self.optimizer != "sgd":
            contradictions.append(
                f"train.momentum = {self.momentum} contradicts train.optimizer = {self.optimizer}; "
                "set train.adam_beta1"
            )
        if contradictions:
            raise ValueError("; ".join(contradictions))
        return self
