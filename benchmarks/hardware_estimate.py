"""The estimates of `nmt train --dry-run --on` against published figures: the table in docs/scaling.md.

python benchmarks/hardware_estimate.py

GNMT as in NVIDIA's DeepLearningExamples, PyTorch/Translation/GNMT (README, results of container 20.06): hidden size
1024, four layers a side, the first of the encoder with 1024 units in both directions, vocabulary of 32,320, updates of
1,024 pairs. Tokens are source and target tokens together; a pair is taken to have 24 of each.
"""

from nmt_cli.info.hardware import parse_hardware, update_time

H, V, PAIRS, LENGTH = 1024, 32320, 1024, 24
PUBLISHED = {  # tokens per second, by hardware and whether in half precision
    ("1×V100", False): 21_860,
    ("1×V100", True): 76_438,
    ("4×V100", True): 249_168,
    ("8×V100", True): 447_832,
    ("1×A100", False): 83_214,
    ("8×A100", False): 519_952,
    ("1×A100", True): 140_909,
    ("4×A100", True): 463_144,
    ("8×A100", True): 822_024,
}


def lstm(inputs: int) -> int:
    """Weights of a layer of H units."""
    return 4 * H * (inputs + H)


def main() -> None:
    """Print the rows."""
    encoder = 2 * lstm(H) + lstm(2 * H) + 2 * lstm(H)
    decoder = lstm(H) + 3 * lstm(2 * H)
    attention, output = 2 * H * H, V * H
    weights = encoder + decoder + attention + output
    # Forward, and twice as many backward; attention itself is small.
    operations = 3 * 2 * weights * PAIRS * LENGTH
    parameters = weights + V * H  # and the shared word vectors
    per_token = operations / (2 * PAIRS * LENGTH)
    print(f"{parameters / 1e6:.0f} million parameters, {per_token / 1e6:.0f} million operations per token")
    for (name, half), published in PUBLISHED.items():
        time = update_time(
            parse_hardware(name), operations=operations, kernels=0, parameters=parameters, half=half
        )
        estimate = 2 * PAIRS * LENGTH / time.total
        precision = "half" if half else "fp32 or TF32"
        print(f"| {name} | {precision} | {published:,} | {estimate:,.0f} | {estimate / published - 1:+.0%} |")


if __name__ == "__main__":
    main()
