import asyncio
import collections.abc
import dataclasses
import enum
import functools
import inspect
from unittest import mock

import numpy as np
import pkg.objects as objects
import pytest
import torch
from pkg.objects import Bag, Color, Pair, Point, Settings, Words, area, fetch


def test_truth():
    assert Point(1) and not Point(0) and Bag(1) and not Bag()


def test_hashes():
    assert hash(Point(1)) == hash(Point(1)) and {Point(1): "a"}[Point(1)] == "a"
    assert len({Point(1), Point(1), Point(2)}) == 2 and {Color.RED: 1}[Color.RED] == 1
    with pytest.raises(TypeError):
        hash(Settings())


def test_operators():
    point = same = Point(7, 2)
    point += Point(1)
    assert same.x == 8 and same is point
    assert point % Point(3) == 2 and divmod(point, Point(3)) == (2, 2) and round(Point(1.26), 1).x == 1.3
    assert complex(point) == 8 + 2j and f"{point:!}" == "<8!>" and list(reversed(Bag(1, 2))) == [2, 1]


def test_with():
    bag = Bag()
    with bag:
        raise ValueError("caught")
    with pytest.raises(KeyError), bag:
        raise KeyError("not caught")
    assert bag.items == ["ValueError", "KeyError"]


def test_special_methods_that_are_not_there():
    assert callable(area) and callable(Point) and not callable(Point(1))
    assert not isinstance(Point(1), collections.abc.Iterable) and isinstance(Bag(), collections.abc.Sized)
    with pytest.raises(TypeError):
        len(Point(1))


def test_texts():
    assert Point.__doc__ == Point(1).__doc__ == "A point." and area.__doc__ == "Width times height."
    assert vars(Point(1, 2)) == {"x": 1, "y": 2} and "x" in dir(Point(1)) and "area" in dir(objects)


def test_signature():
    parameters = inspect.signature(area).parameters
    assert list(parameters) == ["width", "height"] and parameters["height"].default == 2
    assert parameters["width"].annotation is int and list(inspect.signature(Point).parameters) == ["x", "y"]


def test_kinds_of_objects():
    assert inspect.isclass(Point) and inspect.isfunction(area) and inspect.isgenerator(objects.count(1))
    assert isinstance(Point(1), objects.kind()) and not isinstance(Bag(), objects.kind())
    assert isinstance(Color.RED, enum.Enum) and issubclass(Color, enum.Enum) and not issubclass(Point, enum.Enum)
    assert type(Point(1)).__name__ == "Point" and type(Point(1)) is type(Point(2)) is not type(Bag())
    assert isinstance(Pair(1, 2), Pair) and repr(Pair(1, 2)) == "Pair(a=1, b=2)"
    assert hasattr(objects, "area") and not hasattr(objects, "volume") and getattr(objects, "volume", 3) == 3


def test_dataclass():
    settings = Settings(0.5, [1])
    assert [one.name for one in dataclasses.fields(Settings)] == ["rate", "sizes"]
    rate, sizes = dataclasses.fields(Settings)
    assert rate.type is float and rate.default == 0.1 and sizes.default is dataclasses.MISSING
    assert dataclasses.is_dataclass(Settings) and dataclasses.asdict(settings) == {"rate": 0.5, "sizes": [1]}
    assert dataclasses.is_dataclass(settings) and dataclasses.is_dataclass(objects.Settings)
    assert dataclasses.replace(settings, rate=2.0).rate == 2.0 and dataclasses.astuple(settings) == (0.5, [1])


def test_list_of_its_own():
    words = Words(["a", "b"])
    assert words == ["a", "b"] and words.first() == "a"


def test_exit():
    with pytest.raises(SystemExit) as caught:
        objects.leave(3)
    assert caught.value.code == 3


def test_exception_of_theirs():
    with pytest.raises(ValueError, match="door is closed") as caught:
        objects.closed("door")
    assert caught.type is objects.Closed and caught.value.code == 7 and isinstance(caught.value.__cause__, KeyError)
    made = objects.Closed("here", code=3)
    assert made.code == 3 and str(made) == "here"

    with pytest.raises(LookupError):
        objects.closed("window")


def test_end_of_a_generator():
    def around():
        return (yield from objects.counted(2))

    with pytest.raises(StopIteration) as caught:
        next(objects.counted(0))
    assert caught.value.value == "end" and list(around()) == [0, 1]
    found = around()
    with pytest.raises(StopIteration, match="end"):
        [next(found) for _ in range(3)]


def test_made_file():
    with mock.patch("builtins.open", mock.mock_open(read_data="one\ntwo\n")) as opened:
        assert objects.first_line("x.txt") == "one\n"
    assert opened.call_args.args == ("x.txt", "w") and opened.call_count == 2


def test_mocks(tmp_path):
    client = mock.MagicMock()
    client.get.return_value.json.return_value = {"n": 3}
    with mock.patch("io.StringIO"), mock.patch("pkg.objects.time") as time:
        time.time.side_effect = [1.0, 3.5]
        assert objects.fetch_all(client, name="a", shown=1) == (3, 2.5)
    client.__enter__.assert_called_once_with()
    client.get.assert_called_once_with("a", timeout=1)
    client.get.side_effect = error = LookupError("gone")
    with pytest.raises(LookupError) as caught:
        objects.fetch_all(client, name="a", shown=2)
    assert caught.value is error and client.__exit__.call_args.args[:2] == (LookupError, error)
    bell, heard = objects.Bell(), []
    for one in (heard.append, functools.partial(heard.insert, 0), mock.Mock()):
        bell.add(one)
        bell.add(one)
    bell.ring(5)
    assert heard == [5, 5] and objects.in_threads(lambda x: 2 * x, 3) == [0, 2, 4]
    mark = object()
    assert bell.keep(mark) is mark and bell.keep(mock.sentinel.key) is mock.sentinel.key


def test_changes_before_it_raises(tmp_path, caplog):
    done = []
    with pytest.raises(ValueError):
        objects.fails(done, tmp_path / "log.txt")
    with pytest.raises(SystemExit):
        objects.ends(done, tmp_path / "end.txt")
    assert done == ["begun", "ended"] and (tmp_path / "log.txt").read_text() == (tmp_path / "end.txt").read_text()
    assert [one.message for one in caplog.records] == ["it fails"]


def test_scheduler():
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = objects.SGD([weight], lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    weight.sum().backward()
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    assert weight.item() == -0.5 and scheduler.get_last_lr() == [0.25] == [optimizer.param_groups[0]["lr"]]


def test_coroutines():
    async def all_of_it():
        gathered = await asyncio.gather(fetch(1), fetch(2))
        task = asyncio.create_task(fetch(3))
        async with objects.Connection() as connection:
            key = await asyncio.wait_for(connection.get("k"), 600)
        async with connection:
            raise ValueError("caught")
        return [*gathered, await task, key, [x async for x in objects.stream(2)]]

    async def add(x):
        await asyncio.sleep(0)
        return x + 1

    assert inspect.iscoroutinefunction(fetch) and asyncio.run(fetch(1)) == 2
    assert asyncio.run(all_of_it()) == [2, 4, 6, "k", [0, 2]]
    assert asyncio.run(objects.apply(add, 1)) == 2


def test_array():
    np.testing.assert_allclose(objects.doubled(np.array([1.0, 2.0])), [2.0, 4.0])
    layer = objects.Layer()
    for array, slope in (layer.params["w"], 4.0), (layer.bias(), 3.0):
        array[1] += 1e-4
        above = layer.loss()
        array[1] -= 2e-4
        assert abs((above - layer.loss()) / 2e-4 - slope) < 1e-3
        array[1] += 1e-4
    layer.bias().flat[0] += 1  # nobody holds the array afterwards
    assert abs(layer.loss() - 8) < 1e-9 and layer.bias() is layer.bias() and layer.params["w"] is layer.params["w"]
    seen = {}
    weight, mine = layer.params["w"], layer.copy(seen) + 0 * layer.copy(seen)
    layer.step()
    mine += 1
    np.testing.assert_allclose(weight, [0.5, 1.5])
    np.testing.assert_allclose(objects.doubled(layer.params["w"]), [1.0, 3.0])
    np.testing.assert_allclose(seen["w"], [2.0, 4.0])
    layer.params["w"] = np.zeros(2)
    assert layer.loss() == 3


def test_methods(monkeypatch):
    machine, heard = objects.Machine(), []
    start = machine.start
    assert start(5) == 5 and machine.apply(start, 1) == 6
    assert machine.apply(machine.start, machine.apply(len, "ab")) == 8
    monkeypatch.setattr(machine, "start", lambda n: heard.append(n) or start(n))
    assert machine.start(2) == 10 and heard == [2]
    monkeypatch.undo()
    assert machine.start(1) == 11 and machine.started == [5, 1, 2, 2, 1] and heard == [2]
    with mock.patch.object(machine, "apply", return_value=9):
        assert machine.apply(len, "ab") == 9
    assert machine.apply(len, "ab") == 2 and machine.level() == "none"
    machine.set_level(3)
    assert machine.level == 3
    machine = objects.Machine()
    machine.level = 4
    assert machine.level == 4 and objects.Machine().level() == "none"
    early = machine.start
    machine.reverse()
    assert machine.start(2) == -2 and early(2) == 2 and machine.level == 7
    first, second = objects.two_points()
    assert first.x() == 1 and second.x == 3
    assert machine.apply == machine.apply and hash(machine.apply) == hash(machine.apply) and callable(machine.apply)
    assert machine.apply.__name__ == "apply" and machine.apply.__self__ is machine and not hasattr(machine, "later")
    assert list(inspect.signature(objects.Machine().start).parameters) == ["n"]
    monkeypatch.setattr(objects.Machine, "later", lambda self, n: n + 1, raising=False)
    assert machine.later(1) == 2 and sorted([3, 1, 2], key=objects.Machine().start) == [3, 1, 2]


@pytest.mark.timeout(1)
def test_at_once():
    assert objects.late() == 1
