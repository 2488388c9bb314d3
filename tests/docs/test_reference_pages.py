"""Tables on pages say what the code says: keys of course.toml, fields of results, verdicts, limits, files."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import msgspec
import pytest
from pages import PAGES, blocks, table_under
from shared import REPO

from grader import results
from grader.course import Course
from grader.course.tables import ManifestEntry
from grader.errors import CourseError
from grader.results import VerdictKind
from grader.sandbox.limits import Limits
from grader.sandbox.sandbox import full_set
from grader.testkit import observation, strategies

DOCS = REPO / "docs"
NO_KEYS = ("topic", "manual", "is_package", "<topic>", "<manual>", "<package>")
"""Fields of a topic and its exercises that follow from the place of a table."""
LIMITS = {
    "check_seconds": "10 s",
    "topic_seconds": "60 s",
    "memory_bytes": "2 GiB",
    "processes": "64",
    "file_bytes": "16 MiB",
    "print_bytes": "64 KiB",
}


def structs_in(struct: type[msgspec.Struct], heading: str = "") -> dict[str, type[msgspec.Struct]]:
    """The structs that a manifest is read into, by the TOML table that each stands for."""
    found = {}
    for name, hint in typing.get_type_hints(struct).items():
        if name in NO_KEYS:
            continue
        listed = [part for part in (hint, *typing.get_args(hint)) if isinstance(part, type)]
        for inner in listed:
            if issubclass(inner, msgspec.Struct):
                path = f"{heading}.{name}" if heading else name
                found[f"[{path}]" if inner is hint else f"[[{path}]]"] = inner
                found |= structs_in(inner, path)
    return found


def keys_of(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """The keys that a table may have, of the struct that it is read into. `NO_KEYS` are none of them."""
    return {field.encode_name: field for field in msgspec.structs.fields(struct) if field.encode_name not in NO_KEYS}


TABLES = structs_in(ManifestEntry)


def test_course_toml_is_documented_table_by_table() -> None:
    headings = re.findall(r"^## `(\[+[\w.]+\]+)`$", (DOCS / "course-toml.md").read_text(), re.MULTILINE)
    assert headings == list(TABLES) and len(headings) == 8


@pytest.mark.parametrize("table", TABLES)
def test_every_key_of_a_table_is_documented_and_every_documented_key_exists(table: str) -> None:
    keys = keys_of(TABLES[table])
    documented = table_under(DOCS / "course-toml.md", f"## `{table}`")
    assert set(documented) == set(keys)
    for name, (_, presence, meaning) in documented.items():
        assert (presence == "required") == keys[name].required or name == "exercises", name
        assert meaning


def test_an_exercise_does_not_name_its_topic(tmp_path: Path) -> None:
    example = next(block.text for block in blocks(DOCS / "course-toml.md") if block.language == "toml")
    (tmp_path / "course.toml").write_text(example.replace("points = 1", 'points = 1\ntopic = "vectors"'))
    with pytest.raises(CourseError, match="topic"):
        Course.load(tmp_path, complete=False)


def test_a_topic_does_not_list_what_a_person_marks_apart(tmp_path: Path) -> None:
    example = next(block.text for block in blocks(DOCS / "course-toml.md") if block.language == "toml")
    (tmp_path / "course.toml").write_text(example.replace('name = "vectors"', 'name = "vectors"\nmanual = []'))
    with pytest.raises(CourseError, match="manual"):
        Course.load(tmp_path, complete=False)


def test_examples_of_course_toml_are_courses(tmp_path: Path) -> None:
    examples = [block for block in blocks(DOCS / "course-toml.md") if block.language == "toml"]
    assert examples
    for example in examples:
        (tmp_path / "course.toml").write_text(example.text)
        assert Course.load(tmp_path, complete=False).topics


STRUCTS = [
    value
    for value in vars(results).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == results.__name__
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_of_a_result_is_documented_and_every_documented_field_exists(struct: type[msgspec.Struct]) -> None:
    documented = table_under(DOCS / "results.md", f"### {struct.__name__}")
    assert set(documented) == {field.encode_name for field in msgspec.structs.fields(struct)}


def test_every_verdict_is_documented_and_whether_it_counts() -> None:
    table = table_under(DOCS / "results.md", "## Verdicts of a check")
    assert set(table) == set(typing.get_args(VerdictKind))
    leaves = {verdict for verdict, cells in table.items() if cells[-1].startswith("no")}
    assert leaves == set(results.NOT_ASSESSED)


def test_every_kind_of_cause_is_documented_with_its_verdict() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", (DOCS / "results.md").read_text(), re.MULTILINE)
    assert dict(rows) == dict(results.VERDICT_OF)


def test_layers_and_limits_of_the_security_model_are_those_of_the_sandbox() -> None:
    text = (DOCS / "security.md").read_text()
    layers = set(re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE))))
    assert set(full_set()) <= layers <= {*full_set(), "uid", "user-namespace"}
    defaults = {name: getattr(Limits(), name) for name in LIMITS}
    units = {"s": 1, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
    for name, shown in LIMITS.items():
        number, _, unit = shown.partition(" ")
        assert defaults[name] == int(number) * units.get(unit, 1), name
    assert re.findall(r"^\| [^|`]+ \| (\d[^|]*?) \| `--", text, re.MULTILINE) == list(LIMITS.values())


def test_table_of_rules_names_files_that_exist() -> None:
    rules = (DOCS / "architecture.md").read_text().partition("## Where a rule is\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", rules, re.MULTILINE)
    assert len(rows) >= 30
    for question, answer in rows:
        files = re.findall(r"`([^`]+)`", answer)
        assert files and [file for file in files if not (REPO / "grader" / file).is_file()] == [], question


def test_map_has_every_folder_of_the_package_in_the_order_of_the_layers() -> None:
    text = (DOCS / "architecture.md").read_text()
    rows = re.findall(r"^\| (\d) \| `grader/(\w+)/`", text, re.MULTILINE)
    folders = {file.parent.name for file in (REPO / "grader").glob("*/__init__.py")}
    assert {folder for _, folder in rows} == folders
    project = msgspec.toml.decode((REPO / "pyproject.toml").read_bytes())
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    place = {part.strip(): number for number, layer in enumerate(layers) for part in layer.split("|")}
    assert [int(number) for number, _ in rows] == [place[f"grader.{folder}"] for _, folder in rows]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    of_a_course = {block.value for block in blocks(page) if block.kind == "file"}
    of_a_course |= {"checks/expected.py", "checks/reference/", "checks/slips.py"}
    folders = {file.name for file in REPO.iterdir() if file.is_dir() and not file.name.startswith(".")}
    inside = {file.name for file in (REPO / "grader").iterdir() if file.is_dir()}
    for name in re.findall(r"`([a-z]\w*/[\w./-]*)`", page.read_text(encoding="utf-8")):
        first = name.partition("/")[0]
        if first in folders | inside and name not in of_a_course and "TOPIC" not in name:
            assert (REPO / name).exists() or (REPO / "grader" / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_reader_sees_the_name_of_each_file_to_write(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.kind == "file":
            assert f"`{block.value}`:\n\n<!-- {block.mark} -->" in text


def test_kinds_of_tensors_are_documented() -> None:
    documented = [name.strip('"') for name in table_under(DOCS / "testkit.md", "## Generated inputs")]
    assert documented == list(strategies.KINDS)


def test_fields_of_an_observation_are_documented() -> None:
    text = str(observation.Observation.__doc__)
    assert [
        field.name for field in msgspec.structs.fields(observation.Observation) if f"{field.name}: " not in text
    ] == []


@pytest.mark.parametrize("name", ["check.svg", "class.png"])
def test_pictures_are_small_and_shown(name: str) -> None:
    assert 1_000 < (DOCS / "pictures" / name).stat().st_size < 200_000
    assert f"(docs/pictures/{name})" in (REPO / "README.md").read_text(encoding="utf-8")
