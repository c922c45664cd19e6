"""Text to parse tree: notation, names, tokens, and what is said beside a formula."""
