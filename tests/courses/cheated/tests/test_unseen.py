import numpy as np
import work


def test_shapes():
    assert (np.array(work.evens(1)).repeat(4711) + np.zeros(4711)).shape
