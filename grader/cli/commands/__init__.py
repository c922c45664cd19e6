"""The commands, one module for each; `main` imports the one that is called."""
