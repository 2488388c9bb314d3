"""The `id` of submitted code: different for objects that live, and given again at once after one has gone."""

from __future__ import annotations

import torch

from grader.border.service import ShortIds


def test_objects_that_live_have_different_numbers_that_stay() -> None:
    number_of = ShortIds()
    living = [torch.ones(1) for _ in range(5)]
    numbers = [number_of(one) for one in living]
    assert len(set(numbers)) == 5 and numbers == [number_of(one) for one in living]


def test_the_number_of_an_object_that_is_gone_goes_to_the_next_one() -> None:
    number_of = ShortIds()
    stays, goes = torch.ones(1), torch.ones(1)
    kept, first = number_of(stays), number_of(goes)
    occupied = torch.ones(1)
    del goes
    new = torch.nn.Linear(1, 1)
    assert number_of(new) == first and number_of(stays) == kept
    assert number_of(occupied) not in (kept, first)


def test_what_cannot_be_referred_to_weakly_has_its_real_id() -> None:
    values = [3, "text", [1], (2,), {}, None]
    number_of = ShortIds()
    assert [number_of(one) for one in values] == list(map(id, values))
