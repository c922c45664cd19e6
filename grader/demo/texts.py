"""What the demo's students and assistant write, read from texts.yaml."""

from __future__ import annotations

import random
from enum import StrEnum
from importlib import resources

import yaml


class Quality(StrEnum):
    """How much of the expected explanation a text gives."""

    POOR = "poor"
    HALF = "half"
    GOOD = "good"


_DATA = yaml.safe_load(resources.files("grader.demo").joinpath("texts.yaml").read_text("utf-8"))

#: The assistant's comments; often there is none.
COMMENTS = {quality: tuple(_DATA["comments"][quality]) for quality in Quality}

#: Texts by the title of the question, which several assignments may share, and by quality.
EXPLANATIONS: dict[str, dict[Quality, tuple[str, ...]]] = {
    title: {quality: tuple(topic[quality]) for quality in Quality}
    for topic in _DATA["explanations"]
    for title in topic["titles"]
}


def write_text(title: str, quality: Quality, rng: random.Random) -> str:
    """Return an explanation of this quality for the question with this title."""
    opening: str = rng.choice(_DATA["openings"])
    return opening + rng.choice(EXPLANATIONS[title][quality])


def find_quality(text: str) -> Quality:
    """Return the quality of a text made by `write_text`."""
    for texts in EXPLANATIONS.values():
        for quality in Quality:
            if text.endswith(texts[quality]):
                return quality
    return Quality.POOR
