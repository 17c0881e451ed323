import sys
import time

import pytest

from napari_roteq._errors import JobError
from napari_roteq._worker_process import Pool


def wait_until(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_one_idle_process_is_kept_and_further_ones_end():
    pool = Pool()
    first, second = pool.take(), pool.take()
    assert first.pid != second.pid
    pool.give_back(first)
    pool.give_back(second)
    wait_until(lambda: not second.is_alive)
    assert first.is_alive
    assert pool.take() is first
    pool.give_back(first)
    pool.close()
    wait_until(lambda: not first.is_alive)


def test_a_killed_process_is_not_used_again():
    pool = Pool()
    worker = pool.take()
    worker.kill()
    pool.give_back(worker)
    other = pool.take()
    assert other is not worker
    other.close()


def test_warming_up_imports_torch_over_there_and_not_here():
    had_torch = "torch" in sys.modules
    pool = Pool()
    pool.warm_up()
    worker = pool.take()
    kind, _, version = worker.receive()
    assert kind == "done"
    assert version[0].isdigit()
    assert ("torch" in sys.modules) == had_torch
    worker.close()


def test_ended_processes_leave_no_pipe_open():
    pool = Pool()
    closed, killed = pool.take(), pool.take()
    closed.close()
    killed.kill()
    with pytest.raises(JobError):
        killed.receive()
    pool.give_back(killed)
    for worker in (closed, killed):
        process = worker._process
        pipes = (process.stdin, process.stdout, process.stderr)
        wait_until(lambda pipes=pipes: all(pipe.closed for pipe in pipes))
        wait_until(lambda process=process: process.returncode is not None)
