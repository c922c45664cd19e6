"""What Alembic runs for every command; `grader.store.migrations` hands it an open transaction.

The models are not given to it but for comparing: a migration says everything itself, so that an
old one still does what it did when it was written.
"""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    transactional_ddl=True,
    render_as_batch=True,
    **context.config.attributes["comparison"],
)
context.run_migrations()
