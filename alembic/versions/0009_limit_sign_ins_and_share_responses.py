"""Limit sign-ins, name who made a token, and store equal responses once."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_KEYS = sa.table(
    "idempotency_keys",
    sa.column("caller", sa.String),
    sa.column("key", sa.String),
    sa.column("body", sa.Text),
    sa.column("body_digest", sa.String),
    sa.column("made_at", sa.DateTime(timezone=True)),
)
_RESPONSES = sa.table(
    "idempotent_responses",
    sa.column("digest", sa.String),
    sa.column("body", sa.Text),
    sa.column("made_at", sa.DateTime(timezone=True)),
)


def upgrade() -> None:
    """Limit sign-ins, name who made a token, and store equal responses once."""
    op.create_table(
        "failed_sign_ins",
        sa.Column("login_digest", sa.String(length=80), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("login_digest", name="pk_failed_sign_ins"),
    )
    op.create_index("ix_failed_sign_ins_began_at", "failed_sign_ins", ["began_at"])
    _name_makers()
    op.create_table(
        "idempotent_responses",
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_idempotent_responses"),
    )
    op.create_index("ix_idempotent_responses_made_at", "idempotent_responses", ["made_at"])
    op.add_column("idempotency_keys", sa.Column("body_digest", sa.String(length=80)))
    _share_responses()
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.alter_column("body_digest", existing_type=sa.String(length=80), nullable=False)
        batch_op.drop_column("body")


def _name_makers() -> None:
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.add_column(sa.Column("maker_id", sa.String(length=40), nullable=True))
        batch_op.create_foreign_key("fk_tokens_maker_id", "people", ["maker_id"], ["id"])
    op.execute(
        "UPDATE tokens SET maker_id = by"
        " WHERE run_id IS NOT NULL AND by IN (SELECT people.id FROM people)"
    )
    # A service may have made a token, and another one by that. A token is older than those that
    # were made by it.
    made_by_services = sa.text(
        "SELECT id, by FROM tokens WHERE run_id IS NOT NULL AND maker_id IS NULL"
        " ORDER BY made_at, id"
    )
    connection = op.get_bind()
    for token_id, by in connection.execute(made_by_services).all():
        connection.execute(
            sa.text(
                "UPDATE tokens SET maker_id ="
                " (SELECT other.maker_id FROM tokens AS other WHERE other.id = :by)"
                " WHERE id = :token_id"
            ),
            {"by": by, "token_id": token_id},
        )


def _share_responses() -> None:
    connection = op.get_bind()
    # The oldest come first, so that a body has the time of the newest key that got it.
    wanted = sa.select(_KEYS.c.caller, _KEYS.c.key, _KEYS.c.made_at).order_by(_KEYS.c.made_at)
    known = set()
    for caller, key, made_at in connection.execute(wanted).all():
        is_it = sa.and_(_KEYS.c.caller == caller, _KEYS.c.key == key)
        # All bodies together may not fit into memory.
        body = connection.execute(sa.select(_KEYS.c.body).where(is_it)).scalar_one()
        digest = hashlib.sha256(body.encode()).hexdigest()
        if digest in known:
            is_same = _RESPONSES.c.digest == digest
            connection.execute(sa.update(_RESPONSES).where(is_same).values(made_at=made_at))
        else:
            new = {"digest": digest, "body": body, "made_at": made_at}
            connection.execute(sa.insert(_RESPONSES).values(**new))
        connection.execute(sa.update(_KEYS).where(is_it).values(body_digest=digest))
        known.add(digest)


def downgrade() -> None:
    """Undo it."""
    op.add_column("idempotency_keys", sa.Column("body", sa.Text()))
    op.execute(
        "UPDATE idempotency_keys SET body = COALESCE((SELECT idempotent_responses.body"
        " FROM idempotent_responses WHERE idempotent_responses.digest = body_digest), '')"
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.alter_column("body", existing_type=sa.Text(), nullable=False)
        batch_op.drop_column("body_digest")
    op.drop_table("idempotent_responses")
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_constraint("fk_tokens_maker_id", type_="foreignkey")
        batch_op.drop_column("maker_id")
    op.drop_table("failed_sign_ins")
