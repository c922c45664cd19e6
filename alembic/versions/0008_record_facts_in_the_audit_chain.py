"""Record facts in the audit chain.

The rows of before are recorded after the last migration, by `record_existing_rows`: it reads them
by the columns of today.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add what an entry of the chain records of the rows that its action changed."""
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.add_column(sa.Column("facts", sa.Text(), nullable=True))


def downgrade() -> None:
    """Undo it; the digests of the facts stay in the chain, which goes on being intact."""
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.drop_column("facts")
