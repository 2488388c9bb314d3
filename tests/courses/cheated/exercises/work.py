import json
import pickle
import numpy as np

LIMIT = 3


class Vector:
    def __init__(self, x, y):
        raise NotImplementedError

    def __abs__(self):
        raise NotImplementedError

    def __sub__(self, other):
        raise NotImplementedError


def number(x):
    raise NotImplementedError


def mean(x):
    raise NotImplementedError


def tail(x):
    raise NotImplementedError


def evens(n):
    raise NotImplementedError


def run(check):
    raise NotImplementedError


def words(text):
    raise NotImplementedError


def text():
    raise NotImplementedError


def sort_(values):
    raise NotImplementedError


def save_array(values, path):
    raise NotImplementedError


def save_words(words, path):
    raise NotImplementedError


def save_text(data, path):
    raise NotImplementedError


def twice(x):
    raise NotImplementedError


def largest(x):
    raise NotImplementedError


def constant(model):
    raise NotImplementedError


def listed(path):
    raise NotImplementedError


def numbers():
    raise NotImplementedError


def raising(n):
    raise NotImplementedError


def saved(data, file):
    raise NotImplementedError


def packed(data):
    raise NotImplementedError


def steps(n):
    raise NotImplementedError


def logged(x):
    raise NotImplementedError


class Pool:
    def close(self):
        raise NotImplementedError


def shown(x, y):
    raise NotImplementedError


def infix(x):
    raise NotImplementedError


def code():
    raise NotImplementedError


def module(path):
    raise NotImplementedError


def folder(path):
    raise NotImplementedError


def report(folder):
    raise NotImplementedError


def standard(x):
    raise NotImplementedError


def page():
    raise NotImplementedError


def is_even(n):
    raise NotImplementedError


def named(a, b):
    raise NotImplementedError


def of_a_class():
    raise NotImplementedError
