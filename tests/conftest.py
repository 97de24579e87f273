"""What all tests share: the real corpora and a browser, where they are."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.browser import Browser, start_browser

settings.register_profile("no deadline", deadline=None)  # a busy machine is not an error
settings.load_profile("no deadline")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _own_home_directories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches and histories of tests, and of the commands they run, stay out of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(autouse=True)
def _precision_of_torch() -> Iterator[None]:
    """Commands change this setting for their whole process, which here is shared with other tests."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_float32_matmul_precision("highest")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora, named by NMT_TEST_DATA."""
    folder = Path(os.environ.get("NMT_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "COUNTS.tsv").exists():
        pytest.skip(f"the real corpora are not at {folder}; name their folder with NMT_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser."""
    yield from start_browser(tmp_path_factory.mktemp("browser"))
