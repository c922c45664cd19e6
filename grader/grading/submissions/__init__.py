"""An answer arrives: checked, drafted, uploaded, prepared, judged and stored."""
