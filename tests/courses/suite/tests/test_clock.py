import time

import pkg
import pytest


def test_fast():
    began = time.time()
    assert pkg.work() == 45
    assert time.time() - began < 1.0


def test_secret():
    assert pkg.secret(7) == 4711


class TestMemory:
    @pytest.mark.parametrize(
        "device", [pytest.param("tpu", marks=pytest.mark.skip(reason="needs a TPU")), "ours", "cpu"]
    )
    def test_device(self, device):
        if device == "ours":
            pytest.skip("needs ours")
        assert pkg.LIMIT == 3

    def test_little(self):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, -1))
        assert pkg.work() == 45
