"""What the demo's students write: for each topic good, half good and poor explanations."""

from __future__ import annotations

import random
from enum import IntEnum


class Quality(IntEnum):
    """How much of what is looked for a text says."""

    POOR = 0
    HALF = 1
    GOOD = 2


_Texts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

_PROBABILITIES: _Texts = (
    (
        "Because softmax is a probability.",
        "They come from a softmax, which is always used for this.",
        "The weights are numbers, and the largest one wins.",
    ),
    (
        "They are all positive, because $e^x > 0$.",
        "They sum to one, since each exponential is divided by the sum of all of them.",
        "We normalise, so $\\sum_i w_i = 1$.",
    ),
    (
        "Exponentials are positive, and dividing each by their sum makes them add up to one: "
        "$w_i > 0$ and $\\sum_i w_i = 1$.",
        "Every $w_i$ is positive, because $\\exp$ is, and the denominator is the sum of all "
        "numerators, so that they sum to 1. That is all a categorical distribution needs.",
        "$w_i \\ge 0$ as a ratio of exponentials; $\\sum_i w_i = 1$ by the common denominator.",
    ),
)

_ONE_KEY: _Texts = (
    (
        "The query has to be similar to the key.",
        "$q$ must be large.",
        "I tried a few numbers until it worked.",
    ),
    (
        "The score of one key is the largest.",
        "$k_j^\\top q$ is bigger than the other scores.",
        "The dot product with this key beats all the others.",
    ),
    (
        "$k_j^\\top q$ exceeds every other score by a wide margin, so that the softmax saturates.",
        "The one score is much larger than all the others; the exponential turns the gap into "
        "nearly all of the weight.",
        "Scores differ by about 40 in favour of $k_j$, and $e^{-40}$ is nothing: the softmax is "
        "practically an arg max.",
    ),
)

_COPY: _Texts = (
    ("It is the average of all values.", "The output is the key."),
    ("It looks a lot like one of the values.", "The output is close to something in $v$."),
    (
        "The output is nearly a copy of $v_j$.",
        "All other values are multiplied by almost zero, so $c \\approx v_j$.",
    ),
)

_LOOK_UP: _Texts = (
    ("Attention is all you need.", "The model pays attention.", "It means that it has learned."),
    ("One input matters more than the rest.", "The query found something that is similar to it."),
    (
        "Attention works as a look-up: the query picks one key and its value is copied.",
        "Like reading from a dictionary: the query matches one key, and out comes its value.",
        "A soft memory that has become hard: one key answers, and its value is returned as it is.",
    ),
)

_AVERAGE: _Texts = (
    ("Because we add them.", "By symmetry.", "The average of two vectors is their sum over two."),
    ("Both keys get the same score.", "The scores of $a$ and $b$ are equal, so are the weights."),
    (
        "The two scores are equal and far above all others, so each gets half of the weight.",
        "$k_a^\\top q = k_b^\\top q = C$ and every other score is 0; for large $C$ the two share "
        "the weight evenly.",
        "Orthonormal keys: the two chosen ones score $C$, the rest zero. $e^C$ dwarfs the rest.",
    ),
)

_SUBSPACE: _Texts = (
    ("It is a projection.", "I multiplied by the inverse.", "$M$ removes what we do not want."),
    (
        "$M$ keeps the first value, because it lies in the span of the basis.",
        "The second subspace is orthogonal to the first, so $M$ takes it to zero.",
    ),
    (
        "$M$ is (a multiple of) the projection on the first subspace: it keeps every vector there "
        "and takes every vector of the second, which is orthogonal, to zero. A factor makes up "
        "for whatever the sum was divided by.",
        "Every basis vector of the first space is reproduced, every one of the second gives "
        "zero, because the bases are orthogonal; by linearity this holds for all values, and the "
        "factor in front undoes the averaging where there is any.",
    ),
)

_NOISY: _Texts = (
    ("The same as before.", "The noise is random, so it cancels.", "Any large query works."),
    ("The noise is very small.", "$\\alpha$ vanishes, so I ignored it."),
    (
        "With vanishing $\\alpha$ each key is practically its mean, and the noise moves the "
        "scores by far less than the gap; so the means may stand for the keys.",
        "$k_i \\approx \\mu_i$: the noise changes a score by about $\\sqrt{\\alpha}\\,\\lVert q "
        "\\rVert$, which is tiny. Then it is the question without noise.",
    ),
)

_STRETCHED: _Texts = (
    ("The variance gets larger.", "The output is noisy.", "Nothing much changes on average."),
    (
        "The output jumps between the two values.",
        "$c$ is at $v_a$ or at $v_b$, hardly ever between them.",
    ),
    (
        "The score of the stretched key varies from sample to sample, and the softmax decides for "
        "one side: the output jumps between the two values. If a key without weight is "
        "stretched, nothing happens.",
        "A longer key wins all of the weight, a shorter one loses it, because the difference is "
        "multiplied by the length of $q$ before the softmax. So $c$ jumps. Stretching a third "
        "key changes nothing: it has almost no weight either way.",
    ),
)

_TWO_HEADS: _Texts = (
    ("Two heads are better than one.", "Each head does half of the work.", "It averages out."),
    (
        "One head looks at $a$, the other one at $b$.",
        "Each head attends to one key, so its output hardly varies.",
    ),
    (
        "The first head attends to $k_a$ and copies $v_a$, the second to $k_b$ and copies $v_b$; "
        "each hardly varies, and their average is what was asked for, other than with one head.",
        "Each head saturates on one key, whose length no longer matters: there is no tie to be "
        "broken. Averaging the two copies stays near $\\frac12(v_a + v_b)$, where a single head "
        "would jump.",
    ),
)

_SELF: _Texts = (
    ("Self-attention mixes all inputs.", "Because $K = Q = V = I$."),
    ("$x_2$ has the largest score with itself, so it copies itself.",),
    (
        "$x_2$ scores highest with itself, so that it copies itself; and whatever is added to it "
        "raises that score, too.",
        "Its own score is $\\lVert x_2 \\rVert^2$, the largest of the row. Adding $u_d$ makes "
        "$x_2$ longer, and its own score grows with it, faster than any other.",
    ),
)

#: By the titles of questions, of which several assignments share some.
EXPLANATIONS: dict[str, _Texts] = {
    "Weights as probabilities": _PROBABILITIES,
    "Copying one value": _ONE_KEY,
    "Nearly all weight on one key": _ONE_KEY,
    "One weight far above the others": _ONE_KEY,
    "The output when one weight dominates": _COPY,
    "What it means": _LOOK_UP,
    "The average of two values": _AVERAGE,
    "Getting one value back out of a sum": _SUBSPACE,
    "Getting one value back out of an average": _SUBSPACE,
    "A query for noisy keys": _NOISY,
    "What a stretched key does": _STRETCHED,
    "Two heads for noisy keys": _TWO_HEADS,
    "What two heads do with a stretched key": _TWO_HEADS,
    "Self-attention without matrices": _SELF,
}

_OPENINGS = ("", "", "", "In short: ", "As I see it: ", "My reasoning: ", "Explanation. ", "Well, ")

#: What the assistant says to each quality; often nothing.
COMMENTS = {
    Quality.POOR: ("Say what the scores do.", "This names it, but does not explain it.", ""),
    Quality.HALF: ("Half of it; what else must hold?", "Right so far. And why?", "", ""),
    Quality.GOOD: ("Well said.", "Clear and complete.", "", "", ""),
}


def write_text(title: str, quality: Quality, rng: random.Random) -> str:
    """An explanation of this quality for the question with this title."""
    return rng.choice(_OPENINGS) + rng.choice(EXPLANATIONS[title][quality])


def find_quality(text: str) -> Quality:
    """The quality of a text that was written here."""
    for texts in EXPLANATIONS.values():
        for quality in Quality:
            if text.endswith(texts[quality]):
                return quality
    return Quality.POOR
