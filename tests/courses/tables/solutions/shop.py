import numpy as np
import pandas as pd

# solution:
STOCK = pd.DataFrame({"town": ["Bonn", "Ulm"], "n": [1, 2]})


def results(path):
    return pd.read_csv(path, parse_dates=["day"])


def totals(sales):
    return sales.groupby("town")["n"].sum()


def clean(sales):
    return sales.dropna().reset_index(drop=True)


def merged(sales, zips):
    return sales.merge(zips, on="town", how="left")


def last(sales):
    return sales["day"].max()


def bins(column):
    return pd.cut(column, [0, 2, 4], labels=["low", "high"])


def each(sales, function):
    return sales.apply(function, axis=1)


def names(sales):
    return np.array(sales["town"].unique())


def summary(sales):
    return {"mean": sales["n"].mean(), "parts": [sales["n"], sales.head(2)]}


def arguments(sales):
    sales["taxed"] = sales["price"] * 1.2


def ordered(sales):
    sales.sort_values("n", ascending=False, inplace=True)


def without_prices(sales):
    sales.drop(columns=["price"], inplace=True)


def filled(column):
    column.fillna(0, inplace=True)
    return column


def known(sales):
    return len(sales)


class Shop:
    def __init__(self, sales):
        self.sales = sales.copy()

    def add(self, town, n):
        self.sales.loc[len(self.sales)] = [town, n]
        return self


def unseen(sales):
    return sales["n"] * 4711


# end
