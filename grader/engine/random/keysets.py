"""Key sets: the random samples on which an answer is measured.

Gaussian keys are never built. With `k_i = mu_i + sqrt(alpha) z_i` (and, for a stretched
key, `+ sqrt(by) zeta mu_i`), `k q = mu q + Z (sqrt(alpha) q)` needs one product with shared noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.noise import NoiseBank, NoiseName
from grader.formula.eval.buffers import FRESH, Buffers
from grader.formula.eval.evaluate import (
    Environment,
    Evaluation,
    LazyMatrix,
    multiply_columns,
    take_row,
)
from grader.formula.eval.softmax import softmax, softmax_around
from grader.formula.typed.tree import Node

Array = NDArray[Any]

PRACTICE = "practice"
GRADING = "grading"

# No standard normal number is farther from zero: one in 10^23 would be.
_MAX_NORMAL = 10.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """One key with extra variance along its own mean, `by * mu mu^T`."""

    index: str
    by: Node


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """Keys drawn around their means with covariance `variance * I`; one may be stretched."""

    mean: Node
    variance: Node
    stretch: Stretch | None = None

    def sample(self, name: str, source: NoiseSource, environment: Environment) -> LazyMatrix:
        """The keys of the source's key sets, as a lazy matrix."""
        mean = Evaluation(environment).value(self.mean)
        deviation = np.sqrt(Evaluation(environment).value(self.variance))
        noise = source.normals(name, self.mean.shape.axes)
        if self.stretch is None:
            return SampledKeys(mean, deviation, noise, buffers=environment.buffers)
        return SampledKeys(
            mean,
            deviation,
            noise,
            position=environment.indices[self.stretch.index],
            stretch=np.sqrt(Evaluation(environment).value(self.stretch.by))
            * source.normals(f"{name}/stretch", ()),
            buffers=environment.buffers,
        )


@dataclass(frozen=True, slots=True)
class InSpan:
    """A vector in the span of a basis, with standard normal coefficients."""

    basis: Node

    def sample(self, name: str, source: NoiseSource, environment: Environment) -> Array:
        """One vector per answer and key set."""
        basis = Evaluation(environment).value(self.basis)
        coefficients = source.normals(name, (self.basis.shape.columns,))
        return multiply_columns(basis, coefficients[None])


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """The noise of the key sets from `first` to `last`."""

    bank: NoiseBank
    key: bytes
    purpose: str
    first: int
    last: int

    def normals(self, quantity: str, axes: tuple[int, ...]) -> Array:
        """The standard normals of one quantity."""
        name = NoiseName(self.key, self.purpose, quantity, axes)
        return self.bank.normals(name, self.first, self.last)


@dataclass(frozen=True, slots=True)
class KeySets:
    """How the key sets of a question are drawn.

    Parameters
    ----------
    numbers
        Named numbers for the rules, such as alpha; they may depend on the answer.
    rules
        What is sampled, by name.
    counts
        How many key sets are drawn at first, and how many in all while a level is undecided.
    keep
        A condition; key sets that do not meet it are left out.
    called
        What students know them as: key sets, pairs, samples.
    """

    numbers: Mapping[str, Node]
    rules: Mapping[str, GaussianKeys | InSpan]
    counts: tuple[int, ...]
    keep: Node | None = None
    called: str = "key sets"


class SplitScores(NamedTuple):
    """Scores of keys as their `centres`, (B, n), plus noise times `vectors`, (B, d).

    `reach`, (B,), is a number that the noise of an answer's scores stays below.
    """

    centres: Array
    vectors: Array
    reach: Array


@dataclass(eq=False, slots=True)
class SampledKeys(LazyMatrix):
    """Gaussian keys, for every answer and key set.

    Parameters
    ----------
    mean : (B, 1, n, d) array
    deviation : (B, 1) array
    noise : (n, S, d) array
    position : (B,) array of the stretched key's index, or None
    stretch : (B, S) array of the factors by which that key is moved along its mean
    buffers
        Where the scores lie.
    """

    mean: Array
    deviation: Array
    noise: Array
    position: NDArray[np.intp] | None = None
    stretch: Array | None = None
    buffers: Buffers = FRESH

    def times(self, vectors: Array) -> Array:
        """Keys times one vector per answer: scores of shape (B, S, n)."""
        if vectors.shape[1] != 1:
            return np.asarray(np.matmul(self.whole(), vectors[..., None])[..., 0])
        middle = multiply_columns(self.mean, vectors).swapaxes(1, 2)
        scores = self._multiply_all_noise(self.deviation * vectors[:, 0])
        scores += middle
        if self.position is not None and self.stretch is not None:
            answers = np.arange(len(scores))
            shift = take_row(middle[:, None], self.position)[:, 0, 0]
            scores[answers, self.position] += self.stretch * shift[:, None]
        return scores.swapaxes(1, 2)

    def softmax_times(self, vectors: Array) -> Array:
        """Softmax of the keys times one vector per answer: weights of shape (B, S, n)."""
        split = self.split_scores(vectors)
        if split is None:
            return softmax(self.times(vectors), spare=True)
        noise = self._multiply_all_noise(split.vectors)
        centres = split.centres[:, :, None]
        weights = softmax_around(centres, noise, reach=split.reach, buffers=self.buffers)
        return weights.swapaxes(1, 2)

    def split_scores(self, vectors: Array) -> SplitScores | None:
        """Keys times one vector per answer, before anything is multiplied with the noise.

        None where that cannot be split: a key is stretched, or vectors differ between key sets.
        """
        if vectors.shape[1] != 1 or self.stretch is not None:
            return None
        centres = multiply_columns(self.mean, vectors)[:, 0]
        # Scaled by the deviation before, or large vectors would overflow in the product.
        small = self.deviation * vectors[:, 0]
        if len(small) < len(centres):
            small = np.broadcast_to(small, (len(centres), small.shape[1]))
        reach = _MAX_NORMAL * np.sqrt(np.vecdot(small, small))
        return SplitScores(centres, small, reach)

    def multiply_noise(self, vectors: Array, places: NDArray[np.intp] | None, out: Array) -> None:
        """Write the noise of some keys times one vector per answer.

        Parameters
        ----------
        vectors : (B, d) array
        places : (B, m) array of keys, or None for all of them in order
        out : (B, m or n, S) array
        """
        noise = self.noise.swapaxes(1, 2)
        if places is None:
            np.matmul(vectors, noise, out=out.swapaxes(0, 1))
        elif len(places) == 1:
            for column, key in enumerate(places[0].tolist()):
                np.matmul(vectors, noise[key], out=out[:, column])
        else:
            for key, (rows, columns) in _group_by_key(places):
                out[rows, columns] = np.matmul(vectors[rows], noise[key])

    def _multiply_all_noise(self, vectors: Array) -> Array:
        """The noise times one vector per answer, of shape (B, n, S)."""
        keys, sets, _ = self.noise.shape
        product = self.buffers.take((len(vectors), keys, sets))
        self.multiply_noise(vectors, None, product)
        return product

    def row(self, position: int | NDArray[np.intp]) -> Array:
        """One key, of shape (B, S, d)."""
        mean = take_row(self.mean, position)
        keys = mean + self.deviation[..., None] * self.noise[position]
        stretch = self._stretch_of(position)
        return np.asarray(keys if stretch is None else keys + stretch[..., None] * mean)

    def row_dot(self, position: int | NDArray[np.intp], vectors: Array) -> Array:
        """One key times a vector, of shape (B, S)."""
        if vectors.shape[1] != 1:
            return np.asarray(np.einsum("...i,...i->...", self.row(position), vectors))
        middle = np.einsum("...i,...i->...", take_row(self.mean, position), vectors)
        small = self.deviation * vectors[:, 0]
        dotted = middle + np.matmul(self.noise[position], small[..., None])[..., 0]
        stretch = self._stretch_of(position)
        return np.asarray(dotted if stretch is None else dotted + stretch * middle)

    def _stretch_of(self, position: int | NDArray[np.intp]) -> Array | None:
        """The stretch of one key, of shape (B, S); None if no key is stretched."""
        if self.position is None or self.stretch is None:
            return None
        return np.asarray(self.position == position)[:, None] * self.stretch

    def whole(self) -> Array:
        """All keys, of shape (B, S, n, d)."""
        return np.stack([self.row(position) for position in range(len(self.noise))], axis=2)


def _group_by_key(places: NDArray[np.intp]) -> Iterator[tuple[int, tuple[Array, ...]]]:
    """Each key that has a place, with the rows and columns of its places."""
    for key in np.unique(places).tolist():
        yield key, np.nonzero(places == key)


def sample_key_sets(
    key_sets: KeySets, names: Set[str], environment: Environment, source: NoiseSource
) -> Environment:
    """Add the key sets' numbers and the named quantities; the caller silences warnings."""
    values = dict(environment.values)
    known = replace(environment, values=values)
    add_key_sets(key_sets, names, values, known, source)
    return known


def add_key_sets(
    key_sets: KeySets,
    names: Set[str],
    values: dict[str, Array | LazyMatrix],
    known: Environment,
    source: NoiseSource,
) -> None:
    """Add the same to the values of an environment that is still being built."""
    for name, node in key_sets.numbers.items():
        if name not in values:
            values[name] = Evaluation(known).value(node)
    for name in names:
        values[name] = key_sets.rules[name].sample(name, source, known)
