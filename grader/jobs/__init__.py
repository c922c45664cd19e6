"""Work that goes on in the background of a process."""
