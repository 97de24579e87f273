"""What a setting is: one name, one default, one check and one line of meaning, in one place."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A group of settings. Unknown keys are refused; a value never changes after it was checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)


def setting(default: Any, meaning: str, **limits: Any) -> Any:
    """A setting with its default and its one-line meaning; `limits` are pydantic's (`ge`, `le`, `gt`, …)."""
    return Field(default=default, description=meaning, **limits)
