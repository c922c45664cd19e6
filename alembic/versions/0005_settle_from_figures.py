"""Settle from figures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Settle from figures."""
    op.create_index(
        "ix_attempts_same_answer",
        "attempts",
        ["enrolment_id", "assignment", "question", "answer_digest"],
    )
    with op.batch_alter_table("grades", schema=None) as batch_op:
        batch_op.add_column(sa.Column("counted_points", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("counted_pending", sa.Integer(), nullable=True))

    op.drop_index("ix_judgements_run_id", table_name="judgements")


def downgrade() -> None:
    """Undo it."""
    op.create_index("ix_judgements_run_id", "judgements", ["run_id"])
    with op.batch_alter_table("grades", schema=None) as batch_op:
        batch_op.drop_column("counted_pending")
        batch_op.drop_column("counted_points")

    op.drop_index("ix_attempts_same_answer", table_name="attempts")
