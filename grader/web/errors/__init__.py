"""Errors over HTTP: problem documents, their codes, and how OpenAPI describes them."""
