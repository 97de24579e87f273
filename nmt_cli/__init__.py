"""Train, run and understand attention-based neural machine translation.

from nmt_cli import Translator

translator = Translator.load("run")
print(translator.translate(["Ein Hund läuft."])[0].text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli.translator import Details, Translation, Translator

__version__ = "0.1.0.dev0"

__all__ = ["Details", "Translation", "Translator", "__version__"]


def __getattr__(name: str) -> Any:
    """Import what is heavy when it is used, so that `import nmt_cli` stays light."""
    if name in ("Details", "Translation", "Translator"):
        from nmt_cli import translator

        return getattr(translator, name)
    raise AttributeError(f"module 'nmt_cli' has no attribute {name!r}")
