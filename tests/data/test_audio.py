"""Recordings: every kind of WAV file, resampling, log-mel frames and transcripts; a bad file is named."""

import json
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nmt_cli.corpus.transcripts import parse_transcript_spec, read_transcripts
from nmt_cli.data.audio import MAX_SAMPLES, AudioReader, read_wav, resample
from nmt_cli.data.log_mel import log_mel, mel_filters, sizes
from nmt_cli.errors import CorpusError, NmtError, UsageError

RATE = 16_000
FLOAT, EXTENSIBLE = 3, 0xFFFE


def tone(seconds: float = 0.1, rate: int = RATE, frequency: float = 440.0) -> NDArray[np.float32]:
    t = np.arange(round(seconds * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * frequency * t)).astype(np.float32)


def wav(
    content: bytes,
    *,
    code: int = 1,
    bits: int = 16,
    channels: int = 1,
    rate: int = RATE,
    size: int | None = None,
) -> bytes:
    """A WAV file, written out; `size` is what it says of the length of its audio."""
    block = channels * bits // 8
    start = struct.pack("<HHIIHH", code, channels, rate, rate * block, block, bits)
    if code == EXTENSIBLE:
        start += struct.pack("<HHIH", 22, bits, 0, 1) + b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"
    data = struct.pack("<I", len(content) if size is None else size) + content
    body = b"WAVEfmt " + struct.pack("<I", len(start)) + start + b"LIST\x03\0\0\0abc\0data" + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pcm(samples: NDArray[Any], bits: int) -> bytes:
    """Integers of 8 (unsigned), 16, 24 or 32 bits."""
    values = np.round(samples.astype(np.float64) * (2 ** (bits - 1) - 1)).astype(np.int64)
    if bits == 8:
        return bytes((values + 128).astype(np.uint8))
    return b"".join(int(value).to_bytes(bits // 8, "little", signed=True) for value in values)


HANDLED: dict[str, tuple[Callable[[], bytes], float]] = {
    "8 bits": (lambda: wav(pcm(tone(), 8), bits=8), 1e-2),
    "16 bits": (lambda: wav(pcm(tone(), 16)), 1e-4),
    "24 bits": (lambda: wav(pcm(tone(), 24), bits=24), 1e-6),
    "32 bits": (lambda: wav(pcm(tone(), 32), bits=32), 1e-7),
    "float": (lambda: wav(tone().astype("<f4").tobytes(), code=FLOAT, bits=32), 1e-7),
    "double": (lambda: wav(tone().astype("<f8").tobytes(), code=FLOAT, bits=64), 1e-7),
    "extensible": (lambda: wav(pcm(tone(), 24), code=EXTENSIBLE, bits=24), 1e-6),
    "stereo": (
        lambda: wav(pcm(np.repeat(tone(), 2) * np.tile([1.5, 0.5], 1600).astype(np.float32), 16), channels=2),
        1e-4,
    ),
    "streamed": (lambda: wav(pcm(tone(), 16), size=0xFFFFFFFF), 1e-4),
}


@pytest.mark.parametrize("kind", HANDLED)
def test_every_kind_of_wav_file_gives_the_same_samples(tmp_path: Path, kind: str) -> None:
    make, tolerance = HANDLED[kind]
    (tmp_path / "a.wav").write_bytes(make())
    np.testing.assert_allclose(read_wav(tmp_path / "a.wav", RATE), tone(), atol=tolerance)


def test_a_file_of_the_standard_library_is_read(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm(tone(), 16))
    np.testing.assert_allclose(read_wav(tmp_path / "a.wav", RATE), tone(), atol=1e-4)


REFUSED: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "does not exist"),
    "empty": (b"", "is empty"),
    "text": (b"hello, this is not audio", "is not a WAV file"),
    "flac": (b"fLaC" + bytes(40), "is FLAC, not WAV"),
    "mp3": (b"ID3" + bytes(40), "is MP3, not WAV"),
    "ogg": (b"OggS" + bytes(40), "is Ogg, not WAV"),
    "truncated": (wav(pcm(tone(), 16))[:-100], "is truncated: 3,100 of 3,200 bytes"),
    "no audio": (wav(b"")[:36], "is truncated: it has no audio"),
    "no format": (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "it has no fmt chunk"),
    "no samples": (wav(b""), "has no samples"),
    "μ-law": (wav(bytes(80), code=7, bits=8), "is compressed (WAV format 7)"),
    "12 bits": (wav(bytes(80), bits=12), "has 1 channels of 12 bits at 16,000 Hz"),
    "no channels": (wav(bytes(80), channels=0), "has 0 channels"),
    "rate 0": (wav(bytes(80), rate=0), "at 0 Hz"),
    "not finite": (
        wav(np.array([0, np.nan], "<f4").tobytes(), code=FLOAT, bits=32),
        "has samples that are not finite",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, kind: str) -> None:
    content, message = REFUSED[kind]
    path = tmp_path / "a.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError) as error:
        read_wav(path, RATE)
    assert error.value.message.startswith(f"{path} ")
    assert message in error.value.message
    assert error.value.hint


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with path.open("wb") as file:
        file.write(wav(b"", size=2 * (MAX_SAMPLES + 1)))
        file.truncate(2 * MAX_SAMPLES + 100)  # a hole
    with pytest.raises(CorpusError, match=r"has 30,000,001 samples \(1,875 s\)"):
        read_wav(path, RATE)


@pytest.mark.parametrize("rate", [8000, 11_025, 22_050, 44_100, 48_000])
def test_resampling_keeps_what_both_rates_can_represent_and_removes_the_rest(rate: int) -> None:
    resampled = resample(tone(1.0, rate), rate, RATE)
    assert len(resampled) == RATE
    np.testing.assert_allclose(resampled[200:-200], tone(1.0)[200:-200], atol=1e-4)
    if rate > 2 * 8200:  # a tone that would come back at another frequency
        assert abs(resample(tone(1.0, rate, 8200), rate, RATE))[200:-200].max() < 1e-4


# ------------------------------------------------------------------------------------------------------------
# Log-mel frames.


def naive_log_mel(samples: NDArray[np.float32], rate: int, bands: int) -> NDArray[np.float64]:
    """Written out, without torch: one frame, one frequency, one band at a time."""
    window, hop = round(0.025 * rate), round(0.01 * rate)
    points = 1
    while points < 2 * window:
        points *= 2
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    around = np.concatenate([np.zeros(points // 2), samples.astype(np.float64), np.zeros(points)])
    highest = 2595 * np.log10(1 + rate / 2 / 700)
    corners = [700 * (10 ** (highest * at / (bands + 1) / 2595) - 1) for at in range(bands + 2)]
    frames = []
    for t in range(len(samples) // hop + 1):
        start = t * hop + (points - window) // 2
        power = abs(np.fft.rfft(around[start : start + window] * hann, points)) ** 2
        energies = []
        for b in range(bands):
            low, center, high = corners[b : b + 3]
            total = 0.0
            for k, value in enumerate(power):
                f = k * rate / points
                if low < f <= center:
                    total += value * (f - low) / (center - low)
                elif center < f < high:
                    total += value * (high - f) / (high - center)
            energies.append(np.log(total + 1e-8))
        frames.append(energies)
    y: NDArray[np.float64] = np.array(frames)
    z: NDArray[np.float64] = (y - y.mean(axis=0)) / (y.std(axis=0) + 1e-3)
    return z


@pytest.mark.parametrize(("rate", "bands"), [(16_000, 40), (16_000, 80), (8000, 40)])
def test_log_mel_equals_a_naive_version(rate: int, bands: int) -> None:
    samples = tone(0.2, rate) + np.random.default_rng(1).normal(0, 0.01, round(0.2 * rate)).astype(np.float32)
    found = log_mel(samples, rate, bands)
    assert found.shape == (21, bands)
    np.testing.assert_allclose(found, naive_log_mel(samples, rate, bands), atol=1e-5)


@pytest.mark.parametrize("rate", [8000, 16_000, 22_050, 48_000])
@pytest.mark.parametrize("bands", [8, 40, 80, 128])
def test_mel_filters_cover_every_frequency_and_none_is_empty(rate: int, bands: int) -> None:
    _, _, points = sizes(rate)
    M = mel_filters(rate, points, bands)
    assert M.shape == (bands, points // 2 + 1)
    assert (M.sum(axis=1) > 0).all()
    assert ((M >= 0) & (M <= 1)).all()
    centers = M.argmax(axis=1)
    inside = slice(centers[0] + 1, centers[-1])
    np.testing.assert_allclose(M[:, inside].sum(axis=0), 1)
    assert (np.diff(centers) >= 0).all()


def test_a_tone_is_loud_in_its_band_and_silence_is_0() -> None:
    samples = np.concatenate([np.zeros(RATE // 2, np.float32), tone(0.5, frequency=1000.0)])
    frames = log_mel(samples, RATE, 40)
    _, _, points = sizes(RATE)
    band = int(mel_filters(RATE, points, 40)[:, round(1000 * points / RATE)].argmax())
    assert frames[60:95, band].min() > 0.5 > -0.5 > frames[:45, band].max()
    assert not log_mel(np.zeros(4000, np.float32), RATE, 40).any()
    noisy = samples + np.random.default_rng(1).normal(0, 0.01, len(samples)).astype(np.float32)
    quiet = (noisy / 8).astype(np.float32)
    assert abs(log_mel(quiet, RATE, 40) - log_mel(noisy, RATE, 40)).max() < 1e-3
    assert log_mel(samples[:1], RATE, 40).shape == (1, 40)


# ------------------------------------------------------------------------------------------------------------
# Transcripts.


def librispeech(folder: Path) -> None:
    (folder / "84" / "1").mkdir(parents=True)
    (folder / "84" / "1" / "84-1.trans.txt").write_text("84-1-0000 GO DO YOU HEAR\n84-1-0001 BUT NO\n")
    for name in ("84-1-0000.wav", "84-1-0001.flac"):
        (folder / "84" / "1" / name).write_bytes(wav(pcm(tone(), 16)))


FORMATS: dict[str, Callable[[Path], Any]] = {
    "x.jsonl": lambda path: path.write_text(
        '{"audio": "84-1-0000", "text": "GO DO YOU HEAR"}\n\n{"audio": "84-1-0001", "text": "BUT  NO"}\n'
    ),
    "nemo.jsonl": lambda path: path.write_text(
        '{"audio_filepath": "84-1-0000", "duration": 1.0, "text": "GO DO YOU HEAR"}\n'
        '{"audio_filepath": "84-1-0001", "duration": 1.0, "text": "BUT NO"}\n'
    ),
    "train.tsv": lambda path: path.write_text(
        "client_id\tpath\tsentence\tup_votes\na\t84-1-0000\tGO DO YOU HEAR\t2\nb\t84-1-0001\tBUT NO\t2\n"
    ),
    "x.csv": lambda path: path.write_text('file,text\n84-1-0000,"GO DO YOU HEAR"\n84-1-0001,BUT NO\n'),
    "LibriSpeech": librispeech,
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_gives_each_recording_with_its_transcript(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name)
    spec = parse_transcript_spec(f"{tmp_path / name}@weight=2")
    assert spec.weight == 2
    found = list(read_transcripts(spec))
    assert {item.name: item.texts for item in found} == {
        "84-1-0000": ("GO DO YOU HEAR",),
        "84-1-0001": ("BUT NO",),
    }
    if name == "LibriSpeech":
        assert [item.path and item.path.name for item in found] == ["84-1-0000.wav", "84-1-0001.flac"]


def test_a_quotation_mark_in_common_voice_is_a_quotation_mark(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text('path\tsentence\na.mp3\t"Yes," she said.\nb.mp3\tA "quoted word\n')
    found = list(read_transcripts(parse_transcript_spec(str(tmp_path / "x.tsv"))))
    assert [item.texts[0] for item in found] == ['"Yes," she said.', 'A "quoted word']


def test_a_converted_file_stands_for_the_compressed_one(tmp_path: Path) -> None:
    (tmp_path / "a.mp3").write_bytes(b"ID3")
    reader = AudioReader([tmp_path], RATE, 40)
    with pytest.raises(CorpusError, match="is MP3, not WAV"):
        reader.read(reader.find("a.mp3"))
    (tmp_path / "a.wav").write_bytes(wav(pcm(tone(), 16)))
    assert reader.read(reader.find("a.mp3")).shape == (11, 40)


def test_a_dot_in_a_name_is_part_of_it(tmp_path: Path) -> None:
    for name in ("s1.wav", "s1.utt2.wav", "plain"):
        (tmp_path / name).touch()
    reader = AudioReader([tmp_path], RATE, 40)
    assert reader.find("s1.utt2").name == "s1.utt2.wav"
    assert reader.find("s1").name == reader.find("s1.wav").name == reader.find("s1.FLAC").name == "s1.wav"
    assert reader.find("plain").name == "plain"
    with pytest.raises(CorpusError, match=r"s1\.utt3 is not in"):
        reader.find("s1.utt3")


def test_a_name_that_two_folders_have_is_ambiguous(tmp_path: Path) -> None:
    for folder in ("A", "B"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.wav").touch()
    reader = AudioReader([tmp_path / "A", tmp_path / "B"], RATE, 40)
    with pytest.raises(UsageError, match=r"1\.wav is in both .*A and .*B") as error:
        reader.find("1.wav")
    assert "relative to a common parent folder" in error.value.hint
    assert AudioReader([tmp_path / "A", tmp_path / "A"], RATE, 40).find("1.mp3") == tmp_path / "A" / "1.wav"
    (tmp_path / "A" / "2.mp3").touch()
    (tmp_path / "B" / "2.wav").touch()
    assert reader.find("2.mp3") == tmp_path / "B" / "2.wav"


@pytest.mark.parametrize("name", ["/", "a\0b.wav", 300 * "a", f"{300 * 'a'}.mp3", "..", "."])
def test_a_name_that_no_file_can_have_is_an_error(tmp_path: Path, name: str) -> None:
    reader = AudioReader([tmp_path], RATE, 40)
    with pytest.raises(CorpusError, match="is not in"):
        reader.find(name)
    with pytest.raises(CorpusError):
        reader.read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", '{"audio": 1, "text": "a"}\n', "line 1 is not a recording with its transcript"),
        ("x.jsonl", '{"audio": "a.wav"}\n', "line 1 is not a recording with its transcript"),
        ("x.jsonl", '["a.wav", "a"]\n', "line 1 is not a recording with its transcript"),
        ("x.jsonl", "nonsense\n", "line 1 is not a recording with its transcript"),
        ("x.jsonl", 2 * '{"audio": "a.wav", "text": "a"}\n', "two transcripts of a.wav, in lines 1 and 2"),
        ("x.tsv", "a\tb\n1\t2\n", "has no columns for recordings and transcripts"),
        ("x.tsv", "path\tsentence\na.wav\n", "row 2 has 1 columns"),
        ("x.tsv", "path\tsentence\na.wav\ta\n \tb\n", "row 3 names no recording"),
        ("x.txt", "a", "is not a known format of transcripts"),
    ],
)
def test_a_file_that_has_no_transcripts_is_an_error(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(NmtError) as error:
        list(read_transcripts(parse_transcript_spec(str(tmp_path / name))))
    assert message in error.value.message


@pytest.mark.parametrize("spec", ["hf:librispeech_asr", "nowhere.jsonl", "@weight=2"])
def test_a_spec_without_files_is_a_usage_error(spec: str) -> None:
    with pytest.raises((UsageError, CorpusError)):
        parse_transcript_spec(spec)


def test_a_folder_without_transcripts_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({}))
    with pytest.raises(CorpusError, match=r"has no \*\.trans\.txt"):
        list(read_transcripts(parse_transcript_spec(str(tmp_path))))
