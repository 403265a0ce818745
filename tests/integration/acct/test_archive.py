"""sacctmgr archive: what the command does not say slurmdbd.conf says, and files that load again whatever happens."""

import os
import sqlite3
import subprocess
import time

import people
import pytest

from conftest import wait_until
from test_slurmdbd_control import Site
from test_sreport import jobs_left, old_job

PAST = 1604188800  # 2020-11-01T00:00:00 UTC
DUMP = ("sacctmgr", "-i", "archive", "dump")
DONE = "sacctmgr: accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS\n"


def test_what_is_not_said_is_configured(folder):
    keep, own = folder / "keep", folder / "own"
    own.mkdir()
    s = Site(folder, conf=f"PurgeJobAfter=24hours\nArchiveJobs=yes\nArchiveDir={own}")
    with s:
        pass
    old_job(folder, PAST)
    wait_until(lambda: time.time() % 3600 < 3570, "the next hour, in which it purges by itself, is some seconds off", 40)
    with s:
        wait_until(lambda: jobs_left(folder) == 0, "it has purged what is old, for this hour", 30)
        (first,) = own.glob("demo_job_archive_*")
        s.dbd.conf.write_text(s.dbd.conf.read_text().replace(f"ArchiveDir={own}", f"ArchiveDir={keep}"))
        s.run("sacctmgr", "reconfigure")
        s.run("sacctmgr", "-i", "archive", "load", f"file={first}")
        said = s.run(*DUMP, rc=1)
        assert str(keep) in said and "No such file or directory" in said and jobs_left(folder) == 1
        keep.mkdir()
        assert s.run(*DUMP, "purgejobafter=100000days") == DONE and jobs_left(folder) == 1
        said = s.run(*DUMP)
        (file,) = keep.glob("demo_job_archive_*")
        assert said == f"{file}\n{DONE}" and jobs_left(folder) == 0
        assert s.run("sacctmgr", "-i", "archive", "load", f"file={file}") == "" and jobs_left(folder) == 1
        assert s.run(*DUMP, "jobs=no", f"directory={folder}") == DONE and jobs_left(folder) == 0
        assert list(keep.iterdir()) == [file] and not list(folder.glob("demo_job_archive_*"))


def test_a_script_keeps_what_is_not_named(folder):
    script = folder / "keep.sh"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o700)
    s = Site(folder, conf=f"PurgeJobAfter=24hours\nArchiveJobs=yes\nArchiveDir={folder}\nArchiveScript={script}")
    with s:
        pass
    old_job(folder, PAST)
    with s:
        assert s.run(*DUMP) == DONE and jobs_left(folder) == 1
        assert s.run(*DUMP, "jobs", "purgejobafter=24hours").endswith(DONE) and jobs_left(folder) == 0
        assert list(folder.glob("*_job_archive_*"))


def test_no_archive_is_written_into_another(folder):
    """The same rows twice in an hour, and what someone else has made under the name of the file."""
    named = (*DUMP, "jobs", "purgejobafter=24hours", f"directory={folder}")
    s = Site(folder)
    with s:
        pass
    old_job(folder, PAST)
    wait_until(lambda: time.time() % 3600 < 3580, "the file of the next hour has another name", 30)
    with s:
        first = s.run(*named).splitlines()[0]
        s.run("sacctmgr", "-i", "archive", "load", f"file={first}")
        assert s.run(*named) == f"{first}.1\n{DONE}" and jobs_left(folder) == 0
        for file in (first, f"{first}.1", f"{first}.1"):
            assert s.run("sacctmgr", "-i", "archive", "load", f"file={file}") == "" and jobs_left(folder) == 1
        os.unlink(first)
        os.mkfifo(first)
        os.symlink(folder / "elsewhere", f"{first}.2")
        assert s.run(*named) == f"{first}.3\n{DONE}" and not (folder / "elsewhere").exists()
        for file in (first, folder, "/dev/zero"):
            said = s.run("sacctmgr", "-i", "archive", "load", f"file={file}", rc=1)
            assert said == f" Problem loading archive file: {file} is no regular file\n"


@pytest.mark.skipif(not people.HAVE_PEOPLE, reason="no mount namespace of its own")
def test_a_disk_that_becomes_full(folder):
    """What is gone from the store can be loaded: the file ends with a whole row."""
    small = folder / "small"
    small.mkdir()
    s = Site(folder, conf="MaxPurgeLimit=50")
    with s:
        pass
    old_job(folder, PAST)
    db = sqlite3.connect(folder / "acct.db")
    columns = ",".join(row[1] for row in db.execute("PRAGMA table_info(jobs)"))
    rest = columns.split(",", 2)[2]
    for run in range(2, 1001):
        db.execute(f"INSERT INTO jobs SELECT {run},{run},{rest} FROM jobs WHERE run=1")
    db.commit()
    db.close()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=True, timeout=20)
    try:
        with s:
            said = s.run(*DUMP, "jobs", "purgejobafter=24hours", f"directory={small}", rc=1)
            assert "No space left on device" in said
            left = jobs_left(folder)
            assert 0 < left < 1000 and left % 50 == 0
            (file,) = small.glob("demo_job_archive_*")
            assert s.run("sacctmgr", "-i", "archive", "load", f"file={file}") == "" and jobs_left(folder) == 1000
            file.unlink()
            (small / "filler").write_bytes(bytes(60000))
            assert "No space left on device" in s.run(*DUMP, "jobs", "purgejobafter=24hours", f"directory={small}", rc=1)
            assert jobs_left(folder) == 1000 or list(small.glob("demo_job_archive_*"))
    finally:
        subprocess.run(["umount", str(small)], check=True, timeout=20)
