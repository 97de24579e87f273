"""The embedded recordings: numbers from 0 to 999 with their transcripts, "forty-two" or "one hundred seven".

Voices of espeak-ng speak them, at different speeds and pitches. Without espeak-ng, every word is a sequence of three
tones, again at different speeds and pitches, with pauses and noise: a language that nobody speaks, but with the same
task for a model. Tones depend on the seed alone.

No number is in two splits; single digits are in training only.
"""

import json
import shutil
import subprocess
import wave
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import OutputError, UsageError
from nmt_cli.files.atomic import new_directory
from nmt_cli.files.manifest import demo_refusal, write_manifest

UNITS = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS = (*UNITS, *TENS, "hundred")
SPLITS = ("train", "valid", "test")
MAX_RECORDINGS = 100_000
RATE = 16_000  # of tones
_HELD_OUT = 0.1  # of the numbers, for each of validation and test
_LARGEST_HELD_OUT = 300  # recordings of each; a small set gets a tenth of its size
_DIGITS = (0.1, 0.4, 0.5)  # how often a number has one, two or three

# Three different tones for each word.
_FREQUENCIES = tuple(300 * 1.35**step for step in range(8))  # Hz; pitches vary by less than their distance
_CODES = [code for code in product(range(8), repeat=3) if code[0] != code[1] != code[2]]
TONES = {word: _CODES[13 * number] for number, word in enumerate(WORDS)}

VOICES = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan")
VARIANTS = ("", "+m1", "+m2", "+m3", "+m4", "+m5", "+m6", "+m7", "+f1", "+f2", "+f3", "+f4", "+f5")


def spelled(number: int) -> str:
    """A number from 0 to 999 in words: forty-two, one hundred seven."""
    if number < 20:
        return UNITS[number]
    if number < 100:
        tens, rest = TENS[number // 10 - 2], number % 10
        return f"{tens}-{UNITS[rest]}" if rest else tens
    rest = number % 100
    return f"{UNITS[number // 100]} hundred" + (f" {spelled(rest)}" if rest else "")


def generate(size: int, *, seed: int = 1) -> dict[str, list[int]]:
    """`size` numbers for training, and a tenth of that, at most 300, for validation and for testing."""
    if not 1 <= size <= MAX_RECORDINGS:
        raise UsageError(f"cannot record {size} numbers", hint=f"choose a size from 1 to {MAX_RECORDINGS}")
    random = Random(f"nmt numbers {seed}")
    numbers = list(range(10, 1000))
    random.shuffle(numbers)
    held_out = round(_HELD_OUT * len(numbers))
    known = {"test": numbers[:held_out], "valid": numbers[held_out : 2 * held_out]}
    known["train"] = [*range(10), *numbers[2 * held_out :]]
    sizes = dict.fromkeys(SPLITS, max(1, min(_LARGEST_HELD_OUT, size // 10))) | {"train": size}
    return {split: _drawn(known[split], sizes[split], random) for split in SPLITS}


def _drawn(numbers: Sequence[int], size: int, random: Random) -> list[int]:
    """So many of these numbers, with one, two or three digits as often as `_DIGITS` says."""
    by_length = [[number for number in numbers if len(str(number)) == digits] for digits in (1, 2, 3)]
    weights = [weight if members else 0.0 for weight, members in zip(_DIGITS, by_length, strict=True)]
    return [random.choice(random.choices(by_length, weights)[0]) for _ in range(size)]


def write(
    out: Path, size: int, *, seed: int = 1, espeak: Path | None = None, overwrite: bool = False
) -> dict[str, list[int]]:
    """Write `train|valid|test.jsonl` and the recordings into the directory `out`, all or none; tones by default."""
    found = generate(size, seed=seed)
    with new_directory(out, overwrite=overwrite, refusal=demo_refusal) as building:
        (building / "audio").mkdir()
        for split, numbers in found.items():
            random = Random(f"nmt numbers {seed} {split}")
            names = [f"audio/{split}-{index:05}.wav" for index in range(1, len(numbers) + 1)]
            texts = [spelled(number) for number in numbers]
            paths = [building / name for name in names]
            if espeak is None:
                for path, text in zip(paths, texts, strict=True):
                    _save(path, tones(text, random))
            else:
                _speak(espeak, paths, texts, random)
            lines = (
                json.dumps({"audio": name, "text": text}) + "\n"
                for name, text in zip(names, texts, strict=True)
            )
            (building / f"{split}.jsonl").write_text("".join(lines), "utf-8", newline="\n")
        write_manifest(building, "demo")
    return found


# ------------------------------------------------------------------------------------------------------------
# Tones.


def tones(text: str, random: Random) -> NDArray[np.float64]:
    """The words of a text as tones, with samples from -1 to 1."""
    pitch, speed = random.uniform(0.93, 1.07), random.uniform(0.8, 1.25)
    overtone, loudness = random.uniform(0.0, 0.5), random.uniform(0.2, 0.6)
    parts = [_silence(random.uniform(0.03, 0.15))]
    for word in text.replace("-", " ").split():
        for code in TONES[word]:
            seconds = random.uniform(0.05, 0.07) / speed
            parts += [_tone(_FREQUENCIES[code] * pitch, seconds, overtone), _silence(0.01 / speed)]
        parts.append(_silence(random.uniform(0.02, 0.08) / speed))
    parts.append(_silence(random.uniform(0.03, 0.15)))
    samples = loudness * np.concatenate(parts)
    noise = np.frombuffer(random.randbytes(2 * len(samples)), "<i2") / 2**15
    mixed: NDArray[np.float64] = samples + random.uniform(0.001, 0.03) * noise
    return mixed


def _tone(frequency: float, seconds: float, overtone: float) -> NDArray[np.float64]:
    t = np.arange(round(seconds * RATE)) / RATE
    sound = np.sin(2 * np.pi * frequency * t) + overtone * np.sin(4 * np.pi * frequency * t)
    edge = np.clip(np.minimum(t, t[::-1]) / 0.005, 0, 1)  # 5 ms, so that it does not click
    shaped: NDArray[np.float64] = sound * edge / (1 + overtone)
    return shaped


def _silence(seconds: float) -> NDArray[np.float64]:
    return np.zeros(round(seconds * RATE))


def _save(path: Path, samples: NDArray[np.float64]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.round(samples * (2**15 - 1)).astype("<i2").tobytes())


# ------------------------------------------------------------------------------------------------------------
# Speech.


def espeak() -> Path | None:
    """The program espeak-ng, if it is installed."""
    found = shutil.which("espeak-ng")
    return Path(found) if found else None


def _speak(espeak: Path, paths: Sequence[Path], texts: Sequence[str], random: Random) -> None:
    commands = list(_commands(espeak, paths, texts, random))
    with ThreadPoolExecutor() as pool:
        for done in pool.map(lambda command: subprocess.run(command, capture_output=True), commands):
            if done.returncode:
                message = done.stderr.decode(errors="replace").strip().partition("\n")[0]
                raise OutputError(
                    f"espeak-ng failed: {message or done.returncode}",
                    hint="use --kind tones, which does not need it",
                )


def _commands(
    espeak: Path, paths: Sequence[Path], texts: Sequence[str], random: Random
) -> Iterator[list[str]]:
    for path, text in zip(paths, texts, strict=True):
        voice = random.choice(VOICES) + random.choice(VARIANTS)
        speed, pitch, gap = random.randint(130, 220), random.randint(25, 75), random.randint(0, 4)
        options = ["-v", voice, "-s", str(speed), "-p", str(pitch), "-g", str(gap), "-a", "100"]
        yield [str(espeak), *options, "-w", str(path), text]
