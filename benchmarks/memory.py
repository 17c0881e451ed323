"""Print the peak growth of memory of one run, in megabytes: a process for each.

python -m benchmarks.memory WORKLOAD RIVAL SIZE forward|step
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import torch

from benchmarks.measure import THREADS, peak_growth
from benchmarks.workloads import workload


def main(name: str, rival: str, size: int, mode: str) -> None:
    torch.set_num_threads(THREADS)
    work = workload(name)

    def prepare() -> Callable[[], object]:
        getattr(work.build(rival, work.small), mode)()  # load kernels, start threads
        return getattr(work.build(rival, size), mode)  # type: ignore[no-any-return]

    print(json.dumps(peak_growth(prepare)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
