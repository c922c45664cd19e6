"""Errors on the wire: problem documents, their codes, and how OpenAPI describes them."""
