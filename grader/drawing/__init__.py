"""Pictures as SVG and as tables, from the data of feedback, without scripts or libraries."""
