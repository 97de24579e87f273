"""TMX 1.4, and the older versions that write `lang` for `xml:lang`: translation memories.

A unit (`tu`) has a variant (`tuv`) for each language, in any order; there may be many languages.
"""

from nmt_cli.corpus.block import MISSING_LANGUAGE, UNTRANSLATED, Unit
from nmt_cli.corpus.localization.xml_stream import SegmentText, language_of
from nmt_cli.files.languages import choose


class TmxUnits:
    """The units of a TMX document, as a handler of `parse_xml`."""

    def __init__(self, source_lang: str, target_lang: str) -> None:
        self._languages = source_lang, target_lang
        self._units: list[Unit] = []
        self._line = 0
        self._codes: list[str] = []  # of the variants of the current unit
        self._texts: list[str] = []
        self._code = ""
        self._segment: SegmentText | None = None
        self.root = ""

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        """See Handler."""
        if self._segment is not None:
            self._segment.start(name, attributes)
        elif name == "seg":
            self._segment = SegmentText()
        elif name == "tuv":
            self._code = language_of(attributes)
        elif name == "tu":
            self._line = line
            self._codes, self._texts = [], []
        elif not self.root:
            self.root = name

    def end(self, name: str) -> None:
        """See Handler."""
        if self._segment is not None:
            if name == "seg":
                self._codes.append(self._code)
                self._texts.append(str(self._segment))
                self._segment = None
            else:
                self._segment.end(name)
        elif name == "tu":
            self._units.append(self._unit())

    def text(self, data: str) -> None:
        """See Handler."""
        if self._segment is not None:
            self._segment.text(data)

    def take(self) -> list[Unit]:
        """See Handler."""
        units, self._units = self._units, []
        return units

    def _unit(self) -> Unit:
        (source, several_sources), (target, several_targets) = (
            choose(self._codes, language) for language in self._languages
        )
        if source is None or target is None:
            return Unit(
                self._line,
                "" if source is None else self._texts[source],
                "" if target is None else self._texts[target],
                skipped=MISSING_LANGUAGE,
                source_code=", ".join(self._codes),  # for a message about the languages of the file
            )
        blank = not self._texts[source].strip() or not self._texts[target].strip()
        return Unit(
            self._line,
            self._texts[source],
            self._texts[target],
            skipped=UNTRANSLATED if blank else "",
            source_code=self._codes[source],
            target_code=self._codes[target],
            several=several_sources or several_targets,
        )
