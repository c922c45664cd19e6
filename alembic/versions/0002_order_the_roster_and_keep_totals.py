"""Order the roster and keep totals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Order the roster and keep totals."""
    op.add_column(
        "enrolments", sa.Column("login", sa.String(length=200), nullable=False, server_default="")
    )
    op.execute(
        "UPDATE enrolments SET login ="
        " (SELECT people.login FROM people WHERE people.id = enrolments.person_id)"
    )
    op.create_index("ix_enrolments_run_id_login", "enrolments", ["run_id", "login"])
    op.create_index(
        "ix_enrolments_run_id_section_login", "enrolments", ["run_id", "section", "login"]
    )
    op.drop_index("ix_grades_run_id_assignment_question", table_name="grades")
    op.create_index(
        "ix_grades_run_id_assignment_question_points_enrolment_id",
        "grades",
        ["run_id", "assignment", "question", "points", "enrolment_id"],
    )
    op.create_table(
        "totals",
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_totals_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("enrolment_id", "assignment", name="pk_totals"),
    )
    op.create_index(
        "ix_totals_run_id_assignment_points_enrolment_id",
        "totals",
        ["run_id", "assignment", "points", "enrolment_id"],
    )
    op.execute(
        "INSERT INTO totals (run_id, enrolment_id, assignment, points, pending)"
        " SELECT run_id, enrolment_id, assignment, COALESCE(SUM(points), 0), SUM(pending)"
        " FROM grades GROUP BY run_id, enrolment_id, assignment"
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("totals")
    op.drop_index("ix_grades_run_id_assignment_question_points_enrolment_id", table_name="grades")
    op.create_index(
        "ix_grades_run_id_assignment_question", "grades", ["run_id", "assignment", "question"]
    )
    op.drop_index("ix_enrolments_run_id_section_login", table_name="enrolments")
    op.drop_index("ix_enrolments_run_id_login", table_name="enrolments")
    op.drop_column("enrolments", "login")
