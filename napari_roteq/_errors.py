"""What went wrong in a job, said in one sentence that tells what to do (no Qt)."""

from __future__ import annotations

import re
import traceback


class JobError(Exception):
    """An error for a person.

    Parameters
    ----------
    sentence : str
        What happened and what to do about it.
    details : str
        The traceback or whatever else helps a developer; offered for copying.
    """

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.details = details


# Pattern of "type: message" → what to do. The first that matches counts.
_ADVICE = (
    (
        r"^MemoryError|out of memory|can't allocate|bad_alloc",
        "There was not enough memory. Choose a smaller tile size or area, or close "
        "other programs, and run again.",
    ),
    (
        r"CUDA|cuDNN|\bMPS\b|HIP error|NVIDIA",
        "The graphics card could not be used. Choose the device “cpu” and run again.",
    ),
    (
        r"^(ImportError|ModuleNotFoundError|OSError).*(torch|c10|fbgemm)",
        "PyTorch could not be loaded. Run “roteq doctor” in a terminal: it says what "
        "is missing and how to install it.",
    ),
    (
        r"^RuntimeError.*(size of tensor|shape|channels|expected input|size mismatch)",
        "The image and the model do not fit together. Check the number of channels "
        "of the layer against the model's card.",
    ),
    (
        r"truth must have 0 and at least one other value",
        "The truth shows one value only. Choose a layer in which cells are numbered "
        "with 0 between them, or membranes differ from cells.",
    ),
)
# These already name the rule and the value received, or the file.
_SPEAK_FOR_THEMSELVES = {
    "ValueError",
    "ModelFileError",
    "TrainingError",
    "FileNotFoundError",
    "FileExistsError",
    "PermissionError",
    "IsADirectoryError",
    "NotADirectoryError",
}


def explain(kind: str, message: str, details: str) -> JobError:
    """Turn an exception's type name, message and traceback into a `JobError`."""
    for pattern, sentence in _ADVICE:
        if re.search(pattern, f"{kind}: {message}", re.IGNORECASE | re.DOTALL):
            return JobError(sentence, details)
    if kind in _SPEAK_FOR_THEMSELVES and message:
        return JobError(as_sentence(message), details)
    summary = f"{kind}: {message}".strip(": ").splitlines()[0]
    return JobError(
        f"The run ended with an error nobody foresaw ({summary}). Copy the details "
        "and report them.",
        details,
    )


def explain_exception(error: BaseException) -> JobError:
    """Explain an exception caught in this process."""
    if isinstance(error, JobError):
        return error
    details = "".join(traceback.format_exception(error))
    return explain(type(error).__name__, str(error), details)


def explain_death(exit_code: int | None, last_words: str) -> JobError:
    """Explain why the compute process is gone: its exit code and last output."""
    if exit_code in (-9, 137):
        reason = (
            "The system ended the compute process, most likely because memory ran "
            "out. Choose a smaller tile size or area, and run again."
        )
    else:
        reason = (
            "The compute process ended unexpectedly. Run again; a new one starts by "
            "itself. If it happens again, copy the details and report them."
        )
    return JobError(reason, f"exit code {exit_code}\n{last_words}".rstrip())


def as_sentence(message: str) -> str:
    """Begin with a capital letter, unless with a name, and end with a full stop."""
    message = message.strip()
    if message.split()[0].rstrip(",;:").isalpha():
        message = message[0].upper() + message[1:]
    return message if message.endswith((".", "!", "?")) else message + "."
