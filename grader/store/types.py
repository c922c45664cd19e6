"""Column types that mean the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import DateTime, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator

_HUNDREDTH = Decimal("0.01")


class Hundredths(TypeDecorator[Decimal]):
    """Points as whole hundredths, so that sums in SQL are exact."""

    impl = Integer
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        """To hundredths; raises ValueError for more than two decimals."""
        if value is None:
            return None
        hundredths = int(value * 100)
        if hundredths != value * 100:
            raise ValueError(f"{value} has more than two decimals")
        return hundredths

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        """To points, without trailing zeros."""
        return None if value is None else to_points(value)


def to_points(hundredths: int) -> Decimal:
    """Hundredths as points: 750 is 7.5."""
    whole, rest = divmod(hundredths, 100)
    return Decimal(whole) if not rest else (Decimal(hundredths) * _HUNDREDTH).normalize()


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; without the zone on SQLite, which stores none."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time must have a zone")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To an aware time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """Plain data as JSON text; floats are preserved exactly."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """To text."""
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """To data."""
        return None if value is None else orjson.loads(value)
