"""Use cases: people, courses, rosters, tokens, signing in."""
