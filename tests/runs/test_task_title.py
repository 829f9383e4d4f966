"""Names of tasks as people read them."""

import pytest

from semfocus.runs.arms import task_title


@pytest.mark.parametrize(
    ("task", "among", "title"),
    [
        ("parity", [], "parity"),
        ("marked_majority(9)", ["parity"], "marked_majority(9)"),
        ("text:stdlib", ["text:/home/me/stdlib"], "text:stdlib"),
        ("text:/home/me/stdlib", [], "text:me/stdlib"),
        ("text:/home/me/book.txt", ["text:/home/me/book.txt", "parity"], "text:book.txt"),
        ("text:/home/me/book.txt", ["file:/home/you/book.txt"], "text:book.txt"),
        ("text:/home/me/book.txt", ["text:/home/you/book.txt"], "text:me/book.txt"),
        ("file:/new/a/x.csv", ["file:/old/a/x.csv", "file:/y/x.csv"], "file:new/a/x.csv"),
        ("file:/x.csv", ["file:/a/x.csv"], "file:/x.csv"),
    ],
)
def test_a_file_goes_by_its_name_and_as_many_folders_as_tell_it_apart(task, among, title):
    assert task_title(task, among) == title


def test_no_two_tasks_have_one_title():
    tasks = [f"file:/{'/'.join(folders)}/x.csv" for folders in ("a", "ba", "ca", "cba", "bb", "abab")]
    assert len({task_title(each, tasks) for each in tasks}) == len(tasks)
