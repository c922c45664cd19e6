"""`make bench`: run every benchmark and compare the figures with what is promised."""

from __future__ import annotations

import typer

from bench.engine import run_benchmarks

typer.run(run_benchmarks)
