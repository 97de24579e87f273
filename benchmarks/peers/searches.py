"""Search of each system through its own model and its own code: ids in, ids out.

`SEARCHES[module](sizes, beam)` gives a function (source, lengths) → how many tokens each translation has. Weights
are those that a fresh model has, so nothing would end by itself: `Ending` makes every translation as long as its
source, by the logit of <eos> alone. What a system does with a finished sentence is its own affair, as when it
translates for real.
"""

import math
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from peers.batches import BOS, EOS, PAD

Search = Callable[[Tensor, Tensor], list[int]]
UNK = 1
_SURE = 1e4  # a logit that decides everything


class Ending:
    """Says <eos> where a translation is as long as its source; a system's own model tells it step and lengths."""

    def __init__(self) -> None:
        self.step = 0

    def begin(self) -> None:
        """New sentences are encoded."""
        self.step = 0

    def decide(self, logits: Tensor, lengths: Tensor) -> Tensor:
        """Logits (N, …, V) of one step, overwritten; sources of `lengths` (N,), with <eos>."""
        self.step += 1
        sure = torch.where(lengths <= self.step, _SURE, -_SURE)  # (N,)
        logits[..., EOS] = sure.view(-1, *(1 for _ in logits.shape[2:]))
        return logits


def ours(sizes: dict[str, int], beam: int, int8: bool = False, **settings: Any) -> Search:
    """Our search as `Translator` calls it."""
    from nmt_cli.config import SearchConfig
    from nmt_cli.model.fast.step_layout import prepare_for_search
    from nmt_cli.search import ModelScorer, search
    from nmt_cli.search.stopping import MIN_ROWS, pad_positions

    model, _ = import_module("peers.ours").build(**sizes, **settings)
    model.eval()
    prepare_for_search(model, int8=int8)
    ending = Ending()

    class Scorer(ModelScorer):  # type: ignore[type-arg]
        """The model with lengths that are known."""

        def step(self, tokens: Tensor, state: Any, memory: Any) -> tuple[Tensor, Any, Tensor | None]:
            logits, state, attention = super().step(tokens, state, memory)
            return ending.decide(logits, memory.mask.sum(dim=1)), state, attention

    scorer = Scorer(model)

    def translate(source: Tensor, lengths: Tensor) -> list[int]:
        real, missing = len(source), max(0, MIN_ROWS - len(source)) if len(source) > 1 else 0
        source = pad_positions(torch.cat([source, source[-1:].expand(missing, -1)]))
        lengths = torch.cat([lengths, lengths[-1:].expand(missing)])
        config = SearchConfig(beam_size=beam, max_length=1000, max_length_ratio=None)
        ending.begin()
        memory = scorer.encode(source, lengths)
        found = search(scorer, memory, lengths, config, banned=(PAD, BOS), real=real, scores=False)
        return [len(hypotheses[0].tokens) for hypotheses in found]

    return translate


def exported(sizes: dict[str, int], beam: int, folder: str) -> Search:
    """The runtime on an exported model, which has to have the sizes of the others."""
    from nmt_cli.runtime.folder import SearchSettings
    from nmt_cli.runtime.model import Model
    from nmt_cli.runtime.search import search

    model = Model(Path(folder), threads=torch.get_num_threads())
    assert len(model.target.pieces) == sizes["vocabulary"]
    settings = SearchSettings(beam_size=beam, max_length=1000, max_length_ratio=None)

    def translate(source: Tensor, lengths: Tensor) -> list[int]:
        rows = [ids[: length - 1] for ids, length in zip(source.tolist(), lengths.tolist(), strict=True)]
        decoder = KnownLengths(model.encode(rows))
        found = search(decoder, decoder.lengths, settings, banned=model.target.banned)
        return [len(hypotheses[0].tokens) for hypotheses in found]

    return translate


class KnownLengths:
    """A decoder of the runtime that ends a translation when it is as long as its source; compare `Ending`."""

    def __init__(self, decoder: Any) -> None:
        self.ids, self.lengths, self._decoder = decoder.ids, decoder.lengths, decoder
        self._left = decoder.lengths - 1  # tokens that each sentence still needs
        self._eos = int(decoder.ids.searchsorted(EOS))

    def step(self, tokens: Any, parents: Any, scores: Any, exclude: Any, count: int) -> Any:
        """A step after which <eos> follows for certain, or not at all."""
        exclude = exclude + 0.0 * self._left[:, None].astype("f")  # (B, N)
        exclude[:, self._eos] = -math.inf
        ends = self._left <= 0
        exclude[ends], exclude[ends, self._eos] = -math.inf, 0.0
        self._left = self._left - 1
        return self._decoder.step(tokens, parents, scores, exclude, count)

    def select(self, rows: Any) -> None:
        """Continue with these sentences only."""
        self._left = self._left[rows]
        self._decoder.select(rows)


def joey(sizes: dict[str, int], beam: int, **settings: Any) -> Search:
    """Joey NMT's `search`, greedy below a beam of 2."""
    model, _ = import_module("peers.joey").build(**sizes, **settings)
    model.eval()
    find = import_module("joeynmt.search").search
    ending = Ending()

    def decode(original: Any, *given: Any, src_mask: Tensor, **named: Any) -> Any:
        logits, *rest = original(*given, src_mask=src_mask, **named)
        return ending.decide(logits, src_mask.sum(dim=(1, 2))), *rest

    _around(model.decoder, decode)

    def translate(source: Tensor, lengths: Tensor) -> list[int]:
        ids = source.masked_fill(source == PAD, 1)  # Joey NMT's padding
        batch = SimpleNamespace(
            src=ids, src_length=lengths, src_mask=(ids != 1)[:, None], has_trg=False, trg_prompt_mask=None
        )
        ending.begin()
        longest = int(lengths.max()) + 1
        found, _, _ = find(model, batch, longest, beam, 1.0, min_output_length=0, generate_unk=False)
        return [_length(row) for row in found.tolist()]

    return translate


class _Words:
    """As much of a vocabulary as OpenNMT-py's translator and fairseq's generator ask for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def lookup_token(self, token: str) -> int:
        """The id of a reserved token."""
        return {"<s>": BOS, "</s>": EOS, "<blank>": PAD}.get(token, UNK)

    def pad(self) -> int:
        """The id of padding."""
        return PAD

    def unk(self) -> int:
        """The id of unknown words."""
        return UNK

    def eos(self) -> int:
        """The id of the end."""
        return EOS


def opennmt_py(sizes: dict[str, int], beam: int, **settings: Any) -> Search:
    """OpenNMT-py's `Translator.translate_batch`."""
    model, _ = import_module("peers.opennmt_py").build(**sizes, **settings)
    model.eval()
    scorer = import_module("onmt.translate").GNMTGlobalScorer(
        alpha=1.0, beta=0.0, length_penalty="avg", coverage_penalty="none"
    )
    translator = import_module("onmt.translate.translator").Translator(
        model,
        {"tgt": _Words(sizes["vocabulary"]), "decoder_start_token": "<s>"},
        beam_size=beam,
        max_length_ratio=0,
        global_scorer=scorer,
        dump_beam="",
    )
    ending, seen = Ending(), list[Tensor]()

    def decode(original: Any, *given: Any, src_len: Tensor, **named: Any) -> Any:
        seen[:] = [src_len]
        return original(*given, src_len=src_len, **named)

    def generate(original: Any, features: Tensor) -> Tensor:
        return ending.decide(original(features), seen[0])

    _around(model.decoder, decode)
    _around(model.generator, generate)

    def translate(source: Tensor, lengths: Tensor) -> list[int]:
        translator.max_length = int(lengths.max()) + 1
        ending.begin()
        found = translator.translate_batch({"src": source[..., None], "srclen": lengths}, attn_debug=False)
        return [_length(best[0].tolist()) for best in found["predictions"]]

    return translate


def fairseq_lstm(sizes: dict[str, int], beam: int, **settings: Any) -> Search:
    """fairseq's `SequenceGenerator`."""
    model, _ = import_module("peers.fairseq_lstm").build(**sizes, **settings)
    model.eval()
    generator = import_module("fairseq.sequence_generator").SequenceGenerator(
        [model], _Words(sizes["vocabulary"]), beam_size=beam, max_len=1000
    )
    ending = Ending()

    def decode(original: Any, *given: Any, encoder_out: Any, **named: Any) -> Any:
        logits, attention = original(*given, encoder_out=encoder_out, **named)
        return ending.decide(logits, (~encoder_out[3]).sum(dim=0)), attention

    _around(model.decoder, decode)

    def translate(source: Tensor, lengths: Tensor) -> list[int]:
        generator.max_len_a, generator.max_len_b = 0, int(lengths.max()) + 1
        ending.begin()
        found = generator.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
        return [_length(best[0]["tokens"].tolist()) for best in found]

    return translate


def _around(module: Any, function: Callable[..., Any]) -> None:
    """Let `function` be called in place of the module, with the module's own `forward` as its first argument."""
    original = module.forward
    module.forward = lambda *given, **named: function(original, *given, **named)


def _length(tokens: Iterable[int]) -> int:
    """How many tokens there are before <eos>."""
    tokens = list(tokens)
    return tokens.index(EOS) if EOS in tokens else len(tokens)


SEARCHES: dict[str, Callable[..., Search]] = {
    "ours": ours,
    "exported": exported,
    "joey": joey,
    "opennmt_py": opennmt_py,
    "fairseq_lstm": fairseq_lstm,
}
