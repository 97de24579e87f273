"""Into how many graphs `--compile` cuts the loss of each preset, and why: the table in docs/gpu.md.

python benchmarks/graph_breaks.py
"""

import logging
import time
import warnings

import torch
import torch._dynamo

from nmt_cli.config import (
    CAPTION_PRESETS,
    LANGUAGE_MODEL_PRESETS,
    SPEECH_PRESETS,
    TRANSLATION_PRESETS,
    ModelConfig,
)
from nmt_cli.data.batches import collate
from nmt_cli.model import build_model


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    sentences = [[4 + (7 * row + position) % 40 for position in range(10)] for row in range(3)]
    text = collate(sentences, sentences)
    captions = text._replace(source=torch.zeros(3, 48, 48, 3, dtype=torch.uint8))
    speech = text._replace(source=torch.zeros(3, 88, 40), source_lengths=8 * text.source_lengths)
    print(
        "| preset | graphs | graph breaks | CPU s | reasons |\n| --- | ---: | ---: | ---: | --- |", flush=True
    )
    for preset in (*TRANSLATION_PRESETS, *LANGUAGE_MODEL_PRESETS, *CAPTION_PRESETS, *SPEECH_PRESETS):
        batch = captions if preset in CAPTION_PRESETS else speech if preset in SPEECH_PRESETS else text
        config = ModelConfig.from_preset(preset, embedding_size=16, hidden_size=16)
        model = build_model(config, 50, 50, shared=True, generator=torch.Generator().manual_seed(1)).train()
        torch._dynamo.reset()
        start = time.process_time()
        try:
            found = torch._dynamo.explain(model)(batch, label_smoothing=0.1)
        except Exception as error:
            print(
                f"| `{preset}` | | | | {type(error).__name__}: {str(error).partition(chr(10))[0]} |",
                flush=True,
            )
            continue
        seconds = time.process_time() - start
        reasons = sorted({reason.reason.partition("\n")[0] for reason in found.break_reasons})
        row = [
            f"`{preset}`",
            found.graph_count,
            found.graph_break_count,
            f"{seconds:.0f}",
            "; ".join(reasons),
        ]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
