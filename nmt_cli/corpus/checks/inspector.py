"""Warnings about common problems of a parallel corpus, from one pass over its blocks."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from nmt_cli.corpus.block import INNER_NEWLINE, MALFORMED, SEVERAL_VARIANTS, UNDECODABLE, Block
from nmt_cli.corpus.checks.alignment import AlignmentCheck, Stretch
from nmt_cli.corpus.checks.characters import ODDITIES, TokenizedCheck, find_odd_lines
from nmt_cli.corpus.checks.language import SideProfile, foreign_language, foreign_script, swapped
from nmt_cli.errors import DataWarning
from nmt_cli.files.line_reader import BYTE_ORDER_MARK, CARRIAGE_RETURN

_SAMPLE = 128  # lines of a block that are examined closely
_FIRST_SAMPLE = 1024  # the same for the first block
_SAMPLE_CHARACTERS = 300
_KEPT_PAIRS = 8192  # of each set, to compare sets
_MERGE_LINES = 256  # misaligned stretches this close to each other are reported as one
_SHOWN_STRETCHES = 3
_SAME_SHARE = 0.5  # of pairs that two sets share, or whose sides are equal, from which on to warn
_MIN_PAIRS = 20
_SIMILAR_GAP = 0.2


class _Side:
    """The statistics of one side."""

    def __init__(self, name: str, language: str) -> None:
        self.name = name
        self.profile = SideProfile(language)
        self.tokenized = TokenizedCheck()
        self.odd_lines: Counter[str] = Counter()
        self.odd_first: dict[str, int] = {}

    def observe(self, block: Block, lines: list[str], sample: slice) -> None:
        """Take the lines of the next block."""
        for name, rows in find_odd_lines(lines).items():
            self.odd_lines[name] += len(rows)
            self.odd_first.setdefault(name, block.number(rows[0]))
        sampled = [line[:_SAMPLE_CHARACTERS] for line in lines[sample]]
        self.profile.observe(sampled)
        self.tokenized.observe(sampled)

    def add(self, later: "_Side") -> None:
        """Add the statistics of later blocks."""
        self.profile.add(later.profile)
        self.tokenized.add(later.tokenized)
        self.odd_lines.update(later.odd_lines)
        self.odd_first = later.odd_first | self.odd_first


class Inspector:
    """Observes one corpus, block by block. Keeps counts and samples of bounded size, never the text.

    Blocks can also be observed one by one in several processes, each with its own inspector, and added in order.
    """

    def __init__(self, label: str, *, source_lang: str, target_lang: str) -> None:
        self.label = label
        self.pairs = 0
        self.source = _Side("source", source_lang)
        self.target = _Side("target", target_lang)
        self.first_pairs: set[int] = set()
        self._alignment = AlignmentCheck()
        self._stretches: list[Stretch] | None = None
        self._unit = "lines"  # what is counted to say where something is misaligned
        self._removed: Counter[str] = Counter()
        self._variants: Counter[str] = Counter()
        self._damage: Counter[str] = Counter()
        self._damage_first: dict[str, int] = {}
        self._sampled = self._same = 0

    def observe(self, block: Block) -> None:
        """Take the next block of the corpus."""
        rows = len(block.source)
        before = block.first - 1
        sample = slice(None, None, max(1, rows // (_SAMPLE if before else _FIRST_SAMPLE)))
        self.source.observe(block, block.source, sample)
        self.target.observe(block, block.target, sample)
        self._alignment.observe(block.first, block.source, block.target)
        self._unit = "pairs" if block.numbers else "lines"
        self._removed.update(block.removed)
        self._variants.update(block.variants)
        for row, kind in block.damage.items():
            self._damage[kind] += 1
            self._damage_first.setdefault(kind, block.number(row))
        sampled = list(zip(block.source[sample], block.target[sample], strict=True))
        self._sampled += len(sampled)
        self._same += sum(source == target != "" for source, target in sampled)
        room = max(0, _KEPT_PAIRS - before)
        for source, target in zip(block.source[:room], block.target[:room], strict=True):
            self.first_pairs.add(_pair_hash(source, target))
        self.pairs += rows

    def add(self, later: "Inspector") -> None:
        """Add what was observed in the block after those observed here."""
        self.source.add(later.source)
        self.target.add(later.target)
        self._alignment.add(later._alignment)
        self._unit = later._unit
        self._removed.update(later._removed)
        self._variants.update(later._variants)
        self._damage.update(later._damage)
        self._damage_first = later._damage_first | self._damage_first
        self._sampled += later._sampled
        self._same += later._same
        self.first_pairs |= later.first_pairs
        self.pairs += later.pairs

    def warnings(self) -> list[DataWarning]:
        """What looks wrong, the most serious first. Call it after the last block."""
        found = [*self._alignment_warnings(), *self._language_warnings(), *self._damage_warnings()]
        for side in (self.source, self.target):
            found += self._tokenized_warnings(side)
        found += [*self._removed_warnings(), *self._variant_warnings()]
        for side in (self.source, self.target):
            found += self._character_warnings(side)
        return found

    def _alignment_warnings(self) -> Iterator[DataWarning]:
        if self._stretches is None:
            self._stretches = _merged(self._alignment.stretches()[0])
        stretches = sorted(self._stretches, key=lambda stretch: -stretch.evidence)[:_SHOWN_STRETCHES]
        for stretch in stretches:
            where = f"{self._unit} {stretch.first} to {stretch.last} look misaligned"
            partner = ""
            if stretch.offset:
                direction = "later" if stretch.offset > 0 else "earlier"
                count = abs(stretch.offset)
                lines = f"{count} line{'s'[: count != 1]}"
                partner = f"; the translation of a source line seems to be {lines} {direction}"
            yield DataWarning(
                "misaligned",
                f"{self.label}: {where}: the lengths of source and target do not match there{partner}",
                hint="compare both sides from the first of these lines on; repair or remove them",
            )
        more = len(self._stretches) - len(stretches)
        if more > 0:
            yield DataWarning(
                "misaligned",
                f"{self.label}: {more} more {'stretches look' if more > 1 else 'stretch looks'} misaligned",
                hint="check how the two sides were paired",
            )

    def _language_warnings(self) -> Iterator[DataWarning]:
        source, target = self.source.profile, self.target.profile
        if self._sampled >= _MIN_PAIRS and self._same > _SAME_SHARE * self._sampled:
            yield DataWarning(
                "identical-sides",
                f"{self.label}: source and target are identical in {self._same} of {self._sampled} sampled pairs",
                hint="check that source and target are two languages",
            )
            return
        if swapped(source, target):
            yield DataWarning(
                "swapped",
                f"{self.label}: source and target look swapped: "
                f"the source looks like {target.language}, the target like {source.language}",
                hint="swap the files or columns, or --source-lang and --target-lang",
            )
            return
        for side, other in ((self.source, self.target), (self.target, self.source)):
            script, language = foreign_script(side.profile), foreign_language(side.profile, other.profile)
            if script:
                same = f", like the {other.name}" if script == other.profile.main_script() else ""
                looks = f"is written in {script} script{same}"
            elif language:
                same = f", like the {other.name}" if language == other.profile.likely_language() else ""
                looks = f"looks like {language}{same}"
            else:
                continue
            yield DataWarning(
                "wrong-language",
                f"{self.label}: the {side.name} should be {side.profile.language} but {looks}",
                hint="check the files and the language codes",
            )

    def _damage_warnings(self) -> Iterator[DataWarning]:
        meanings = {
            UNDECODABLE: (
                "line has bytes or escapes that cannot be decoded",
                "lines have bytes or escapes that cannot be decoded",
                "convert the text to UTF-8; data.undecodable drops such pairs from train",
            ),
            MALFORMED: (
                "row is not a pair",
                "rows are not pairs",
                "each row needs both columns or fields; such rows are dropped from train",
            ),
        }
        for kind, (one, many, hint) in meanings.items():
            if count := self._damage[kind]:
                first = self._damage_first[kind]
                where = f"{many}, the first is {first}" if count > 1 else f"{one}, line {first}"
                yield DataWarning(kind, f"{self.label}: {count} {where}", hint=hint)

    def _tokenized_warnings(self, side: _Side) -> Iterator[DataWarning]:
        for trace, hits, lines in side.tokenized.found():
            yield DataWarning(
                trace.name,
                f"{self.label}: the {side.name} looks preprocessed: "
                f"{hits} of {lines} sampled lines {trace.meaning}",
                hint="use raw text: nmt learns its own subwords, and scores on preprocessed text are not comparable",
            )

    def _removed_warnings(self) -> Iterator[DataWarning]:
        meanings = {
            BYTE_ORDER_MARK: (
                "byte-order mark was",
                "byte-order marks were",
                "removed from the start of a file",
            ),
            CARRIAGE_RETURN: ("line", "lines", "ended with CR LF; the CR was removed"),
            INNER_NEWLINE: ("text", "texts", "contained line breaks, which became spaces"),
            SEVERAL_VARIANTS: (
                "unit has",
                "units have",
                "several variants of a language, of which the first was used",
            ),
        }
        for kind, (one, many, meaning) in meanings.items():
            if count := self._removed[kind]:
                yield DataWarning(
                    kind.replace(" ", "-"),
                    f"{self.label}: {count} {many if count > 1 else one} {meaning}",
                    hint="no action is needed",
                )

    def _variant_warnings(self) -> Iterator[DataWarning]:
        for side in (self.source, self.target):
            counts = {
                code: count
                for code, count in self._variants.most_common()
                if code.startswith(side.name) and not code.endswith(" ")
            }
            if len(counts) > 1:
                listed = ", ".join(f"{code.split()[1]} ({count:,})" for code, count in counts.items())
                yield DataWarning(
                    "mixed-variants",
                    f"{self.label}: the {side.name} mixes variants of {side.profile.language}: {listed}",
                    hint="to use only one of them, give its code, such as "
                    f"--{side.name}-lang {next(iter(counts)).split()[1]}",
                )

    def _character_warnings(self, side: _Side) -> Iterator[DataWarning]:
        for oddity in ODDITIES:
            count = side.odd_lines[oddity.name]
            if oddity.name == "replacement" and self._damage[UNDECODABLE]:
                continue  # inserted by the reader, which has its own warning
            if count:
                first = side.odd_first[oddity.name]
                lines = f"{count} lines have" if count > 1 else "1 line has"
                yield DataWarning(
                    oddity.name,
                    f"{self.label}: in the {side.name}, {lines} {oddity.meaning}, first line {first}",
                    hint=oddity.hint,
                )


def compare_sets(inspectors: Mapping[str, Sequence[Inspector]]) -> list[DataWarning]:
    """What looks wrong between `train`, `valid` and `test`, given the inspectors of each set."""
    held_out = {name: group for name, group in inspectors.items() if name != "train" and group}
    found: list[DataWarning] = []
    for (name, group), (other_name, other_group) in combinations(held_out.items(), 2):
        found += _overlap_warnings(name, group, other_name, other_group)
    train = list(inspectors.get("train", ()))
    for name, group in inspectors.items():
        for inspector in group:
            references = [other for other in train if other is not inspector]
            if references and not swapped(inspector.source.profile, inspector.target.profile):
                found += _swapped_warnings(name, inspector, max(references, key=lambda other: other.pairs))
    return found


def _overlap_warnings(
    name: str, group: Sequence[Inspector], other_name: str, other_group: Sequence[Inspector]
) -> Iterator[DataWarning]:
    pairs, other_pairs = (
        set[int]().union(*(each.first_pairs for each in side)) for side in (group, other_group)
    )
    shared = len(pairs & other_pairs)
    smaller = min(len(pairs), len(other_pairs))
    if pairs == other_pairs and sum(each.pairs for each in group) == sum(each.pairs for each in other_group):
        message = f"{name} and {other_name} are identical"
    elif smaller >= _MIN_PAIRS and shared > _SAME_SHARE * smaller:
        message = f"{name} and {other_name} share {shared} pairs of {smaller}"
    else:
        return
    yield DataWarning(
        "valid-is-test",
        message,
        hint="use other pairs for one of them, or leave one out and nmt holds out pairs from train",
    )


def _swapped_warnings(name: str, inspector: Inspector, train: Inspector) -> Iterator[DataWarning]:
    source, target = inspector.source.profile, inspector.target.profile
    straight = source.similarity(train.source.profile) + target.similarity(train.target.profile)
    crossed = source.similarity(train.target.profile) + target.similarity(train.source.profile)
    if inspector.pairs >= _MIN_PAIRS and crossed > straight + _SIMILAR_GAP:
        yield DataWarning(
            "swapped-set",
            f"{inspector.label} ({name}): source and target look swapped, compared with {train.label}",
            hint="swap the files or columns of one of them",
        )


def _merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Stretches with small gaps between them joined to one."""
    merged: list[Stretch] = []
    for stretch in stretches:
        last = merged[-1] if merged else None
        if last and stretch.first - last.last <= _MERGE_LINES and stretch.offset == last.offset:
            merged[-1] = Stretch(last.first, stretch.last, last.evidence + stretch.evidence, last.offset)
        else:
            merged.append(stretch)
    return merged


def _pair_hash(source: str, target: str) -> int:
    """A hash that is the same in every process, unlike `hash`."""
    return (
        zlib.crc32(target.encode(errors="replace"), zlib.adler32(source.encode(errors="replace")))
        | len(source) << 32
    )
