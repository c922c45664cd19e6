"""A person's word on written parts: what is to be reviewed, by whom, and saving it."""
