"""The checks of `grader verify`, each of which looks at one kind of thing in the store."""
