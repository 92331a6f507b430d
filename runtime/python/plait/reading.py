"""Results from the JSON that programs and servers write."""

from __future__ import annotations

import dataclasses
import datetime
import re
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, Union

_T = TypeVar("_T")


def read(kind: type[_T], data: Mapping[str, Any]) -> _T:
    """A dataclass from JSON, perhaps of an older plait.

    What is missing is None where it may be, and nothing where it is a list; else a KeyError."""
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        hint = hints[field.name]
        if field.name in data:
            values[field.name] = _value(hint, data[field.name])
        elif field.default is not dataclasses.MISSING:
            continue
        elif type(None) in typing.get_args(hint):
            values[field.name] = None
        elif typing.get_origin(hint) is tuple:
            values[field.name] = ()
        else:
            raise KeyError(field.name)
    return kind(**values)


def _value(hint: Any, data: Any) -> Any:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        return None if data is None else _value(parts[0], data)
    if origin is tuple:
        return tuple(_value(parts[0], element) for element in data)
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(type, hint), data)
    if hint is datetime.datetime:
        return _time(data)
    return data


def _time(text: str) -> datetime.datetime:
    """Of RFC 3339 in UTC, to the microsecond."""
    whole, _, rest = text.rstrip("Z").partition(".")
    digits = re.sub(r"\D", "", rest)[:6].ljust(6, "0")
    time = datetime.datetime.strptime(f"{whole}.{digits}", "%Y-%m-%dT%H:%M:%S.%f")
    return time.replace(tzinfo=datetime.timezone.utc)
