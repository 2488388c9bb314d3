"""Results of schema 1 are read, from gradebooks and from results.jsonl, with causes that hold only what was kept."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from grader.gradebook import Gradebook
from grader.gradebook.schema import VERSION_1, VERSION_2_CHANGES
from grader.results import SCHEMA, Cause, from_json, to_json

OLD = json.dumps(
    {
        "schema": 1,
        "submission": "ann",
        "score": 1.0,
        "max": 2.0,
        "exercises": [
            {
                "name": "t.e",
                "score": 0.0,
                "max": 1.0,
                "misconception": None,
                "checks": [
                    {"name": "one", "verdict": "passed", "message": ""},
                    {"name": "two", "verdict": "failed", "message": "t.py cannot be imported\n  t.py:3: x"},
                    {"name": "three", "verdict": "error", "message": "a bug"},
                ],
            }
        ],
        "sandbox": ["seccomp"],
    }
)


def gradebook_of_version_2(path: Path) -> None:
    old = sqlite3.connect(path)
    old.executescript(f"{VERSION_1}{VERSION_2_CHANGES}PRAGMA user_version = 2;")
    old.execute("INSERT INTO courses VALUES (1, 'hash', 'course')")
    old.execute("INSERT INTO runs (id, started, course, seed, selection, versions, sandbox)"
                " VALUES (1, '2026-01-01T00:00:00+00:00', 1, 0, 'key', '{}', '[]')")  # fmt: skip
    old.execute("INSERT INTO submissions VALUES (1, 'ann', 'd', '2026-01-01')")
    old.execute("INSERT INTO results VALUES (1, 1, 1, '2026-01-01', 0.5, 1, 2, 1, ?)", (OLD,))
    old.commit()
    old.close()


def test_a_result_of_schema_1_gets_causes_of_its_verdicts() -> None:
    result = from_json(OLD)
    (exercise,) = result.exercises
    assert result.schema == SCHEMA == 5
    assert [check.cause for check in exercise.checks] == [
        None,
        Cause(kind="unrecorded", reason="t.py cannot be imported\n  t.py:3: x"),
        Cause(kind="grader_fault", reason="a bug"),
    ]
    assert from_json(to_json(result)) == result


def test_a_line_of_results_jsonl_keeps_all_fields_of_schema_1() -> None:
    old, new = json.loads(OLD), json.loads(to_json(from_json(OLD)))
    for check in new["exercises"][0]["checks"]:
        check.pop("cause")
    exercise = new["exercises"][0]
    assert new.pop("flags") == [] and exercise.pop("not_assessed") == 0
    assert new.pop("notes") == new.pop("unread") == [] and exercise.pop("bonus") == 0
    assert exercise.pop("manual") is None
    assert new == {**old, "schema": SCHEMA}


def test_a_gradebook_with_results_of_schema_1_is_copied_migrated_and_read(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.sqlite"
    gradebook_of_version_2(path)
    with Gradebook.open(path) as book:
        (row,) = book.results()
        assert row.result == from_json(OLD) == book.lookup("ann", "d", "hash", 0, "key")
        assert book.keep_seed() == 0  # that of its runs: marks stay what they are
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (6,)
    assert db.execute("SELECT result FROM results").fetchone() == (OLD,)  # nothing that was kept is overwritten
    assert db.execute("SELECT check_name, cause FROM verdicts").fetchall()[1] == ("two", None)
    db.close()
    copy = sqlite3.connect(tmp_path / "gradebook.version-2.sqlite")
    assert copy.execute("PRAGMA user_version").fetchone() == (2,)
    copy.close()


def test_sql_sees_the_kind_of_a_cause(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.sqlite"
    with Gradebook.open(path) as book:
        book.record(book.start_run("course", "hash", 0, "key", {}), from_json(OLD), "d", 0.1)
    db = sqlite3.connect(path)
    assert db.execute("SELECT check_name, cause FROM verdicts").fetchall() == [
        *(("one", None), ("two", "unrecorded"), ("three", "grader_fault"))
    ]
    db.close()
