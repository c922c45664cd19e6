"""The pages under `/docs`, rendered from OpenAPI."""
