"""Every form of a SPEC, and every mistake in one."""

import errno
import os
from pathlib import Path

import pytest

from nmt_cli.corpus import Spec, parse_spec
from nmt_cli.errors import CorpusError, NmtError, UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in (
        "train.de",
        "train.en",
        "packed.de.gz",
        "packed.en.xz",
        "x.tsv",
        "x.jsonl",
        "train.en-de.en.gz",
    ):
        (tmp_path / "data" / name).touch()
    (tmp_path / "data" / "train.en-de.de.gz").touch()
    return tmp_path


def parse(text: str) -> Spec:
    return parse_spec(text, source_lang="de", target_lang="en")


def failure(text: str) -> NmtError:
    with pytest.raises(NmtError) as caught:
        parse(text)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.usefixtures("folder")
class TestForms:
    @pytest.mark.parametrize(
        ("text", "source", "target"),
        [
            ("data/train", "data/train.de", "data/train.en"),
            ("data/packed", "data/packed.de.gz", "data/packed.en.xz"),
            ("data/train.en-de", "data/train.en-de.de.gz", "data/train.en-de.en.gz"),
            ("data/train.de,data/packed.en.xz", "data/train.de", "data/packed.en.xz"),
        ],
    )
    def test_a_prefix_or_two_names_lead_to_two_files(self, text: str, source: str, target: str) -> None:
        spec = parse(text)
        assert (spec.kind, spec.paths) == ("files", (Path(source), Path(target)))

    def test_tsv_has_columns_one_and_two_unless_others_are_chosen(self) -> None:
        assert parse("data/x.tsv").columns == (1, 2)
        assert parse("data/x.tsv#3,1").columns == (3, 1)
        assert parse("data/x.tsv#1,3").paths == (Path("data/x.tsv"),)

    def test_json_lines_have_fields_to_choose(self) -> None:
        assert parse("data/x.jsonl").fields is None
        assert parse("data/x.jsonl#prompt,response").fields == ("prompt", "response")

    def test_csv_has_named_columns_to_choose(self) -> None:
        Path("x.csv").touch()
        assert (parse("x.csv").kind, parse("x.csv").fields) == ("csv", None)
        assert parse("x.csv#source,target@weight=2").fields == ("source", "target")

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("x.tmx", "tmx"),
            ("x.TMX.gz", "tmx"),
            ("x.po", "po"),
            ("x.po.xz", "po"),
            ("x.xlf", "xliff"),
            ("x.sdlxliff", "xliff"),
            ("en-de.txt.zip", "archive"),
        ],
    )
    def test_a_localization_file_or_archive_is_recognized_by_its_name(self, name: str, kind: str) -> None:
        Path(name).touch()
        assert (parse(name).kind, parse(name).paths) == (kind, (Path(name),))
        assert parse(f"{name}@weight=2").weight == 2

    def test_a_directory_or_pattern_of_localization_files_is_a_corpus(self) -> None:
        Path("po/inner").mkdir(parents=True)
        for name in ("po/b.po", "po/inner/a.po.gz", "po/notes.txt"):
            Path(name).touch()
        assert parse("po").paths == (Path("po/b.po"), Path("po/inner/a.po.gz"))
        assert parse("po/*.po").paths == (Path("po/b.po"),)
        assert parse("po/**/*.po*").paths == (Path("po/b.po"), Path("po/inner/a.po.gz"))

    def test_a_dash_is_standard_input(self) -> None:
        assert parse("-").kind == "stdin"
        assert parse("-#2,1").columns == (2, 1)

    def test_a_hub_dataset_has_config_and_split(self) -> None:
        spec = parse("hf:wmt/wmt14:de-en:validation")
        assert (spec.kind, spec.dataset, spec.config, spec.split) == (
            "hub",
            "wmt/wmt14",
            "de-en",
            "validation",
        )
        assert (parse("hf:a/b").config, parse("hf:a/b").split) == (None, "train")
        assert (parse("hf:a/b::test").config, parse("hf:a/b::test").split) == (None, "test")
        assert parse("hf:a/b:c:train[:10%]").split == "train[:10%]"

    def test_options_follow_an_at_sign(self) -> None:
        spec = parse(
            "hf:IWSLT/iwslt2017@revision=refs/convert/parquet@data_files=a/0.parquet,b.parquet@streaming=true@weight=.5"
        )
        assert spec.dataset == "IWSLT/iwslt2017"
        assert spec.revision == "refs/convert/parquet"
        assert spec.data_files == ("a/0.parquet", "b.parquet")
        assert spec.streaming
        assert spec.weight == 0.5
        assert parse("data/train@weight=2.5").weight == 2.5
        assert parse("data/x.tsv#1,3@weight=2").columns == (1, 3)
        assert parse("-@weight=3").weight == 3
        assert parse("data/train").tag == ""
        assert parse("data/train@tag=<BT>@weight=2").tag == "<BT>"
        assert parse("hf:a/b@tag=⟨bt⟩").tag == "⟨bt⟩"

    def test_a_name_that_is_not_utf8_is_read_and_shown(self) -> None:
        path = Path(os.fsdecode(b"data/gr\xfc\xdfe.tsv"))
        path.touch()
        spec = parse(f"{path}@weight=2")
        assert spec.paths == (path,)
        assert spec.text == "data/gr\\udcfc\\udcdfe.tsv@weight=2"

    def test_file_names_may_contain_at_signs_commas_and_hashes(self) -> None:
        for name in ("a@b=c.de", "a@b=c.en", "one,two.de", "one,two.en", "x#1.tsv"):
            Path(name).touch()
        assert parse("a@b=c@weight=2").paths == (Path("a@b=c.de"), Path("a@b=c.en"))
        assert parse("one,two").paths == (Path("one,two.de"), Path("one,two.en"))
        assert parse("one,two.de,data/train.en").paths == (Path("one,two.de"), Path("data/train.en"))
        assert parse("x#1.tsv#2,1").paths == (Path("x#1.tsv"),)


@pytest.mark.usefixtures("folder")
class TestMistakes:
    def test_a_missing_file_is_an_error_with_similar_names(self) -> None:
        error = failure("data/trian")
        assert "data/trian.de" in error.message
        assert "train.de" in error.hint
        error = failure("data/y.tsv")
        assert error.message == "data/y.tsv does not exist"
        assert "x.tsv" in error.hint
        assert "data/train.fr does not exist" in failure("data/train.de,data/train.fr").message

    def test_a_missing_side_is_distinguished_from_a_missing_corpus(self) -> None:
        Path("half.de").touch()
        error = failure("half")
        assert "half.en" in error.message
        assert "half.de exists" in error.message

    def test_a_missing_directory_is_named(self) -> None:
        assert "nowhere does not exist" in failure("nowhere/train").hint

    def test_a_directory_is_refused_with_the_prefixes_in_it(self) -> None:
        error = failure("data")
        assert error.message == "data is a directory"
        assert "data/train" in error.hint
        assert "data/packed" in error.hint

    def test_a_prefix_with_two_candidates_is_ambiguous(self) -> None:
        Path("data/train.de.gz").touch()
        error = failure("data/train")
        assert isinstance(error, CorpusError)
        assert "data/train.de and data/train.de.gz exist" in error.message

    def test_one_file_is_not_a_parallel_corpus(self) -> None:
        assert "data/train" in failure("data/train.de").hint

    @pytest.mark.parametrize("name", ["x.parquet", "x.tar.gz", "x.xlsx", "x.json", "x.7z", "x.docx"])
    def test_an_unsupported_format_is_refused_with_an_alternative(self, name: str) -> None:
        Path(name).touch()
        assert Path(name).suffix in failure(name).message or ".tar" in failure(name).message
        assert failure(name).hint

    def test_a_weight_above_the_limit_is_an_error(self) -> None:
        assert parse("data/train@weight=1000").weight == 1000
        assert "not a positive number up to 1000" in failure("data/train@weight=1000.1").message

    def test_a_name_that_is_too_long_cannot_be_read(self) -> None:
        for text in ("x" * 300, "x" * 300 + ".tsv", "data/train.de," + "x" * 300):
            error = failure(text)
            assert isinstance(error, CorpusError)
            assert error.message.startswith("cannot read xxx")
            assert error.message.endswith("File name too long")
            assert "name" in error.hint

    def test_two_names_may_be_longer_than_one_name_can_be(self) -> None:
        for name in ("y" * 200 + ".de", "y" * 200 + ".en", "z" * 200 + ".tsv"):
            Path(name).touch()
        assert len(parse("y" * 200 + ".de," + "y" * 200 + ".en").paths) == 2
        assert len(parse("y" * 200 + ".de," + "z" * 200 + ".tsv").paths) == 2
        assert "does not exist" in failure("x" * 253).message

    def test_a_directory_without_permission_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stat = Path.stat

        def refusing(path: Path, **options: bool) -> os.stat_result:
            if path.parent == Path("secret"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return stat(path, **options)

        Path("secret").mkdir()
        monkeypatch.setattr(Path, "stat", refusing)
        for text in ("secret/train", "secret/x.tsv", "secret/a.de,secret/a.en"):
            error = failure(text)
            assert isinstance(error, CorpusError)
            assert error.message.startswith("cannot read secret/")
            assert error.message.endswith("Permission denied")
            assert "permission" in error.hint

    def test_a_directory_that_cannot_be_listed_does_not_hide_the_error(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refusing(path: Path) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(Path, "iterdir", refusing)
        error = failure("data/y.tsv")
        assert (error.message, error.hint) == (
            "data/y.tsv does not exist",
            "data cannot be listed: Permission denied",
        )

    def test_languages_that_are_the_same_need_two_files(self) -> None:
        with pytest.raises(UsageError, match="both sides would be"):
            parse_spec("data/train", source_lang="de", target_lang="de")

    @pytest.mark.parametrize(
        "text",
        [
            "data/x.tsv#0,1",
            "data/x.tsv#1",
            "data/x.tsv#1,2,3",
            "data/x.tsv#a,b",
            "data/x.tsv#2,2",
            "data/x.jsonl#a",
            "data/x.jsonl#a,a",
            "-#1,x",
            "data/train@weight=0",
            "data/train@weight=much",
            "data/train@weight=nan",
            "data/train@weight=inf",
            "data/train@weight=1e9",
            "data/train@weight=1@weight=2",
            "data/train@revision=x",
            "data/train@tag=",
            "data/train@tag=two words",
            "data/train@tag=<unk>",
            "data/train@tag=er",
            "data/train@tag=.",
            "data/train@tag=<>",
            "data/train@tag=<1>",
            "data/train@tag=(c)",
            "data/train@tag=[1]",
            "data/train@tag=<BT⟩",
            "data/train@tag=<B\u200bT>",
            "data/train@tag=<@weight=2>",
            "data/train@tag=«oui»",
            "data/train@tag=@x@",
            "data/train@tag=<BT>,",
            "data/train@tag=⟦1⟧",
            "hf:",
            "hf:parquet",
            "hf:a/b@streaming=maybe",
            "",
            "a,b,c",
            "a.de,",
        ],
    )
    def test_nonsense_is_a_usage_error(self, text: str) -> None:
        assert isinstance(failure(text), UsageError)
        assert failure(text).hint

    def test_an_unknown_option_of_a_hub_dataset_suggests_the_closest(self) -> None:
        assert "did you mean @revision" in failure("hf:a/b@revison=x").message

    def test_a_misspelled_option_of_a_file_is_suspected(self) -> None:
        assert "did you mean @weight=" in failure("data/train@wieght=2").hint
