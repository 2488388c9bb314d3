"""Archives are read like folders; a hostile or damaged one gets a note that names the file."""

from __future__ import annotations

import io
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from make_class_zips import encrypted, tarred, zipped

from grader.intake.archive import safe_path
from grader.intake.find import find_submissions, open_submission
from grader.intake.kinds import ARCHIVE_BYTES, FILE_BYTES
from grader.intake.submission import Submission

TOPICS = {"tensor_ops": ["gram", "outer"], "autograd": ["slope"]}
CODE = b"x = 1\n"


def handed_in(folder: Path, name: str, data: bytes) -> Submission:
    """The submission that the file makes in a class folder, next to somebody else's."""
    (folder / "zz").mkdir()
    (folder / "zz" / "tensor_ops.py").touch()
    (folder / name).write_bytes(data)
    before = {path for path in folder.rglob("*")}
    submission = find_submissions([folder], TOPICS)[0].read()
    assert {path for path in folder.rglob("*")} == before, "something was written"
    return submission


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("inside", ["", "work/", "work/exercises/", "a/b/"])
def test_archive_is_read_like_a_folder(tmp_path: Path, pack: object, inside: str) -> None:
    data = pack({f"{inside}tensor_ops.py": CODE, f"{inside}lib/more.py": CODE, f"{inside}data.csv": b"1"})  # type: ignore[operator]
    submission = handed_in(tmp_path, "bob.zip" if pack is zipped else "bob.tar.gz", data)
    assert submission.name == "bob"
    assert submission.files == {"tensor_ops.py": CODE, "lib/more.py": CODE}
    assert submission.note_lines == ()


@pytest.mark.parametrize("name", ["../../tensor_ops.py", "/etc/tensor_ops.py", "a/../../x.py", "C:\\x.py", "..\\x.py"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_path_out_of_the_archive_is_noted_and_left_out(tmp_path: Path, name: str, pack: object) -> None:
    data = pack({name: CODE, "autograd.py": CODE})  # type: ignore[operator]
    submission = handed_in(tmp_path, "bob.zip" if pack is zipped else "bob.tgz", data)
    assert list(submission.files) == ["autograd.py"]
    assert (
        len(submission.note_lines) == 1
        and "path" in submission.note_lines[0]
        and "left out" in submission.note_lines[0]
    )


@pytest.mark.parametrize("root", ["C:\\Users\\bob\\", "/home/bob/", "\\\\server\\bob\\", "D:", "bob\\"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_paths_of_windows_are_those_below_their_root(tmp_path: Path, root: str, pack: object) -> None:
    """Folders have a line of their own, with a backslash at its end."""
    files = {f"{root}work\\": b"", f"{root}work\\tensor_ops.py": CODE, f"{root}work\\lib\\more.py": CODE}
    if pack is tarred:
        del files[f"{root}work\\"]
    submission = handed_in(tmp_path, "bob.zip" if pack is zipped else "bob.tgz", pack(files))  # type: ignore[operator]
    assert submission.files == {"tensor_ops.py": CODE, "lib/more.py": CODE}
    assert submission.note_lines == ()


def test_plain_paths_are_safe_and_kept_plain() -> None:
    assert safe_path("./a//b\\c.py") == ("a/b/c.py", None)


def test_links_in_archives_are_noted_and_not_followed(tmp_path: Path) -> None:
    submission = handed_in(tmp_path, "bob.zip", zipped({"autograd.py": CODE}, link="tensor_ops.py"))
    assert list(submission.files) == ["autograd.py"]
    assert submission.note_lines == ("bob.zip/tensor_ops.py: a link or a device in an archive: left out",)


def test_links_and_devices_in_tars_are_noted(tmp_path: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, kind in (("tensor_ops.py", tarfile.SYMTYPE), ("b.py", tarfile.LNKTYPE), ("c.py", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    submission = handed_in(tmp_path, "bob.tar.gz", target.getvalue())
    assert submission.files == {} and sum("a link or a device" in note for note in submission.note_lines) == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no zip at all", "damaged"),
        (b"", "damaged"),
        (zipped({"tensor_ops.py": CODE})[:-30], "damaged"),
        (zipped({"tensor_ops.py": CODE * 99}).replace(CODE[:1], b"\0", 1), ""),
        (encrypted({"tensor_ops.py": CODE}), "password"),
        (zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped({"tensor_ops.py": CODE})})})}), "more than 3 deep"),
        (zipped({"d/" * 14 + "tensor_ops.py": CODE}), "nested more than 12"),
        (zipped({"readme.txt": b"sorry"}), "no Python file"),
        (zipped({"tensor_ops.py": b"#" * (30 * FILE_BYTES)}), "tensor_ops.py: larger than 1 MiB"),
    ],
)
def test_broken_archive_is_a_line_that_names_the_file(tmp_path: Path, data: bytes, words: str) -> None:
    submission = handed_in(tmp_path, "bob.zip", data)
    assert words in " ".join(submission.note_lines)
    assert all(note.startswith(("bob.zip", "tensor_ops.py")) and "\n" not in note for note in submission.note_lines)


@pytest.mark.parametrize("cut", [10, 60, 150])
def test_tar_that_ends_early_gets_a_note(tmp_path: Path, cut: int) -> None:
    submission = handed_in(tmp_path, "bob.tar.gz", tarred({"tensor_ops.py": bytes(range(256)) * 50})[:cut])
    assert submission.files == {} and "bob.tar.gz: damaged" in submission.note_lines[0]


def test_tar_bomb_is_stopped(tmp_path: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo("zeros.bin")
        info.size = 300 << 20
        with open("/dev/zero", "rb") as zeros:
            archive.addfile(info, zeros)
    submission = handed_in(tmp_path, "bob.tar.gz", target.getvalue())
    assert "unpacks to more than 256 MiB" in submission.note_lines[0]


def test_method_that_can_explode_is_not_read(tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("tensor_ops.py", b"#" * FILE_BYTES)
    assert "plain zip" in handed_in(tmp_path, "bob.zip", target.getvalue()).note_lines[0]


def test_thirty_thousand_entries_are_bounded_and_topics_come_first(tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(30_000):  # more than are looked at
            archive.writestr(zipfile.ZipInfo(f"{number}.py"), b"")
        archive.writestr("tensor_ops.py", CODE)
    submission = handed_in(tmp_path, "bob.zip", target.getvalue())
    assert submission.files["tensor_ops.py"] == CODE and len(submission.files) == 2_000
    assert "bob.zip: more than 20,000 files inside: the rest was left out" in submission.note_lines


def test_endless_table_of_contents_is_not_read(tmp_path: Path) -> None:
    data = bytearray(zipped({"tensor_ops.py": CODE}))
    struct.pack_into("<I", data, data.rfind(b"PK\x05\x06") + 12, 1 << 30)
    assert "table of contents is too long" in handed_in(tmp_path, "bob.zip", bytes(data)).note_lines[0]


def test_thousand_bad_entries_are_a_bounded_number_of_notes(tmp_path: Path) -> None:
    files: Mapping[str, bytes] = {f"../{number}.py": b"" for number in range(1_000)}
    submission = handed_in(tmp_path, "bob.zip", zipped(dict(files)))
    assert len(submission.note_lines) == 201 and "more notes like these" in submission.note_lines[-1]


def test_huge_archive_is_not_opened(tmp_path: Path) -> None:
    with (tmp_path / "bob.zip").open("wb") as stream:
        stream.truncate(ARCHIVE_BYTES + 1)
    assert open_submission(tmp_path / "bob.zip", TOPICS).read().note_lines == ("bob.zip: larger than 64 MiB: not read",)


def test_file_twice_in_a_zip_the_last_counts(tmp_path: Path) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("tensor_ops.py", b"old")
        archive.writestr("tensor_ops.py", b"new")
    submission = handed_in(tmp_path, "bob.zip", target.getvalue())
    assert submission.files == {"tensor_ops.py": b"new"} and "more than once" in submission.note_lines[0]


def test_archive_in_a_students_folder_fills_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "work.zip").write_bytes(zipped({"tensor_ops.py": b"zip", "autograd.py": b"zip"}))
    (tmp_path / "tensor_ops.py").write_bytes(b"file")
    submission = open_submission(tmp_path, TOPICS).read()
    assert submission.files == {"tensor_ops.py": b"file", "autograd.py": b"zip"}
    assert submission.note_lines == ("tensor_ops.py: handed in twice; the file counts, not the one in work.zip",)


@pytest.mark.parametrize("name", ["bob.rar", "bob.7z", "bob.gz"])
def test_archive_of_another_kind_has_a_row_that_says_so(tmp_path: Path, name: str) -> None:
    submission = handed_in(tmp_path, name, b"?")
    assert submission.name == "bob" and "not a kind of archive that is read" in submission.note_lines[0]


def test_archive_of_a_class_is_a_submission_each(tmp_path: Path) -> None:
    target = tmp_path / "class.zip"
    target.write_bytes(
        zipped({"week1/ann/tensor_ops.py": b"a", "week1/bob.py": b"def gram(): pass", "week1/c/x/y.py": b""})
    )
    found = find_submissions([target], TOPICS)
    assert [source.name for source in found] == ["ann", "bob", "c"]
    assert [list(source.read().files) for source in found] == [["tensor_ops.py"], ["tensor_ops.py"], ["y.py"]]


def test_a_link_that_claims_a_size_costs_no_file_beside_it(tmp_path: Path) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        link = tarfile.TarInfo("b.py")
        link.type, link.linkname, link.size = tarfile.LNKTYPE, "tensor_ops.py", 20_000
        archive.addfile(link)
        file = tarfile.TarInfo("tensor_ops.py")
        file.size = len(CODE)
        archive.addfile(file, io.BytesIO(CODE))
    submission = handed_in(tmp_path, "bob.tar.gz", target.getvalue())
    assert submission.files == {"tensor_ops.py": CODE}


def test_a_large_tar_takes_no_memory_for_what_is_in_it(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "class.tar.gz", "w:gz", compresslevel=1) as archive:
        for name, content in (("ann/tensor_ops.py", CODE), ("ann/data.bin", bytes(64 << 20))):
            file = tarfile.TarInfo(name)
            file.size = len(content)
            archive.addfile(file, io.BytesIO(content))
    tracemalloc.start()
    (source,) = find_submissions([tmp_path / "class.tar.gz"], TOPICS)
    assert source.read().files == {"tensor_ops.py": CODE}
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()
