"""The base of all tables: column types, and names of constraints."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from sqlalchemy import ForeignKeyConstraint, LargeBinary, MetaData, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from grader.store.types import Hundredths, JsonText, UtcDateTime

Id = Annotated[str, mapped_column(String(40))]
Slug = Annotated[str, mapped_column(String(64))]
Digest = Annotated[str, mapped_column(String(80))]
Name = Annotated[str, mapped_column(String(200))]
Prose = Annotated[str, mapped_column(Text)]
Points = Annotated[Decimal, mapped_column(Hundredths)]
Data = Annotated[Any, mapped_column(JsonText)]
Bytes = Annotated[bytes, mapped_column(LargeBinary)]


class Base(DeclarativeBase):
    """Base of all tables; constraints have names, so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar = {datetime: UtcDateTime, Decimal: Hundredths}


class StudentMixin:
    """Columns of rows that belong to one student of one course run."""

    run_id: Mapped[Slug]
    enrolment_id: Mapped[Id]


def make_enrolment_key() -> ForeignKeyConstraint:
    """The constraint that the enrolment belongs to the course run."""
    return ForeignKeyConstraint(["run_id", "enrolment_id"], ["enrolments.run_id", "enrolments.id"])
