"""The command line: grades, shows and checks without a server, and draws what an answer does."""
