"""The only SQL: tables, queries, and the one writer. Queries give frozen lines, never rows."""
