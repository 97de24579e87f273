"""What a setting is: one name, one default, one check and one line of help, all in one place."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Section(BaseModel):
    """A group of settings. Unknown keys are rejected; a section is immutable once validated."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, allow_inf_nan=False)


def setting(default: Any, meaning: str, **limits: Any) -> Any:
    """A setting with its default and one line of help; `limits` are pydantic's (`ge`, `le`, `gt`, …)."""
    return Field(default=default, description=meaning, **limits)


def default_of(section: Section, key: str) -> Any:
    """The default of a setting."""
    return type(section).model_fields[key].default


def shown(value: Any) -> str:
    """A value as a user would write it."""
    if value is None:
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def incompatible(prefix: str, section: Section, first: str, second: str, advice: str) -> str:
    """The message for two settings of a section that cannot be combined."""
    one, other = (f"{prefix}.{key} = {shown(getattr(section, key))}" for key in (first, second))
    return f"{one} is incompatible with {other}; {advice}"


def reject(contradictions: Iterable[str]) -> None:
    """Raise one error that lists all contradictions, if there are any."""
    if found := list(contradictions):
        raise ValueError("; ".join(found))


def problems(error: ValidationError, provenance: Mapping[str, str], *, prefix: str = "") -> Iterator[str]:
    """Pydantic's errors as messages for users, each with its setting, value and layer.

    `prefix` is the section, if the error comes from a section rather than from the whole configuration.
    """
    for detail in error.errors(include_url=False):
        key = ".".join(str(part) for part in (*filter(None, [prefix]), *detail["loc"])[:2])
        message = detail["msg"].removeprefix("Value error, ")
        if "." not in key:  # contradictory settings, which the message names
            yield message
            continue
        origin = f" ({provenance[key]})" if key in provenance else ""
        yield f"{key} = {detail['input']!r}{origin}: {message[0].lower()}{message[1:]}"
