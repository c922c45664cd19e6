"""Keep drafts, uploads, claims and integrity checks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Keep drafts, uploads, claims and integrity checks."""
    op.create_table(
        "integrity_checks",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("pairs", sa.BigInteger(), nullable=False),
        sa.Column("by_accident", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'finished', 'failed')", name="ck_integrity_checks_state_is_known"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_integrity_checks_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_integrity_checks"),
    )
    op.create_index(
        "ix_integrity_checks_run_id_assignment_started_at",
        "integrity_checks",
        ["run_id", "assignment", "started_at"],
    )
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
    op.create_index(
        "ix_attempts_lately", "attempts", ["run_id", "assignment", "received_at", "enrolment_id"]
    )
    op.create_index(
        "ix_grades_waiting",
        "grades",
        ["run_id", "assignment", "attempts", "needs_person", "pending", "enrolment_id"],
    )
    op.create_table(
        "resemblances",
        sa.Column("check_id", sa.String(length=40), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("other_id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("other_attempt_id", sa.String(length=40), nullable=True),
        sa.Column("is_same", sa.Boolean(), nullable=False),
        sa.Column("solves", sa.Integer(), nullable=False),
        sa.Column("others", sa.Integer(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("tried", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_resemblances_attempt_id"),
        sa.ForeignKeyConstraint(
            ["check_id"], ["integrity_checks.id"], name="fk_resemblances_check_id"
        ),
        sa.ForeignKeyConstraint(
            ["other_attempt_id"], ["attempts.id"], name="fk_resemblances_other_attempt_id"
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "other_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_resemblances_run_id_other_id",
        ),
        sa.PrimaryKeyConstraint("check_id", "attempt_id", "other_id", name="pk_resemblances"),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_grades_waiting", "grades")
    op.drop_index("ix_attempts_lately", "attempts")
    op.drop_table("resemblances")
    op.drop_table("claims")
    op.drop_table("uploads")
    op.drop_table("drafts")
    op.drop_table("integrity_checks")
