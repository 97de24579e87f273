"""What errors.py does for the messages of others."""

import pytest

from nmt_cli.errors import first_line


@pytest.mark.parametrize(
    ("message", "line"),
    [("one\ntwo", "one"), ("\n one", "one"), ("", "RuntimeError"), ("\n", "RuntimeError")],
)
def test_an_error_without_a_message_is_reported_by_its_kind(message: str, line: str) -> None:
    assert first_line(RuntimeError(message)) == line
