"""Pages for staff: home, analytics, integrity, rubrics, the roster."""
