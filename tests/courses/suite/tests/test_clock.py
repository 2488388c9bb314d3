import time

import pkg


def test_fast():
    began = time.time()
    assert pkg.work() == 45
    assert time.time() - began < 1.0


def test_secret():
    assert pkg.secret(7) == 4711


class TestMemory:
    def test_little(self):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 40, -1))
        assert pkg.work() == 45
