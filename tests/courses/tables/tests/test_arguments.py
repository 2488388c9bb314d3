import contextlib

import pandas as pd
import pytest
import shop

KNOWN = pd.DataFrame({"n": [1, 2]})


@pytest.fixture
def sales():
    return pd.DataFrame({"town": ["Bonn", "Ulm", "Kiel"], "price": [1.5, None, 4.0], "n": [1, 2, 3]})


def test_arguments(sales):
    assert shop.arguments(sales) is None
    assert sales["taxed"].dropna().round(2).tolist() == [1.8, 4.8]


def test_ordered(sales):
    shop.ordered(sales)
    assert sales["n"].tolist() == [3, 2, 1]
    assert list(sales.index) == [2, 1, 0]


def test_without_prices(sales):
    shop.without_prices(sales)
    assert list(sales) == ["town", "n"]


def test_filled(sales):
    column = sales["price"].copy()
    assert shop.filled(column) is column
    assert column.tolist() == [1.5, 0.0, 4.0]


def test_known():
    with contextlib.suppress(TypeError):
        shop.known(pd.DataFrame({"n": [{1, 2}]}))  # it cannot cross, which costs nothing else
    assert shop.known(KNOWN) == 2
    assert KNOWN["n"].sum() == 3


def test_Shop(sales):
    made = shop.Shop(sales[["town", "n"]])
    assert made.add("Jena", 9).sales.shape == (4, 2)
    assert made.sales.iloc[-1]["town"] == "Jena"


def test_STOCK():
    from shop import STOCK

    assert isinstance(STOCK, pd.DataFrame)
    assert STOCK.loc[1, "n"] == 2
