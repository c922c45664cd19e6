"""Loading the assignments of a folder, with every error in their files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from grader.domain.validation import YAML, InvalidValue, locate_errors
from grader.engine.question import Question
from grader.errors import FieldPath, FileLocation, OperatorError, RubricError, RubricErrors
from grader.formula.formula import read_tree
from grader.formula.typed.scope import FormulaScope
from grader.formula.typed.tree import Node
from grader.rubric.assignment import AssignmentFile
from grader.rubric.compile import compile_question
from grader.rubric.compile_draws import CompiledQuestion
from grader.rubric.document import RubricDocument, combine_errors, make_error, read_document
from grader.rubric.forms import QuestionFile


@dataclass(frozen=True)
class Rubric:
    """A question's file, read and compiled."""

    assignment: str
    form: QuestionFile
    document: RubricDocument
    compiled: CompiledQuestion
    text: str
    earlier: Rubric | None = None
    """The rubric of the earlier question that this one uses, if any."""

    @cached_property
    def question(self) -> Question:
        """The question, for the engine."""
        return self.compiled.question

    @property
    def scope(self) -> FormulaScope:
        """The names that the file's expressions may use."""
        return self.compiled.scope

    def read_field(self, name: str, text: str) -> Node:
        """Read an author's expression for a field of the answer; the field gives `I` its size."""
        return read_tree(text, self.scope, shape=self.scope.shapes.get(name))

    @cached_property
    def id(self) -> str:
        """Assignment and question, such as `single-head-attention/1e`."""
        return f"{self.assignment}/{self.form.id}"

    @cached_property
    def version(self) -> str:
        """The hash of the file's content."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def versions(self) -> tuple[str, str]:
        """The versions of this file and of the earlier question's, which judge together."""
        return self.version, self.earlier.version if self.earlier else ""


@dataclass(frozen=True, slots=True)
class CompiledAssignment:
    """An assignment with its questions in order."""

    form: AssignmentFile
    text: str
    rubrics: Mapping[str, Rubric]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All assignments by id."""

    assignments: Mapping[str, CompiledAssignment]

    def rubrics(self) -> Iterator[Rubric]:
        """All questions, assignment by assignment."""
        for assignment in self.assignments.values():
            yield from assignment.rubrics.values()

    def get_rubric(self, rubric_id: str) -> Rubric:
        """The question called `ASSIGNMENT/QUESTION`."""
        assignment, _, question = rubric_id.partition("/")
        if assignment not in self.assignments:
            raise OperatorError(
                f"There is no assignment {assignment!r}. Known: {', '.join(self.assignments)}."
            )
        rubrics = self.assignments[assignment].rubrics
        if question not in rubrics:
            raise OperatorError(
                f"{assignment} has no question {question!r}. Known: {', '.join(rubrics)}."
            )
        return rubrics[question]


def get_shipped_folder() -> Path:
    """The folder of the shipped rubrics, in the source tree or the installed package."""
    package = Path(str(resources.files("grader")))
    for folder in (package / "_shipped" / "rubrics", package.parent / "rubrics"):
        if folder.is_dir():
            return folder
    raise OperatorError("The shipped rubrics are not installed; give the folder of your own.")


def load_catalog(folder: Path) -> Catalog:
    """Load every assignment in a folder; the folder may also be a single assignment.

    Raises
    ------
    RubricErrors
        With the errors of all files.
    """
    if not folder.is_dir():
        raise OperatorError(f"There is no folder {folder}.")
    if (folder / "assignment.yaml").is_file():
        folders = [folder]
    else:
        folders = sorted(path.parent for path in folder.glob("*/assignment.yaml"))
    if not folders:
        raise OperatorError(
            f"There is no assignment in {folder}: no folder in it has an assignment.yaml."
        )
    errors: list[RubricError] = []
    assignments = {}
    for each in folders:
        try:
            assignment = load_assignment(each)
            assignments[assignment.form.id] = assignment
        except RubricErrors as refused:
            errors.extend(refused.errors)
    if errors:
        raise RubricErrors(errors)
    return Catalog(assignments)


def load_assignment(folder: Path) -> CompiledAssignment:
    """Load one assignment: its own file and the files of its questions."""
    folder = folder.resolve()
    form = _load_text(folder / "assignment.yaml")
    files = [file for file in sorted(folder.glob("*.yaml")) if file.stem != "assignment"]
    errors: list[RubricError] = []
    rubrics = {}
    for file in files:
        try:
            rubrics[file.stem] = _load_text(file)
        except RubricErrors as refused:
            errors.extend(refused.errors)
    if errors:
        raise RubricErrors(errors)
    return read_assignment(folder.name, form, rubrics)


def read_assignment(name: str, form: str, rubrics: Mapping[str, str]) -> CompiledAssignment:
    """Read an assignment from the texts of its own file and of its questions' files."""
    path = Path(name) / "assignment.yaml"
    read = to_model(read_document(form, file=_shorten_path(path)), AssignmentFile)
    errors: list[RubricError] = []
    if read.id != name:
        errors.append(_make_error(path, f"the id is {read.id!r}, but the folder is {name!r}"))
    for stray in sorted(set(rubrics) - set(read.questions)):
        errors.append(_make_error(path, f"{stray}.yaml is not listed under questions"))
    compiled: dict[str, Rubric] = {}
    for question in read.questions:
        if question not in rubrics:
            errors.append(_make_error(path, f"the question {question} has no file {question}.yaml"))
            continue
        try:
            compiled[question] = read_rubric(
                rubrics[question],
                path=path.with_name(f"{question}.yaml"),
                assignment=read.id,
                earlier=compiled,
            )
        except RubricErrors as refused:
            errors.extend(each for each in refused.errors if not (errors and _is_follow_up(each)))
    if errors:
        raise RubricErrors(errors)
    return CompiledAssignment(read, form, compiled)


def _is_follow_up(error: RubricError) -> bool:
    """Whether an error may be due to errors in an earlier question."""
    return error.field == "uses.question"


def read_rubric(text: str, *, path: Path, assignment: str, earlier: Mapping[str, Rubric]) -> Rubric:
    """Read one question from its text; the path is only for the locations of errors."""
    document = read_document(text, file=_shorten_path(path))
    form = to_model(document, QuestionFile)
    if form.id != path.stem:
        raise RubricErrors(
            [_make_error(path, f"the id is {form.id!r}, but the file is {path.name}")]
        )
    compiled = compile_question(
        form,
        document,
        assignment=assignment,
        earlier={name: rubric.compiled for name, rubric in earlier.items()},
    )
    before = earlier[form.uses.question] if form.uses else None
    return Rubric(assignment, form, document, compiled, text, before)


def _load_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RubricErrors(
            [_make_error(path, f"the file is not UTF-8 text: {error.reason}")]
        ) from None
    except OSError as error:
        raise RubricErrors(
            [_make_error(path, f"the file cannot be read: {error.strerror}")]
        ) from None


def _shorten_path(path: Path) -> str:
    """The last two parts of a path: enough to find the file, nothing about the machine."""
    return "/".join(path.parts[-2:])


def _make_error(path: Path, message: str) -> RubricError:
    return RubricError(message, place=FileLocation(_shorten_path(path), 1, 1))


ModelT = TypeVar("ModelT", bound=BaseModel)


def to_model(document: RubricDocument, model: type[ModelT]) -> ModelT:
    """Return the document's data as a model.

    The data are passed on as JSON, because a strict model makes no tuples, decimals, dates or enums
    of Python's lists, numbers and texts.

    Raises
    ------
    RubricErrors
        With everything that does not fit, sorted by line.
    """
    try:
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        found = locate_errors(error.errors(include_url=False), document.data, YAML)
    raise combine_errors(
        [
            make_error(
                document,
                each.path,
                each.phrase + _suggest_keys(model, each),
                at_key=each.code == "value.unknown" or each.loc[-1:] == ("[key]",),
            )
            for each in found
        ]
    )


def _suggest_keys(model: type[BaseModel], error: InvalidValue) -> str:
    """For an unknown key, the known key it resembles or all known keys; else nothing."""
    if error.code != "value.unknown":
        return ""
    known = _list_known_keys(model, error.loc[:-1], error.labels)
    if near := get_close_matches(str(error.loc[-1]), known, n=1):
        return f"; did you mean {near[0]!r}?"
    return f"; known keys: {', '.join(known)}" if known else ""


def _list_known_keys(model: type[BaseModel], loc: FieldPath, labels: tuple[int, ...]) -> list[str]:
    """Return the keys a model knows at pydantic's path, as far as its JSON Schema tells."""
    schema = _schema(model)
    nodes = _branches(schema, schema)
    for position, part in enumerate(loc):
        step = _labelled if position in labels else _below
        nodes = [found for node in step(nodes, part) for found in _branches(schema, node)]
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", {})))


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def _branches(schema: dict[str, Any], node: Any) -> list[dict[str, Any]]:
    """Return the node with all alternatives it consists of or refers to."""
    if not isinstance(node, dict):
        return []
    if "$ref" in node:
        return _branches(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    inner = [branch for name in ("anyOf", "oneOf", "allOf") for branch in node.get(name, ())]
    return [node, *(found for branch in inner for found in _branches(schema, branch))]


def _labelled(nodes: list[dict[str, Any]], label: str | int) -> list[Any]:
    """Return the branch of a union by its tag or its model's name, or all where neither tells."""
    tagged = [node.get("discriminator", {}).get("mapping", {}).get(label) for node in nodes]
    named = [node for node in nodes if "properties" in node and node.get("title") == label]
    return [{"$ref": reference} for reference in tagged if reference] or named or nodes


def _below(nodes: list[dict[str, Any]], part: str | int) -> list[Any]:
    """Return the schemas of a list's entry or of a key's value."""
    if isinstance(part, int):
        entries = [node.get("prefixItems", [])[part : part + 1] for node in nodes]
        return [*chain.from_iterable(entries), *(node.get("items") for node in nodes)]
    own = [node["properties"][part] for node in nodes if part in node.get("properties", {})]
    return own or [node.get("additionalProperties") for node in nodes]
