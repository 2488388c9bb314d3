import numpy as np
import pandas as pd
import pytest
import shop
from pandas.testing import assert_frame_equal, assert_series_equal


@pytest.fixture
def sales():
    return pd.DataFrame(
        {
            "town": ["Bonn", "Ulm", "Bonn", "Kiel"],
            "price": [1.5, 2.0, None, 4.0],
            "n": [1, 2, 3, 4],
            "day": pd.to_datetime(["2024-01-02", "2024-03-04", "2024-03-05", None]),
        }
    )


def test_results(sales, tmp_path):
    sales.to_csv(tmp_path / "sales.csv", index=False)
    got = shop.results(tmp_path / "sales.csv")
    assert isinstance(got, pd.DataFrame)
    assert sorted(list(got.columns)) == ["day", "n", "price", "town"]
    assert_frame_equal(got, sales, check_dtype=False)
    assert got["day"].dtype.kind == "M"


def test_totals(sales):
    expected = pd.Series([4, 4, 2], index=pd.Index(["Bonn", "Kiel", "Ulm"], name="town"), name="n")
    assert_series_equal(shop.totals(sales), expected)


def test_clean(sales):
    got = shop.clean(sales)
    assert got.isna().sum().sum() == 0
    assert got.equals(sales.dropna().reset_index(drop=True))


def test_merged(sales):
    got = shop.merged(sales, pd.DataFrame({"town": ["Bonn", "Ulm"], "zip": ["53111", "89073"]}))
    assert got["zip"].isna().sum() == 1
    assert got["zip"].str.startswith("5").sum() == 2


def test_last(sales):
    assert shop.last(sales) == pd.Timestamp(2024, 3, 5)


def test_bins(sales):
    got = shop.bins(sales["n"])
    assert got.cat.categories.tolist() == ["low", "high"]
    assert got.value_counts().to_dict() == {"low": 2, "high": 2}


def test_each(sales):
    np.testing.assert_array_equal(shop.each(sales, lambda row: row["n"] * 2), [2, 4, 6, 8])


def test_names(sales):
    assert (shop.names(sales) == np.array(["Bonn", "Ulm", "Kiel"])).all()


def test_summary(sales):
    got = shop.summary(sales)
    assert np.isclose(got["mean"], 2.5)
    assert got["parts"][0].tolist() == [1, 2, 3, 4]
    assert_frame_equal(got["parts"][1], sales.head(2))
