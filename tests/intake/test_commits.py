"""When the work in a clone came: the time of its last commit, read without the settings in the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.due import LatePolicy, read_due
from grader.gradebook.lateness import is_claim, lateness
from grader.intake.find import find_submissions
from grader.intake.reader import Reader
from grader.intake.roster import Roster
from grader.intake.submission import Arrival, Submission

FIRST, LAST = "2026-09-30T10:00:00+00:00", "2026-10-03T08:30:00+02:00"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str, time: str = FIRST) -> str:
    people = {f"GIT_{who}_{what}": "a@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    times = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00+00:00", "GIT_COMMITTER_DATE": time}
    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]}
    ran = subprocess.run(["git", *arguments], cwd=folder, env=people | times | alone, check=True, capture_output=True)
    return ran.stdout.decode().strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A student's clone with two commits, in a folder of clones."""
    folder = tmp_path / "class" / "week-1-ann"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for number, time in enumerate((FIRST, LAST)):
        (folder / "vectors.py").write_text(f"x = {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "committer z <z> 5 +0000", time=time)
    return folder


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as reader:
        yield reader


def arrival(clone: Path, reader: Reader, roster: str = "") -> Arrival:
    """When its work came, as `grade` reads it."""
    known = None
    if roster:
        (clone.parent.parent / "roster.csv").write_text(roster)
        known = Roster.read(clone.parent.parent / "roster.csv")
    (source,) = find_submissions([clone.parent], ["vectors"], roster=known)
    submission = reader.read(source)
    assert isinstance(submission, Submission) and "vectors.py" in submission.files
    return submission.arrival


@pytest.mark.parametrize("command", ["status", "gc -q", "checkout -q --detach", "checkout -q -b a/b.c"])
def test_the_time_of_the_last_commit_counts(clone: Path, command: str, reader: Reader) -> None:
    git(clone, *command.split())
    found = arrival(clone, reader)
    assert (read_due(found.submitted), found.by) == (read_due(LAST), "last commit")


def test_of_an_earlier_commit_that_is_checked_out_its_own_time(clone: Path, reader: Reader) -> None:
    git(clone, "checkout", "-q", git(clone, "rev-list", "-1", "--before=2026-10-01 23:59", "HEAD"))
    found = arrival(clone, reader)
    assert (read_due(found.submitted), found.by) == (read_due(FIRST), "last commit")


def test_a_time_in_the_roster_comes_first(clone: Path, reader: Reader) -> None:
    roster = "identifier,github_username,github_id,name,submitted\n0042,ann,1,Ann,2026-10-01T12:00\n"
    found = arrival(clone, reader, roster)
    assert (found.submitted[:16], found.by, found.student) == ("2026-10-01T12:00", "roster", "0042")


def test_it_costs_points_and_is_called_a_claim(clone: Path, reader: Reader) -> None:
    found = arrival(clone, reader)
    late = lateness(found, LatePolicy(due=read_due("2026-10-01"), per_day=0.1))
    assert late is not None and str(late) == "2 days late by its last commit, which its owner can set: 20 % off"
    assert is_claim(found, LatePolicy(due=read_due("2026-10-09"))) and not is_claim(found, LatePolicy())


def test_no_program_that_the_clone_names_is_run(clone: Path, reader: Reader, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    program.chmod(0o755)
    git(clone, "config", "core.repositoryformatversion", "1")
    git(clone, "config", "extensions.partialClone", "origin")
    git(clone, "config", "remote.origin.promisor", "true")
    git(clone, "config", "remote.origin.url", str(clone))
    git(clone, "config", "remote.origin.uploadpack", str(program))
    missing = "1" * 40
    subprocess.run(["git", "cat-file", "commit", missing], cwd=clone, capture_output=True)
    assert ran.exists(), "git runs it if it asks for a commit that is not there"
    ran.unlink()
    (clone / ".git" / "refs" / "heads" / "main").write_text(f"{missing}\n")
    assert arrival(clone, reader).by == "file time"
    assert not ran.exists()


@pytest.mark.parametrize(
    "head", ["", "ref: refs/heads/../../../secret", "ref: refs/heads/none", "1" * 40, "--help", "ref: ../secret"]
)
def test_of_a_clone_that_is_damaged_the_files_have_a_time(clone: Path, head: str, reader: Reader) -> None:
    for folder in (clone.parent, clone, clone / ".git"):
        (folder / "secret").write_text(git(clone, "rev-parse", "HEAD"))
    (clone / ".git" / "HEAD").write_text(head)
    assert arrival(clone, reader).by == "file time"


def test_a_clone_that_is_a_link_or_a_pipe_is_none(clone: Path, reader: Reader) -> None:
    other = clone.parent.parent / "other" / "ann"
    other.mkdir(parents=True)
    shutil.copy(clone / "vectors.py", other)
    (other / ".git").symlink_to(clone / ".git")
    assert arrival(other, reader).by == "file time"
    (other / ".git").unlink()
    (other / ".git").mkdir()
    os.mkfifo(other / ".git" / "HEAD")
    assert arrival(other, reader).by == "file time"


@pytest.mark.parametrize("odd", ["pipe", "link", "other objects", "no objects"])
def test_a_clone_that_has_other_things_than_objects_is_none(clone: Path, odd: str, reader: Reader) -> None:
    objects = clone / ".git" / "objects"
    if odd == "pipe":
        os.mkfifo(objects / "info" / "pipe")
    elif odd == "link":
        (objects / "ff").symlink_to(clone)
    elif odd == "no objects":
        shutil.rmtree(objects)
    else:
        (objects / "info" / "alternates").write_text(f"{clone}\n")
    assert arrival(clone, reader).by == "file time"
