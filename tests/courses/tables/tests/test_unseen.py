import pandas as pd
import shop
from pandas.testing import assert_series_equal


def test_unseen():
    assert_series_equal(shop.unseen(pd.DataFrame({"n": [1, 2]})), pd.Series([4711, 9422], name="n"))


def test_length():
    assert len(shop.unseen(pd.DataFrame({"n": [1, 2]}))) == 2
