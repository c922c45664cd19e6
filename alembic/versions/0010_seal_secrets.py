"""Let secrets be sealed. No table changes; but a version that knows no seals must not read them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0010"
down_revision = "0009"

_SECRETS = (
    sa.table("runs", sa.column("secret", sa.LargeBinary)).c.secret,
    sa.table("signing_keys", sa.column("private", sa.LargeBinary)).c.private,
)


def upgrade() -> None:
    """Change nothing: secrets are sealed by `grader secrets rotate`."""


def downgrade() -> None:
    """Refuse while a secret is sealed: it would be taken for the secret itself."""
    for column in _SECRETS:
        for stored in op.get_bind().scalars(sa.select(column)):
            if stored.startswith(b"keyset-sealed:"):
                raise CommandError(
                    "Secrets are sealed, which the earlier revision does not know. "
                    "`grader secrets rotate --unseal` stores them as they are."
                )
