"""Keep the progress of filling a course."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Keep the progress of filling a course."""
    op.create_table(
        "fills",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("students", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_fills_run_id"),
        sa.PrimaryKeyConstraint("run_id", name="pk_fills"),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("fills")
