"""Places: folders, memory and an S3-compatible server do the same, and no credentials are shown or kept."""

from __future__ import annotations

import pickle
import sys

import fsspec.config
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from traceq.common.secret import mask_secrets
from traceq.dataset.place import Place, folder_of, is_address, run_of
from traceq.errors import StoreError


@pytest.fixture(params=["folder", "file", "memory", "s3"])
def place(request, tmp_path):
    if request.param == "s3":
        return Place(f"{request.getfixturevalue('bucket')}/some folder/job")
    root = {"folder": str(tmp_path), "file": f"file://{tmp_path}", "memory": f"memory://{tmp_path.name}"}
    return Place(f"{root[request.param]}/some folder/job")


@pytest.fixture
def files(tmp_path):
    """A folder with the files of a piece."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a.parquet", "piece.json", "z.parquet"):
        (folder / name).write_text(name)
    return folder


def test_what_is_written_is_read(place):
    assert place.read("a.json") is None
    place.write(b"1", "a.json")
    place.write(b"22", "a.json")
    assert place.read("a.json") == b"22"
    assert place.list_names() == ["a.json"]


def test_a_folder_is_not_read_as_a_file_that_is_not_there(tmp_path):
    (tmp_path / "x.json").mkdir()
    (tmp_path / "file").write_text("")
    for name, part in ((tmp_path, "x.json"), (tmp_path / "file", "dataset.json")):
        with pytest.raises(StoreError, match=rf"{name}/{part}: cannot be read: "):
            Place(f"{name}/").read(part)


def test_a_folder_is_not_made_in_the_place_of_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: .* is a file"):
        Place(f"file://{tmp_path}/file").write(b"", "writer.json", is_new=True)


def test_no_link_leads_out_of_a_folder(tmp_path, files):
    outside = tmp_path / "outside"
    (outside / "rank=1").mkdir(parents=True)
    (outside / "piece.json").write_text("kept")
    job = tmp_path / "job"
    (job / "run=x").mkdir(parents=True)
    (job / "run=x" / "rank=1").symlink_to(outside / "rank=1")
    (job / "dataset.json").symlink_to(outside / "piece.json")
    (job / "writer.json").symlink_to(outside / "new.json")
    (job / "link").symlink_to(outside)
    place = Place(str(job))
    before = sorted(outside.rglob("*"))
    for link, work in (
        ("dataset.json", lambda: place.read("dataset.json")),
        ("dataset.json", lambda: place.write(b"", "dataset.json")),
        ("writer.json", lambda: place.write(b"", "writer.json", is_new=True)),
        ("run=x/rank=1", lambda: place.put(files, "run=x/rank=1")),
        ("run=x/rank=1", lambda: place.remove("run=x/rank=1", "2")),
        ("link", lambda: place.remove_files(["link/piece.json"])),
        ("link", lambda: place.move("link/rank=1", "run=x/rank=2")),
        ("link", lambda: place.move("run=x", "link/run=x")),
    ):
        with pytest.raises(
            StoreError, match=rf"{job}: {job}/{link} is a link, which may lead out of the dataset; replace it "
        ):
            work()
    assert (sorted(outside.rglob("*")), (outside / "piece.json").read_text()) == (before, "kept")
    (tmp_path / "name").symlink_to(job)
    Place(str(tmp_path / "name")).write(b"1", "new.json")
    assert (job / "new.json").read_bytes() == b"1"


def test_only_one_writes_a_new_file(place):
    place.write(b"first", "x", "new.json", is_new=True)
    with pytest.raises(FileExistsError):
        place.write(b"second", "x", "new.json", is_new=True)
    assert place.read("x", "new.json") == b"first"
    assert place.list_names("x") == ["new.json"]


def test_a_folder_is_put_moved_and_removed(place, files):
    place.put(files, ".pieces/1")
    place.move(".pieces/1", "run=b/window=0/rank=3")
    assert place.list_names("run=b", "window=0", "rank=3") == ["a.parquet", "piece.json", "z.parquet"]
    assert place.read("run=b/window=0/rank=3/z.parquet") == b"z.parquet"
    assert place.list_names(".pieces/1") == []
    place.remove("run=b/window=0/rank=3")
    place.remove("run=b/window=0/rank=3")
    assert place.list_names("run=b", "window=0", "rank=3") == []


def test_no_request_is_wasted(bucket, server, files):
    place = Place(f"{bucket}/job")
    place.put(files, ".pieces/1")
    assert server.counted() == {"PUT": 3}
    place.move(".pieces/1", "run=b/window=0/rank=3")
    assert server.counted() == {"GET list": 1, "POST delete": 2, "PUT copy": 3}
    place.write(b"1", "writer.json", is_new=True)
    place.read("writer.json")
    place.read("none.json")
    place.remove("writer.json")
    assert server.counted() == {"DELETE": 1, "GET": 2, "PUT": 1}
    place.remove("run=b/window=0/rank=3")
    assert server.counted() == {"GET list": 1, "POST delete": 2}


@pytest.mark.parametrize("name", ["a b", "100%", "x?y=1", "#1", "å-日本", "a=b", "../up", "a/b", "[1]*"])
def test_names_of_runs_are_names_of_folders(place, name):
    folder = folder_of(name, 0, 1)
    assert folder.count("/") == 2
    assert run_of(folder) == name
    place.write(b"1", folder, "piece.json")
    assert place.list_names(*folder.split("/")) == ["piece.json"]
    assert place.list_names() == [folder.partition("/")[0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s3://bucket/job", True),
        ("memory://x", True),
        ("file:///tmp/x", True),
        ("abfs://c@account.dfs.core.windows.net/job", True),
        ("C:\\traces\\job", False),
        ("C:/traces/job", False),
        ("C://traces/job", False),
        ("job/", False),
        ("~/job/", False),
    ],
)
def test_addresses_are_told_from_paths(name, expected):
    assert is_address(name) is expected


@pytest.mark.parametrize("name", ["job", "job/", "./job", "x/../job", "file://{cwd}/job", "file://{cwd}/job/"])
def test_a_folder_has_many_names(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    place = Place(name.format(cwd=tmp_path))
    assert place.is_local
    assert place.path("a") == f"{tmp_path}/job/a"
    assert place.duckdb_path("a") == f"{tmp_path}/job/a"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("s3://AKIA:sec/ret@bucket/job", "s3://bucket/job"),
        ("s3://bucket/job?X-Amz-Signature=abc&x=1", "s3://bucket/job"),
        ("https://u:p@host:9000/job", "https://host:9000/job"),
        ("abfs://c/job?sig=abc", "abfs://c/job"),
    ],
)
def test_an_address_with_credentials_is_refused_without_showing_them(name, shown):
    with pytest.raises(StoreError) as caught:
        Place(name)
    assert str(caught.value).startswith(f"{shown}: holds credentials")
    assert not any(part in str(caught.value) for part in ("sec/ret", "AKIA", "abc", "u:p"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/a b", "s3://bucket/a b"),
        ("hdfs://node:8020/user/a@b", "hdfs://node:8020/user/a@b"),
        ("abfs://c@account.net/job", "abfs://c@account.net/job"),
        (
            'cannot connect to "http://k:s@127.0.0.1:1/b?list-type=2&p=": down',
            'cannot connect to "http://127.0.0.1:1/b": down',
        ),
        ("bad X-Amz-Signature=abc, try", "bad X-Amz-Signature=***, try"),
        ("aws_secret_access_key=abc", "aws_secret_access_key=***"),
    ],
)
def test_texts_lose_their_credentials(text, expected):
    assert mask_secrets(text) == expected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere://bucket/job", "no file system is known for nowhere://"),
        ("s3://", "names no place"),
        ("memory://", "names no place"),
    ],
)
def test_a_place_that_cannot_be_is_told(name, reason):
    if name.startswith("s3"):
        pytest.importorskip("s3fs")
    with pytest.raises(StoreError, match=reason):
        Place(name).list_names()


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(StoreError, match=r"^s3://bucket/job: needs s3fs, .*: pip install 's3fs>=2024.12'$"):
        Place("s3://bucket/job").read("a")
    with pytest.raises(StoreError, match=r"needs gcsfs, .*: pip install 'gcsfs'$"):
        Place("gs://bucket/job").read("a")


def test_only_the_name_goes_to_other_processes(monkeypatch):
    monkeypatch.setitem(fsspec.config.conf, "memory", {"secret": "verysecret"})
    MemoryFileSystem.clear_instance_cache()
    place = Place("memory://job")
    place.write(b"1", "a")
    assert place.fs.storage_options == {"secret": "verysecret"}
    sent = pickle.dumps(place)
    assert b"verysecret" not in sent
    assert pickle.loads(sent).read("a") == b"1"  # noqa: S301 - made here
    MemoryFileSystem.clear_instance_cache()
