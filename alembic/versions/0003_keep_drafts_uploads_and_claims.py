"""Keep drafts, uploads and claims."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Keep drafts, uploads and claims."""
    op.create_table(
        "drafts",
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_drafts_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("enrolment_id", "assignment", "question", name="pk_drafts"),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_uploads_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.UniqueConstraint("enrolment_id", "digest", name="uq_uploads_enrolment_id_digest"),
    )
    op.create_table(
        "claims",
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_claims_attempt_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_claims_run_id"),
        sa.PrimaryKeyConstraint("attempt_id", name="pk_claims"),
    )
    op.create_index("ix_claims_run_id", "claims", ["run_id"])


def downgrade() -> None:
    """Undo it."""
    op.drop_table("claims")
    op.drop_table("uploads")
    op.drop_table("drafts")
