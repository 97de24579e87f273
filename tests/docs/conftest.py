"""Running `nmt` as the other tests of commands do."""

from tests.cli.conftest import nmt

__all__ = ["nmt"]
