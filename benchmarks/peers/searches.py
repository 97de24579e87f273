"""Search of each system through its own model and its own code: ids in, ids out.

`SEARCHES[module](sizes, beam)` gives a function (source, lengths, steps) → number of sentences found. Weights are those
that a fresh model has. All translations are forced to `steps` tokens, so that every system does the same work.
"""

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from peers.batches import BOS, EOS, PAD

Search = Callable[[Tensor, Tensor, int], int]
UNK = 1


def ours(sizes: dict[str, int], beam: int, int8: bool = False, **settings: Any) -> Search:
    """Our search as `Translator` calls it."""
    from nmt_cli.config import SearchConfig
    from nmt_cli.search import ModelScorer, search
    from nmt_cli.search.leaving import ROWS
    from nmt_cli.translator.arranging import arrange
    from nmt_cli.translator.filling import widen
    from nmt_cli.translator.quantization import quantize

    model, _ = import_module("peers.ours").build(**sizes, **settings)
    model.eval()
    if int8:
        quantize(model)
    arrange(model)
    scorer = ModelScorer(model)

    @torch.inference_mode()
    def translate(source: Tensor, lengths: Tensor, steps: int) -> int:
        real, missing = len(source), max(0, ROWS - len(source)) if len(source) > 1 else 0
        source = widen(torch.cat([source, source[-1:].expand(missing, -1)]))
        lengths = torch.cat([lengths, lengths[-1:].expand(missing)])
        config = SearchConfig(beam_size=beam, min_length=steps, max_length=steps, max_length_ratio=None)
        memory = scorer.encode(source, lengths)
        found = search(scorer, memory, lengths, config, banned=(PAD, BOS), real=real, scores=False)
        return sum(len(hypotheses[0].tokens) == steps for hypotheses in found)

    return translate


def joey(sizes: dict[str, int], beam: int, **settings: Any) -> Search:
    """Joey NMT's `search`, greedy below a beam of 2."""
    model, _ = import_module("peers.joey").build(**sizes, **settings)
    model.eval()
    find = import_module("joeynmt.search").search

    def translate(source: Tensor, lengths: Tensor, steps: int) -> int:
        ids = source.masked_fill(source == PAD, 1)  # Joey NMT's padding
        batch = SimpleNamespace(
            src=ids, src_length=lengths, src_mask=(ids != 1)[:, None], has_trg=False, trg_prompt_mask=None
        )
        found, _, _ = find(model, batch, steps, beam, 1.0, min_output_length=steps, generate_unk=False)
        return len(found)

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

    def translate(source: Tensor, lengths: Tensor, steps: int) -> int:
        translator.min_length, translator.max_length = steps, steps + 1
        found = translator.translate_batch({"src": source[..., None], "srclen": lengths}, attn_debug=False)
        return len(found["predictions"])

    return translate


def fairseq_lstm(sizes: dict[str, int], beam: int, **settings: Any) -> Search:
    """fairseq's `SequenceGenerator`."""
    model, _ = import_module("peers.fairseq_lstm").build(**sizes, **settings)
    model.eval()
    generator = import_module("fairseq.sequence_generator").SequenceGenerator(
        [model], _Words(sizes["vocabulary"]), beam_size=beam, max_len=1000
    )

    def translate(source: Tensor, lengths: Tensor, steps: int) -> int:
        generator.min_len, generator.max_len_a, generator.max_len_b = steps, 0, steps
        found = generator.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
        return len(found)

    return translate


SEARCHES = {"ours": ours, "joey": joey, "opennmt_py": opennmt_py, "fairseq_lstm": fairseq_lstm}
