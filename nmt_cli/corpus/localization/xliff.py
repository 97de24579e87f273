"""XLIFF 1.2 and 2.x, including the dialects of translation tools: files that are being translated.

1.2: `trans-unit` with `source` and `target`; segments inside a unit are marked `<mrk mtype="seg" mid="…">` in
`seg-source` and `target`, and pair up by `mid`. 2.x: `unit` with a `source` and a `target` in each `segment`.
Alternatives (`alt-trans`, `mtc:matches`) are not translations of the file and are ignored.
"""

from nmt_cli.corpus.block import FUZZY, NOT_TRANSLATABLE, OTHER_LANGUAGE, UNTRANSLATED, Unit
from nmt_cli.corpus.localization.xml_stream import SegmentText
from nmt_cli.files.languages import matches

_UNITS = frozenset({"trans-unit", "segment"})
_SIDES = frozenset({"source", "seg-source", "target"})
_ALTERNATIVES = frozenset({"alt-trans", "matches"})
_UNTRANSLATED_STATES = frozenset({"new", "needs-translation", "initial"})
_MACHINE_MADE = frozenset({"fuzzy-match", "leveraged-mt", "mt-suggestion", "nmt:machine"})


class XliffUnits:
    """The units of an XLIFF document, as a handler of `parse_xml`.

    A file in the opposite direction (from the target to the source language) is read backwards.
    """

    def __init__(self, source_lang: str, target_lang: str) -> None:
        self._languages = source_lang, target_lang
        self._units: list[Unit] = []
        self._document_languages = ("", "")  # source, target: XLIFF 2.x
        self._file_languages = ("", "")
        self._frozen = [False]  # translate="no" of the elements that are open
        self._alternatives = 0  # alternatives that are open
        self._line = 0
        self._context = ""
        self._state = ""  # the reason to skip the unit, from its state
        self._sides: dict[str, str] = {}
        self._segments: dict[str, dict[str, SegmentText]] = {}  # side → mid → text
        self._side = ""
        self._text: SegmentText | None = None
        self._marks: list[str] = []  # the mid of each `mrk` that is open, "" if it marks something else
        self.root = ""

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        """See Handler."""
        self.root = self.root or name
        if self._text is not None:
            self._start_inline(name, attributes)
            return
        self._frozen.append(self._is_frozen(attributes))
        if name in _ALTERNATIVES:
            self._alternatives += 1
        elif self._alternatives:
            return
        elif name == "xliff":
            self._document_languages = attributes.get("srcLang", ""), attributes.get("trgLang", "")
        elif name == "file":
            source, target = self._document_languages
            self._file_languages = (
                attributes.get("source-language", source),
                attributes.get("target-language", target),
            )
        elif name in _UNITS:
            self._line = line
            self._sides, self._segments = {}, {}
            self._state = _reason(attributes) if name == "segment" else ""
            self._context = attributes.get("resname", self._context if name == "segment" else "")
        elif name == "unit":
            self._context = attributes.get("name", "")
        elif name in _SIDES:
            self._side, self._text, self._marks = name, SegmentText(), []
            if name == "target":
                self._state = self._state or _reason(attributes)

    def end(self, name: str) -> None:
        """See Handler."""
        if self._text is not None:
            if name in _SIDES and not self._marks:
                self._sides[self._side] = str(self._text)
                self._text = None
                self._frozen.pop()
            else:
                self._end_inline(name)
            return
        frozen = self._frozen.pop()
        if name in _ALTERNATIVES:
            self._alternatives -= 1
        elif name in _UNITS and not self._alternatives:
            self._finish(frozen)

    def text(self, data: str) -> None:
        """See Handler."""
        if self._text is not None:
            self._text.text(data)
            for segment in self._open_segments():
                segment.text(data)

    def take(self) -> list[Unit]:
        """See Handler."""
        units, self._units = self._units, []
        return units

    def _is_frozen(self, attributes: dict[str, str]) -> bool:
        """Whether text is not to be translated here; the innermost element that says so decides."""
        return {"no": True, "yes": False}.get(attributes.get("translate", ""), self._frozen[-1])

    def _start_inline(self, name: str, attributes: dict[str, str]) -> None:
        assert self._text is not None
        self._text.start(name, attributes)
        for segment in self._open_segments():
            segment.start(name, attributes)
        if name == "mrk":
            mid = attributes.get("mid", "") if attributes.get("mtype") == "seg" else ""
            self._marks.append(mid)
            if mid:
                self._segments.setdefault(self._side, {}).setdefault(mid, SegmentText())

    def _end_inline(self, name: str) -> None:
        assert self._text is not None
        if name == "mrk" and self._marks:
            self._marks.pop()
        self._text.end(name)
        for segment in self._open_segments():
            segment.end(name)

    def _open_segments(self) -> list[SegmentText]:
        return [self._segments[self._side][mid] for mid in self._marks if mid]

    def _finish(self, frozen: bool) -> None:
        """The unit is complete: add its pairs."""
        sources, targets = self._segments.get("seg-source", {}), self._segments.get("target", {})
        if sources and sources.keys() == targets.keys():
            for mid, text in sources.items():
                self._add(str(text), str(targets[mid]), frozen)
        elif "source" in self._sides or "target" in self._sides:
            self._add(self._sides.get("source", ""), self._sides.get("target", ""), frozen)

    def _add(self, source: str, target: str, frozen: bool) -> None:
        codes = self._file_languages
        reason = self._state
        if not source.strip() or not target.strip():
            reason = UNTRANSLATED
        if frozen:
            reason = NOT_TRANSLATABLE
        source_lang, target_lang = self._languages
        if _fit(codes, (target_lang, source_lang)) and not _fit(codes, (source_lang, target_lang)):
            source, target, codes = target, source, (codes[1], codes[0])
        elif not _fit(codes, (source_lang, target_lang)):
            reason = OTHER_LANGUAGE
        self._units.append(Unit(self._line, source, target, reason, self._context, *codes))


def _fit(codes: tuple[str, str], wanted: tuple[str, str]) -> bool:
    """Whether a file can be in these languages; one that does not say fits any."""
    return all(not code or matches(code, language) for code, language in zip(codes, wanted, strict=True))


def _reason(attributes: dict[str, str]) -> str:
    """Why a translation in this state is not finished; "" if it is, or if nothing is said."""
    state = attributes.get("state", "")
    if state in _UNTRANSLATED_STATES:
        return UNTRANSLATED
    qualifiers = attributes.get("state-qualifier"), attributes.get("subState")
    if state.startswith("needs-") or not _MACHINE_MADE.isdisjoint(qualifiers):
        return FUZZY
    return ""
