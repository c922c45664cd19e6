"""Create the first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "courses",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_courses"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("caller", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_digest", sa.String(length=80), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("caller", "key", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_made_at", "idempotency_keys", ["made_at"])
    op.create_table(
        "people",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("login", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=200), nullable=True),
        sa.Column("is_operator", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("login", name="uq_people_login"),
    )
    op.create_table(
        "rubric_texts",
        sa.Column("version", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_rubric_texts"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("private", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_signing_keys"),
    )
    op.create_table(
        "browser_sessions",
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("person_id", sa.String(length=40), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_browser_sessions_person_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_browser_sessions"),
    )
    op.create_index("ix_browser_sessions_person_id", "browser_sessions", ["person_id"])
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("course_id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name="fk_runs_course_id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_table(
        "sign_in_links",
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("person_id", sa.String(length=40), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_sign_in_links_person_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_in_links"),
    )
    op.create_index("ix_sign_in_links_person_id", "sign_in_links", ["person_id"])
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=80), nullable=False),
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_audit_run_id"),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
        sa.UniqueConstraint("digest", name="uq_audit_digest"),
    )
    op.create_index("ix_audit_run_id", "audit", ["run_id"])
    op.create_table(
        "enrolments",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=40), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.Column("section", sa.String(length=200), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("left_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "role IN ('student', 'assistant', 'instructor')", name="ck_enrolments_role_is_known"
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_enrolments_person_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_enrolments_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_enrolments"),
        sa.UniqueConstraint("run_id", "id", name="uq_enrolments_run_id_id"),
        sa.UniqueConstraint("run_id", "person_id", name="uq_enrolments_run_id_person_id"),
    )
    op.create_index("ix_enrolments_person_id", "enrolments", ["person_id"])
    op.create_table(
        "publications",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_publications_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_publications"),
        sa.UniqueConstraint(
            "run_id", "assignment", "number", name="uq_publications_run_id_assignment_number"
        ),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("hint", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("person_id", sa.String(length=40), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(person_id IS NULL) <> (run_id IS NULL)", name="ck_tokens_has_one_owner"
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_tokens_person_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_tokens_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
    op.create_index("ix_tokens_person_id", "tokens", ["person_id"])
    op.create_index("ix_tokens_run_id", "tokens", ["run_id"])
    op.create_table(
        "attempts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("answer_digest", sa.String(length=80), nullable=False),
        sa.Column("publication_id", sa.String(length=40), nullable=False),
        sa.Column("uses_attempt_id", sa.String(length=40), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["publication_id"], ["publications.id"], name="fk_attempts_publication_id"
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_attempts_run_id_enrolment_id",
        ),
        sa.ForeignKeyConstraint(
            ["uses_attempt_id"], ["attempts.id"], name="fk_attempts_uses_attempt_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
        sa.UniqueConstraint(
            "enrolment_id",
            "assignment",
            "question",
            "number",
            name="uq_attempts_enrolment_id_assignment_question_number",
        ),
    )
    op.create_index(
        "ix_attempts_run_id_assignment_question", "attempts", ["run_id", "assignment", "question"]
    )
    op.create_table(
        "extensions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("extra_attempts", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_extensions_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_extensions"),
        sa.UniqueConstraint(
            "enrolment_id",
            "assignment",
            "number",
            name="uq_extensions_enrolment_id_assignment_number",
        ),
    )
    op.create_table(
        "external_scores",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_external_scores_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_external_scores"),
        sa.UniqueConstraint(
            "enrolment_id",
            "assignment",
            "question",
            "number",
            name="uq_external_scores_enrolment_id_assignment_question_number",
        ),
    )
    op.create_table(
        "overrides",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_overrides_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_overrides"),
        sa.UniqueConstraint(
            "enrolment_id",
            "assignment",
            "question",
            "number",
            name="uq_overrides_enrolment_id_assignment_question_number",
        ),
    )
    op.create_table(
        "publication_parts",
        sa.Column("publication_id", sa.String(length=40), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=80), nullable=False),
        sa.ForeignKeyConstraint(
            ["publication_id"], ["publications.id"], name="fk_publication_parts_publication_id"
        ),
        sa.ForeignKeyConstraint(
            ["version"], ["rubric_texts.version"], name="fk_publication_parts_version"
        ),
        sa.PrimaryKeyConstraint("publication_id", "question", name="pk_publication_parts"),
    )
    op.create_table(
        "variants",
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("question", sa.String(length=200), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("drawn", sa.Text(), nullable=False),
        sa.Column("shown_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_variants_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("enrolment_id", "question", "revision", name="pk_variants"),
    )
    op.create_table(
        "views",
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_views_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("enrolment_id", "assignment", "question", name="pk_views"),
    )
    op.create_table(
        "grades",
        sa.Column("enrolment_id", sa.String(length=40), nullable=False),
        sa.Column("assignment", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=64), nullable=False),
        sa.Column("points", sa.Integer(), nullable=True),
        sa.Column("possible", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("counted_attempt_id", sa.String(length=40), nullable=True),
        sa.Column("late_days", sa.Integer(), nullable=False),
        sa.Column("is_overridden", sa.Boolean(), nullable=False),
        sa.Column("needs_person", sa.Boolean(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["counted_attempt_id"], ["attempts.id"], name="fk_grades_counted_attempt_id"
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "enrolment_id"],
            ["enrolments.run_id", "enrolments.id"],
            name="fk_grades_run_id_enrolment_id",
        ),
        sa.PrimaryKeyConstraint("enrolment_id", "assignment", "question", name="pk_grades"),
    )
    op.create_index("ix_grades_counted_attempt_id", "grades", ["counted_attempt_id"])
    op.create_index(
        "ix_grades_run_id_assignment_question", "grades", ["run_id", "assignment", "question"]
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rubric_version", sa.String(length=80), nullable=False),
        sa.Column("verdicts", sa.Text(), nullable=False),
        sa.Column("misconceptions", sa.Text(), nullable=False),
        sa.Column("uses", sa.String(length=64), nullable=True),
        sa.Column("awarded", sa.Integer(), nullable=False),
        sa.Column("possible", sa.Integer(), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=False),
        sa.Column("needs_person", sa.Boolean(), nullable=False),
        sa.Column("receipt", sa.Text(), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_judgements_attempt_id"),
        sa.ForeignKeyConstraint(
            ["rubric_version"], ["rubric_texts.version"], name="fk_judgements_rubric_version"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_judgements_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_judgements"),
        sa.UniqueConstraint("attempt_id", "number", name="uq_judgements_attempt_id_number"),
    )
    op.create_index("ix_judgements_run_id", "judgements", ["run_id"])
    op.create_table(
        "reviews",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("criterion", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_reviews_attempt_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_reviews_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_reviews"),
        sa.UniqueConstraint(
            "attempt_id", "criterion", "number", name="uq_reviews_attempt_id_criterion_number"
        ),
    )
    op.create_index("ix_reviews_run_id", "reviews", ["run_id"])


def downgrade() -> None:
    """Undo it."""
    op.drop_table("reviews")
    op.drop_table("judgements")
    op.drop_table("grades")
    op.drop_table("views")
    op.drop_table("variants")
    op.drop_table("publication_parts")
    op.drop_table("overrides")
    op.drop_table("external_scores")
    op.drop_table("extensions")
    op.drop_table("attempts")
    op.drop_table("tokens")
    op.drop_table("publications")
    op.drop_table("enrolments")
    op.drop_table("audit")
    op.drop_table("sign_in_links")
    op.drop_table("runs")
    op.drop_table("browser_sessions")
    op.drop_table("signing_keys")
    op.drop_table("rubric_texts")
    op.drop_table("people")
    op.drop_table("idempotency_keys")
    op.drop_table("courses")
