"""The assertions of ``nose.tools``, for tests that import them: nose itself does not run on this Python.

A copy lies beside such tests.
"""

import re
import sys
import unittest

_case = unittest.TestCase()
_case.maxDiff = None
for _name in dir(_case):
    if _name.startswith("assert"):
        globals()[re.sub(r"(?<!^)([A-Z])", r"_\1", _name).lower()] = getattr(_case, _name)
assert_equals, assert_almost_equals = _case.assertEqual, _case.assertAlmostEqual
eq_, ok_ = _case.assertEqual, _case.assertTrue
tools = sys.modules["nose.tools"] = sys.modules[__name__]
