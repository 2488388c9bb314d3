"""The signatures on the page of the test kit are those of the code, and none of its public names is missing."""

from __future__ import annotations

import importlib.util
import re

from shared import REPO

from grader import testkit

PAGE = (REPO / "docs" / "testkit.md").read_text(encoding="utf-8")


def test_signatures_on_the_page_are_those_of_the_code() -> None:
    spec = importlib.util.spec_from_file_location("make_signatures", REPO / "docs" / "make_signatures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.with_signatures(PAGE) == PAGE, "run: python docs/make_signatures.py"


def test_every_public_name_has_its_signature_on_the_page() -> None:
    shown = {name for names in re.findall(r"<!-- signatures: (.*?) -->", PAGE) for name in names.split()}
    assert shown == set(testkit.__all__)
