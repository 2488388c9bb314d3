"""From submissions to results: one submission, many of them, worker processes, a Dask cluster; and proving a course."""
