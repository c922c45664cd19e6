"""The JSON API: a route translates in, calls one use case or one query, translates out."""
