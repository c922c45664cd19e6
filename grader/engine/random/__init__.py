"""Named random streams and what is drawn from them: variants, noise, key sets."""
