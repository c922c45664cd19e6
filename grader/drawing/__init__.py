"""Pictures drawn as SVG, from the data that feedback makes; no script and no library is needed."""
