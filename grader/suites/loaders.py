"""Loaders of a suite's tests without processes: their workers would all ask the submission at once.

An iterable dataset has a copy for each worker, as there: one that gives all of them the same items is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from unittest import mock

from torch.utils.data import IterableDataset
from torch.utils.data._utils import worker as loader_workers
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter


def iterator_here(loader: Any) -> Any:
    """The batches of a loader, in this process."""
    has_workers = loader.num_workers and isinstance(loader.dataset, IterableDataset)
    return (_Workers if has_workers else _SingleProcessDataLoaderIter)(_alone(loader, loader.dataset))


def _alone(loader: Any, dataset: Any) -> Any:
    made = copy.copy(loader)
    settings = {"timeout": 0, "prefetch_factor": None, "persistent_workers": False, "workers": loader.num_workers}
    vars(made).update(settings, num_workers=0, dataset=dataset)
    return made


class _Workers(_SingleProcessDataLoaderIter):
    """The batches of workers, which take turns."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._loader = loader

    def _next_data(self) -> Any:
        if self._num_yielded == 0:
            self._batches = self._of_workers()
        return next(self._batches)

    def _of_workers(self) -> Iterator[Any]:
        loader, number = self._loader, self._loader.workers
        workers = []
        for place in range(number):
            own = copy.deepcopy(loader.dataset)
            info = loader_workers.WorkerInfo(id=place, num_workers=number, seed=place, dataset=own)
            with mock.patch.object(loader_workers, "_worker_info", info):
                if loader.worker_init_fn is not None:
                    loader.worker_init_fn(place)
                workers.append((info, _SingleProcessDataLoaderIter(_alone(loader, own))))
        while workers:
            for info, batches in [*workers]:
                with mock.patch.object(loader_workers, "_worker_info", info):
                    try:
                        batch = next(batches)
                    except StopIteration:
                        workers.remove((info, batches))
                        continue
                yield batch
