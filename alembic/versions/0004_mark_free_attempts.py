"""Mark free attempts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Mark free attempts."""
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("repeats_attempt_id", sa.String(length=40), nullable=True))
        batch_op.create_unique_constraint("uq_attempts_repeats_attempt_id", ["repeats_attempt_id"])
        batch_op.create_foreign_key(
            "fk_attempts_repeats_attempt_id", "attempts", ["repeats_attempt_id"], ["id"]
        )


def downgrade() -> None:
    """Undo it."""
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_constraint("fk_attempts_repeats_attempt_id", type_="foreignkey")
        batch_op.drop_constraint("uq_attempts_repeats_attempt_id", type_="unique")
        batch_op.drop_column("repeats_attempt_id")
