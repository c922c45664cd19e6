"""Keep regrades and jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Keep regrades and jobs."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("subject", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("phase", sa.String(length=64), nullable=False),
        sa.Column("phase_began_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'done', 'failed', 'cancelled')", name="ck_jobs_state_is_known"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_jobs_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state_made_at", "jobs", ["state", "made_at"])
    op.create_index("ix_jobs_subject", "jobs", ["subject"])
    op.create_table(
        "job_pieces",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("owner", sa.String(length=40), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_pieces_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_job_pieces"),
    )
    op.create_index("ix_job_pieces_leased_until", "job_pieces", ["leased_until"])
    op.create_table(
        "regrades",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("publication_id", sa.String(length=40), nullable=False),
        sa.Column("questions", sa.Text(), nullable=False),
        sa.Column("judges_all", sa.Boolean(), nullable=False),
        sa.Column("never_lower", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_by", sa.String(length=40), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("undo_reason", sa.Text(), nullable=False),
        sa.Column("undone_by", sa.String(length=40), nullable=True),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('judging', 'ready', 'applied', 'undone', 'discarded', 'declined')",
            name="ck_regrades_state_is_known",
        ),
        sa.ForeignKeyConstraint(
            ["publication_id"], ["publications.id"], name="fk_regrades_publication_id"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_regrades_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_regrades"),
        sa.UniqueConstraint(
            "run_id", "assignment", "number", name="uq_regrades_run_id_assignment_number"
        ),
    )
    op.create_table(
        "regrade_left_out",
        sa.Column("regrade_id", sa.String(length=40), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempts.id"], name="fk_regrade_left_out_attempt_id"
        ),
        sa.ForeignKeyConstraint(
            ["regrade_id"], ["regrades.id"], name="fk_regrade_left_out_regrade_id"
        ),
        sa.PrimaryKeyConstraint("regrade_id", "attempt_id", name="pk_regrade_left_out"),
    )
    op.create_table(
        "regraded_grades",
        sa.Column("regrade_id", sa.String(length=40), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("side", sa.String(length=64), nullable=False),
        sa.Column("gain", sa.Integer(), nullable=False),
        sa.Column("criteria", sa.Text(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=True),
        sa.Column("possible", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("counted_attempt_id", sa.String(length=40), nullable=True),
        sa.Column("counted_points", sa.Integer(), nullable=True),
        sa.Column("counted_pending", sa.Integer(), nullable=True),
        sa.Column("late_days", sa.Integer(), nullable=False),
        sa.Column("is_overridden", sa.Boolean(), nullable=False),
        sa.Column("needs_person", sa.Boolean(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.CheckConstraint("side IN ('before', 'after')", name="ck_regraded_grades_side_is_known"),
        sa.ForeignKeyConstraint(
            ["counted_attempt_id"], ["attempts.id"], name="fk_regraded_grades_counted_attempt_id"
        ),
        sa.ForeignKeyConstraint(
            ["regrade_id"], ["regrades.id"], name="fk_regraded_grades_regrade_id"
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_regraded_grades_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint(
            "regrade_id", "enrolment_id", "question", "side", name="pk_regraded_grades"
        ),
    )
    op.create_index("ix_regraded_grades_enrolment_id", "regraded_grades", ["enrolment_id"])
    op.create_index(
        "ix_regraded_grades_regrade_id_side_gain_enrolment_id",
        "regraded_grades",
        ["regrade_id", "side", "gain", "enrolment_id"],
    )
    with op.batch_alter_table("external_scores", schema=None) as batch_op:
        batch_op.add_column(sa.Column("possible", sa.Integer(), nullable=True))

    with op.batch_alter_table("judgements", schema=None) as batch_op:
        batch_op.add_column(sa.Column("regrade_id", sa.String(length=40), nullable=True))
        batch_op.create_index(
            "ix_judgements_regrade_id",
            ["regrade_id"],
            unique=False,
            sqlite_where=sa.text("regrade_id IS NOT NULL"),
            postgresql_where=sa.text("regrade_id IS NOT NULL"),
        )
        batch_op.create_foreign_key("fk_judgements_regrade_id", "regrades", ["regrade_id"], ["id"])

    with op.batch_alter_table("overrides", schema=None) as batch_op:
        batch_op.add_column(sa.Column("possible", sa.Integer(), nullable=True))

    # A grade is told out of what its attempt was judged out of, where that is what decides.
    op.execute(
        """
        UPDATE grades SET possible = coalesce(
            (
                SELECT judgements.possible FROM judgements
                WHERE judgements.attempt_id = grades.counted_attempt_id
                ORDER BY judgements.number DESC LIMIT 1
            ),
            possible
        )
        WHERE counted_attempt_id IS NOT NULL AND NOT is_overridden AND NOT EXISTS (
            SELECT 1 FROM external_scores
            WHERE external_scores.enrolment_id = grades.enrolment_id
            AND external_scores.assignment = grades.assignment
            AND external_scores.question = grades.question
        )
        """
    )


def downgrade() -> None:
    """Undo it; what regrades have judged stays where they are applied."""
    op.execute(
        "DELETE FROM judgements WHERE regrade_id IN "
        "(SELECT id FROM regrades WHERE state <> 'applied')"
    )
    with op.batch_alter_table("overrides", schema=None) as batch_op:
        batch_op.drop_column("possible")

    with op.batch_alter_table("judgements", schema=None) as batch_op:
        batch_op.drop_constraint("fk_judgements_regrade_id", type_="foreignkey")
        batch_op.drop_index(
            "ix_judgements_regrade_id",
            sqlite_where=sa.text("regrade_id IS NOT NULL"),
            postgresql_where=sa.text("regrade_id IS NOT NULL"),
        )
        batch_op.drop_column("regrade_id")

    with op.batch_alter_table("external_scores", schema=None) as batch_op:
        batch_op.drop_column("possible")

    op.drop_table("regraded_grades")
    op.drop_table("regrade_left_out")
    op.drop_table("regrades")
    op.drop_table("job_pieces")
    op.drop_table("jobs")
