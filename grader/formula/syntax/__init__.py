"""Text → tokens: notation, names, sums, and the constants defined beside a formula."""
