"""What all forms of a rubric file share: their base and the kinds of single values."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Names = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*(, [A-Za-z][A-Za-z0-9_]*)*$")]
Expression = Annotated[str, Field(min_length=1, max_length=2000)]
#: A number may be written as a number or as a formula.
Quantity = int | float | Expression
#: A size is a whole number, the name of one, or a sum of such.
Size = Annotated[int, Field(ge=1, le=1024)] | Expression
Points = Annotated[Decimal, Field(ge=0, le=1000, decimal_places=2)]
Credit = Annotated[Decimal, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]


class Form(BaseModel):
    """Base of all forms: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def choose_tag(value: Any, kinds: dict[str, str], *, otherwise: str) -> str:
    """The kind of a form by the first key it has; for a discriminator."""
    if isinstance(value, dict):
        return next((kinds[key] for key in value if key in kinds), next(iter(kinds.values())))
    for key, kind in kinds.items():
        if hasattr(value, key):
            return kind
    return otherwise
