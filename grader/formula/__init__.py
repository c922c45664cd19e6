"""Mathematics as people write it: text → typed tree → NumPy. Nothing is ever executed as Python."""
