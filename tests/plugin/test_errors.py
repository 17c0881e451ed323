import pickle

import pytest

from napari_roteq._errors import JobError, explain, explain_death, explain_exception


@pytest.mark.parametrize(
    ("kind", "message", "advice"),
    [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2 GiB", "smaller"),
        ("RuntimeError", "DefaultCPUAllocator: can't allocate memory", "smaller tile"),
        ("MemoryError", "", "smaller tile"),
        ("RuntimeError", "CUDA error: no kernel image", "“cpu”"),
        ("OSError", "[WinError 1114] c10.dll failed", "roteq doctor"),
        ("ModuleNotFoundError", "No module named 'torch'", "roteq doctor"),
        (
            "RuntimeError",
            "expected input to have 1 channels, got 3",
            "fit",
        ),
        (
            "FileNotFoundError",
            "no model at x.safetensors",
            "No model at x.safetensors.",
        ),
        ("ModelFileError", "format 9 is newer than this program.", "Format 9 is newer"),
        (
            "ValueError",
            "the truth must have 0 and at least one other value, got [0]: give "
            "truth_kind='labels', 'membranes' or 'cells'",
            "shows one value only",
        ),
        ("ValueError", "ad.csv has changed", "ad.csv has changed."),
        ("ValueError", "--tile must be 1", "--tile must be 1."),
        ("KeyError", "'z'", "report them"),
        ("ValueError", "", "report them"),
    ],
)
def test_the_sentence_says_what_to_do(kind, message, advice):
    error = explain(kind, message, "all of it")
    assert advice in error.sentence
    assert error.details == "all of it"


def test_only_the_first_line_of_a_long_message_is_in_the_sentence():
    assert "second" not in explain("KeyError", "first\nsecond", "").sentence


def test_an_exception_keeps_its_traceback_for_copying():
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        explained = explain_exception(error)
    assert "test_errors.py" in explained.details


def test_an_error_that_is_explained_stays_as_it_is():
    error = JobError("Do this.", "that")
    assert explain_exception(error) is error


@pytest.mark.parametrize(("code", "words"), [(-9, "memory"), (-11, "unexpectedly")])
def test_a_death_is_explained_by_its_exit_code(code, words):
    error = explain_death(code, "Segmentation fault")
    assert words in error.sentence
    assert "Segmentation fault" in error.details
    assert str(code) in error.details


def test_job_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(JobError("Do this.", "that")))
    assert (error.sentence, str(error)) == ("Do this.", "Do this.")
