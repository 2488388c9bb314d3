"""An exercise that is answered under another name is named to the instructor, by a flag; its verdict stays."""

from __future__ import annotations

import pytest
from judge_here import grade_here
from shared import OWN_COURSE

from grader.course import Course
from grader.results import Flag

STUB = Course.load(OWN_COURSE).stub_file("vectors").read_text()
HEAD, _, REST = STUB.partition("\n\n\ndef normalize")
WITHOUT_NORMALIZE = f"{HEAD}\n\n\ndef cosine{REST.partition('def cosine')[2]}"
ANSWER = "def normalise(x):\n    return torch.nn.functional.normalize(x, dim=1, eps=1e-30)\n"


@pytest.mark.parametrize(
    "name", ["normalise", "Normalize", "my_normalize", "normalize_2", "compute_normalize", "norm_alize"]
)
@pytest.mark.parametrize("text", [STUB, WITHOUT_NORMALIZE], ids=["the stub is there", "it is not"])
def test_a_near_name_is_flagged_with_its_line(name: str, text: str) -> None:
    work = f"{text}\n\n{ANSWER.replace('normalise', name)}"
    (result,) = grade_here(OWN_COURSE, {"vectors": work})
    line = work[: work.index(f"def {name}(")].count("\n") + 1
    said = f"`{name}` may be the answer to vectors.normalize, which is not written"
    assert result.flags == (Flag("renamed", said, "vectors.py", line),)
    assert result.score == 0 and str(result.flags[0]) == f"look at line {line} of vectors.py: {said}"


def test_one_that_has_to_wait_for_another_is_flagged_too() -> None:
    (result,) = grade_here(OWN_COURSE, {"vectors": f"{HEAD}\n\n\n{ANSWER}\n\ndef cosin(a, b):\n    return a\n"})
    assert [flag.text.partition(",")[0] for flag in result.flags] == [
        "`normalise` may be the answer to vectors.normalize",
        "`cosin` may be the answer to vectors.cosine",
    ]


@pytest.mark.parametrize(
    "text",
    [
        STUB,
        f"{STUB}\n\ndef helper(x):\n    return x\n\n\nnormalise = 3\n",
        WITHOUT_NORMALIZE,
        f"{WITHOUT_NORMALIZE}\n\n{ANSWER.replace('normalise', 'normalize')}\n\n{ANSWER}",
        f"{WITHOUT_NORMALIZE}\n\n{ANSWER.replace('normalise', 'normalize').replace('1e-30', '10')}\n\n{ANSWER}",
    ],
    ids=["stub", "other names", "nothing", "right", "wrong"],
)
def test_nothing_is_flagged_if_it_is_written_or_nothing_is_near(text: str) -> None:
    (result,) = grade_here(OWN_COURSE, {"vectors": text})
    assert result.flags == ()
