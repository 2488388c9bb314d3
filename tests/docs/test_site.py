"""The site: built strictly, complete, and readable without a network."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pages import PAGES
from shared import REPO

from grader.course import Course
from grader.course.lessons import lesson_of

OF_THE_SITE = [page for page in PAGES if page.parent == REPO / "docs"]

ASSETS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""What a browser loads by itself, and the attribute that names it; links that a reader may follow are not among it."""
WITHOUT_LOADING = {"canonical", "next", "prev", "alternate"}
"""Kinds of ``<link>`` that name a page and load nothing."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="the pinned tools that build it need Python 3.11"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    into = tmp_path_factory.mktemp("site")
    build(REPO, into)
    return into


def build(folder: Path, into: Path, code: int = 0) -> str:
    """Builds the documentation of a folder strictly, and expects this exit code; what was printed."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(into)],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


class Assets(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ASSETS and given.get("rel") not in WITHOUT_LOADING and (address := given.get(ASSETS[tag])):
            self.found.append(address)


def test_every_page_is_built_from_a_page_and_opens_with_what_it_is_for(site: Path) -> None:
    for page in OF_THE_SITE:
        assert (site / f"{page.stem}.html").is_file()
        first = page.read_text(encoding="utf-8").split("\n\n")[1]
        assert "This page " in first or page.stem == "index", f"{page.name}: what is it for?"


def test_lessons_are_pages_in_the_order_of_learning(site: Path) -> None:
    course = Course.load(None, complete=False)
    taught = [topic.name for topic in course.topics if course.lesson_file(topic.name).is_file()]
    start = (site / "index.html").read_text(encoding="utf-8")
    found = re.findall(r'href="lessons/(\w+)\.html"', start)
    assert taught and list(dict.fromkeys(found)) == taught
    for topic in taught:
        lesson = lesson_of(course, topic)
        page = (site / "lessons" / f"{topic}.html").read_text(encoding="utf-8")
        assert lesson is not None
        assert [idea.title for idea in lesson.ideas if html.escape(idea.title, False) not in page] == []
        assert all(f"<code>{one.full_name}</code>" in page for one in course.topic(topic).exercises)


def test_nothing_is_loaded_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        assets = Assets()
        assets.feed(page.read_text(encoding="utf-8"))
        assert assets.found
        assert [address for address in assets.found if re.match(r"(\w+:)?//", address)] == [], page.name
        for address in assets.found:
            file = page.parent / address.partition("?")[0]
            assert address.startswith(("data:", "/")) or file.is_file(), f"{page.name}: {address} is not there"


def test_styles_and_pictures_load_nothing_from_a_network(site: Path) -> None:
    for file in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"""(?:url\(|@import |href=|src=)["']?(?:https?:)?//[^)"' ]+""", text) == [], file.name


def test_search_index_has_every_page_and_is_there_for_pages_opened_from_the_disk(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert (site / "search" / "search_index.json").is_file()
    for page in OF_THE_SITE:
        assert f'"{page.stem}.html' in index or page.stem == "index"
    assert "assets/iframe-worker.js" in (site / "index.html").read_text(encoding="utf-8")


def test_a_broken_link_and_each_undocumented_public_name_stop_the_build(tmp_path: Path) -> None:
    """With the site's own settings and hook: the site, built strictly, has an entry for every public name."""
    (tmp_path / "docs").mkdir()
    for hook in ("public_names.py", "lessons_of_the_course.py"):
        (tmp_path / "docs" / hook).write_bytes((REPO / "docs" / hook).read_bytes())
    (tmp_path / "grader").symlink_to(REPO / "grader")
    settings, nav, _ = (REPO / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")
    assert nav
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n[gone](nowhere.md)\n")
    (tmp_path / "docs" / "testkit.md").write_text("# The test kit\n\n::: grader.testkit.tensors\n")
    (tmp_path / "docs" / "api.md").write_text("# Grading from Python\n\n::: grader.grade\n")
    printed = build(tmp_path, tmp_path / "built", code=1)
    assert "'nowhere.md', but the target is not found" in printed
    missing = re.findall(r"(\S+) has no entry on testkit.html", printed)
    assert len(missing) > 50 and "grader.testkit.shapes" in missing and "grader.testkit.tensors" not in missing
    of_the_package = re.findall(r"(\S+) has no entry on api.html", printed)
    assert "grader.Cause" in of_the_package and "grader.grade" not in of_the_package
    assert f"Aborted with {len(missing) + len(of_the_package) + 1} warnings in strict mode" in printed
