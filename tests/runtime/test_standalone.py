"""The exported folder on its own: no torch, no nmt, three packages."""

import importlib.util
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from nmt_cli import Translator
from nmt_cli.export.folder import REQUIREMENTS, runtime_script
from tests.conftest import REPOSITORY
from tests.translator.runs import LINES

HOSTILE = (
    b"\xef\xbb\xbfba de.\r\n\nb\xff\xfed\n \t \na\xe2\x80\xa8b\x85c\x0bd\x0ce\rf\n<s> </s> <unk> <0x0A>\n"
    b"\xed\xa0\x80\n\x00\x01\x02\n"
    + "👩‍👩‍👧 ✓ ｆｕｌｌ".encode()
    + b"\n"
    + b"ba " * 400
    + b"\nlast line without an end"
)
HOSTILE_LINES = 11


def run_nmt(*arguments: str, text: bytes = b"", code: str = "") -> subprocess.CompletedProcess[bytes]:
    program = code or "from nmt_cli.cli import main; main()"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, input=text, capture_output=True, cwd=REPOSITORY, check=False)


def test_nmt_translate_with_an_exported_model_never_imports_torch(exported: Path) -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('torch' in sys.modules, file=sys.stderr))\n"
        "from nmt_cli.cli import main; main()"
    )
    done = run_nmt("translate", str(exported), "--json", "--alignments", text=b"ba de.\n", code=code)
    assert done.returncode == 0
    assert done.stderr.split() == [b"False"]
    assert json.loads(done.stdout)["source"] == "ba de."


def test_the_command_gives_the_lines_of_the_run(run: Path, exported: Path) -> None:
    text = "\n".join(LINES[:20]).encode()
    outputs = [
        run_nmt("translate", str(path), "--quiet", "--device", "cpu", text=text) for path in (run, exported)
    ]
    assert outputs[0].stdout == outputs[1].stdout
    assert outputs[0].stdout.count(b"\n") == 20


@pytest.mark.parametrize(
    "options", [[], ["--stream"], ["--tsv", "--alignments"], ["--json", "--n-best", "2"]], ids=str
)
def test_hostile_lines_give_as_many_lines_everywhere(exported: Path, options: list[str]) -> None:
    command = [sys.executable, str(exported / "translate.py"), *options]
    script = subprocess.run(command, input=HOSTILE, capture_output=True, check=False, cwd="/")
    assert script.returncode == 0, script.stderr
    assert script.stdout.count(b"\n") == HOSTILE_LINES
    assert run_nmt("translate", str(exported), *options, text=HOSTILE).stdout == script.stdout


def test_translate_py_reads_no_code_and_no_model_but_its_own(exported: Path) -> None:
    assert (exported / "translate.py").read_text("utf-8") == runtime_script()
    assert "nmt_cli" not in {
        line.split()[1].split(".")[0]
        for line in runtime_script().splitlines()
        if line.startswith(("import ", "from "))
    }
    assert len(REQUIREMENTS.splitlines()) == 3


def test_three_packages_are_enough(exported: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    [site] = (tmp_path / "venv").glob("lib/python*/site-packages")
    for name in ("numpy", "onnxruntime", "sentencepiece"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for path in package.parent.glob(f"{name}*"):
            (site / path.name).symlink_to(path)
        if not (site / name).exists():
            pytest.skip(f"{name} is not a package that can be linked into a virtual environment")
    python = tmp_path / "venv" / "bin" / "python"
    missing = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    assert b"ModuleNotFoundError" in missing.stderr
    text = "\n".join(LINES[:5]).encode()
    command = [str(python), str(exported / "translate.py")]
    done = subprocess.run(command, input=text, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5


def test_an_ensemble_int8_or_a_gpu_are_refused_with_a_hint(run: Path, exported: Path) -> None:
    for arguments, message in (
        ([str(exported), str(run)], b"cannot be part of an ensemble"),
        ([str(exported), "--int8"], b"chosen when a model is exported"),
        ([str(exported), "--device", "cuda"], b"runs on the CPU"),
        ([str(exported), "--set", "search.sampling=true"], b"does not support search.sampling"),
        ([str(exported), "--set", "search.beam_sizes=3"], b"did you mean search.beam_size"),
    ):
        done = run_nmt("translate", *arguments, text=b"ba\n")
        assert done.returncode in (1, 2)
        assert message in done.stderr
        assert b"hint: " in done.stderr
        assert done.stdout == b""


def test_a_missing_package_is_named_with_the_pip_command(run: Path, exported: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['onnxruntime'] = None\nfrom nmt_cli.cli import main; main()"
    done = run_nmt("translate", str(exported), text=b"ba\n", code=code)
    assert b"onnxruntime is not installed" in done.stderr
    assert b"pip install onnxruntime" in done.stderr
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'onnx' else find(name, *rest)\n"
        "from nmt_cli.cli import main; main()"
    )
    done = run_nmt("export", str(run), "--out", str(tmp_path / "out"), code=code)
    assert b"pip install 'nmt-cli[export]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_evaluate_takes_an_exported_model(run: Path, exported: Path, tmp_path: Path) -> None:
    (tmp_path / "source.xx").write_text("\n".join(LINES[:10]) + "\n", "utf-8")
    translator = Translator.load(run, device="cpu")
    texts = [translation.text or "." for translation in translator.translate(LINES[:10])]
    (tmp_path / "reference.yy").write_text("\n".join(texts) + "\n", "utf-8")
    files = ["--source", str(tmp_path / "source.xx"), "--reference", str(tmp_path / "reference.yy")]
    done = run_nmt("evaluate", str(exported), *files, "--json")
    assert done.returncode == 0, done.stderr
    [system] = json.loads(done.stdout)["systems"]
    assert system["kind"] == "export"
    assert system["scores"][0]["score"] == pytest.approx(100)
    assert not (exported / "scores.jsonl").exists()
    done = run_nmt("evaluate", str(exported), *files[2:])
    assert b"exported model, which has no test set" in done.stderr
