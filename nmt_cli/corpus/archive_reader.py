"""Moses archives as OPUS distributes them: a ZIP file with one text file for each language.

Nothing is unpacked: both files are read from the archive as streams.
"""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import CorpusError
from nmt_cli.files.languages import matches, normalized

_CHUNK_BYTES = 1 << 18
# Text compresses to a tenth or so; deflate cannot do better than 1032 to 1.
_MAX_RATIO = 200
_SMALL_BYTES = 1 << 26
_SHOWN = 6


def find_members(path: Path, source_lang: str, target_lang: str) -> tuple[str, str]:
    """The names of the two files in an archive whose extensions are the languages, such as `Tatoeba.de-en.de`."""
    names = [info.filename for info in _members(path)]
    source, target = (_member(path, names, language) for language in (source_lang, target_lang))
    return source, target


def read_member(path: Path, name: str) -> Iterator[bytes]:
    """The content of a file in an archive, in chunks."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(name)
            if info.file_size > max(_SMALL_BYTES, _MAX_RATIO * info.compress_size):
                raise CorpusError(
                    f"{path}: {name} expands from {info.compress_size:,} to {info.file_size:,} bytes",
                    hint="text does not compress that well, so this is not a corpus; unpack it yourself to be sure",
                )
            with archive.open(info) as member:
                while chunk := member.read(_CHUNK_BYTES):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise _damaged(path, error) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or another compression
        raise CorpusError(
            f"{path}: {name} cannot be read: {error}", hint="unpack it, and give the two files"
        ) from error


def _members(path: Path) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise _damaged(path, error) from error


def _member(path: Path, names: list[str], language: str) -> str:
    suffixes = {name: Path(name).suffix.removeprefix(".") for name in names}
    found = [name for name, suffix in suffixes.items() if suffix and matches(suffix, language)]
    exact = [name for name in found if normalized(suffixes[name]) == normalized(language)]
    found = exact or found
    if len(found) == 1:
        return found[0]
    shown = ", ".join(found or names[:_SHOWN]) + (", …" if not found and len(names) > _SHOWN else "")
    if found:
        raise CorpusError(
            f"{path} has several files for {language}: {shown}",
            hint="unpack it, and give two files: a.de,a.en",
        )
    raise CorpusError(
        f"{path} has no file for {language}",
        hint=f"a Moses archive has a file for each language, such as NAME.{language}; this one has {shown or 'none'}",
    )


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path} is damaged or not a ZIP archive: {error}", hint="download it again")
