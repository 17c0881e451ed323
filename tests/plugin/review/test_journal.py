import json
import os

import pytest

from napari_roteq._review.journal import (
    Journal,
    JournalError,
    aside_path,
    done_path,
    journal_path,
    read_journal,
    retire_journal,
)


@pytest.fixture
def table(tmp_path):
    return tmp_path / "cars.csv"


def journal_of(table, *records, **header):
    journal = Journal(journal_path(table), header)
    for record in records:
        journal.append(record)
    journal.close()
    return journal_path(table)


def test_the_journal_lies_beside_the_table(table):
    assert journal_path(table).name == "cars.csv.review.jsonl"
    assert journal_path(table).parent == table.parent


def test_lines_are_read_as_they_were_written(table):
    path = journal_of(table, {"a": 1.1}, {"b": "ü\n"}, reviewer="ann")
    content = read_journal(path)
    assert content.header["reviewer"] == "ann"
    assert content.records == ({"a": 1.1}, {"b": "ü\n"})
    assert content.size == path.stat().st_size
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


def test_each_line_is_on_disk_before_the_next(table, monkeypatch):
    journal = Journal(journal_path(table), {})
    synced = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda f: (synced.append(os.fstat(f).st_size), real(f))
    )
    journal.append({"a": 1})
    assert synced == [journal_path(table).stat().st_size]
    journal.close()


@pytest.mark.parametrize("torn", [b'{"c"', b'{"c": 3}', b"\xff\xfe"])
def test_a_torn_last_line_is_left_out(table, torn):
    path = journal_of(table, {"a": 1})
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + torn)
    content = read_journal(path)
    assert (content.records, content.size) == (({"a": 1},), whole)


def test_writing_goes_on_after_the_last_whole_line(table):
    path = journal_of(table, {"a": 1})
    path.write_bytes(path.read_bytes() + b'{"torn')
    journal = Journal(path, {}, read_journal(path).size)
    journal.append({"b": 2})
    journal.close()
    assert read_journal(path).records == ({"a": 1}, {"b": 2})


def test_a_torn_first_line_is_an_empty_journal(table):
    journal_path(table).write_bytes(b'{"roteq_rev')
    content = read_journal(journal_path(table))
    assert (content.header, content.records, content.size) == ({}, (), 0)


def test_a_broken_line_in_the_middle_is_named(table):
    path = journal_of(table, {"a": 1})
    path.write_bytes(path.read_bytes() + b'{"torn\n{"b": 2}\n')
    with pytest.raises(JournalError, match="line 3 must be JSON"):
        read_journal(path)


@pytest.mark.parametrize("first", ['{"roteq_review": 99}', "[1]", '{"other": 1}'])
def test_an_alien_journal_is_named(table, first):
    journal_path(table).write_text(first + "\n")
    with pytest.raises(JournalError, match="must begin with roteq_review version 1"):
        read_journal(journal_path(table))


@pytest.mark.skipif(os.name == "nt", reason="no advisory locks")
def test_two_windows_cannot_write_one_journal(table):
    first = Journal(journal_path(table), {})
    with pytest.raises(JournalError, match="being reviewed in another window"):
        Journal(journal_path(table), {}, read_journal(journal_path(table)).size)
    with pytest.raises(JournalError, match="another window"):
        retire_journal(table)
    first.close()
    retire_journal(table)
    assert not journal_path(table).exists()


def test_an_existing_journal_is_never_begun_anew(table):
    journal_of(table, {"a": 1})
    with pytest.raises(FileExistsError):
        Journal(journal_path(table), {})
    assert read_journal(journal_path(table)).records == ({"a": 1},)


def test_a_line_that_could_not_be_written_leaves_no_half(table, monkeypatch):
    journal = Journal(journal_path(table), {})
    before = journal_path(table).read_bytes()

    def fail(_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            journal.append({"a": 1})
    assert journal_path(table).read_bytes() == before
    journal.append({"b": 2})
    journal.close()
    assert read_journal(journal_path(table)).records == ({"b": 2},)


def test_retired_lines_are_added_to_the_log(table):
    for number in (1, 2):
        journal_of(table, {"a": number})
        retire_journal(table)
    rows = [json.loads(line) for line in done_path(table).read_text().splitlines()]
    assert [row["a"] for row in rows if "a" in row] == [1, 2]
    retire_journal(table)  # none left: nothing to do


def test_names_for_what_is_set_aside_are_free(table):
    first = aside_path(table, "2024-05-06T07:08")
    first.touch()
    assert aside_path(table, "2024-05-06T07:08") != first
