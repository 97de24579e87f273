"""The fork server and the intact directories, made once."""

from collections.abc import Iterator

import pytest

from tests.fork_server import ForkServer, fork_server
from tests.fuzz.originals import Originals


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    home = tmp_path_factory.mktemp("home")
    with fork_server({"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}) as server:
        yield server


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory, server: ForkServer) -> Originals:
    return Originals.make(tmp_path_factory.mktemp("fuzz"), server)
