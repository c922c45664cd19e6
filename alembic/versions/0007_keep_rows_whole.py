"""Keep rows of up to a page whole.

PostgreSQL compresses rows of more than two kilobytes, and puts what is still too long elsewhere.
For variants and judgements that takes longer than to write and to read them.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

_TABLES = ("variants", "judgements")


def upgrade() -> None:
    """Keep rows of up to a page whole; rows that are stored already stay as they are."""
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            op.execute(f"ALTER TABLE {table} SET (toast_tuple_target = 8160)")


def downgrade() -> None:
    """Undo it."""
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            op.execute(f"ALTER TABLE {table} RESET (toast_tuple_target)")
