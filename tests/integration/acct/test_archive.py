"""sacctmgr archive: what the command does not say slurmdbd.conf says."""

import time

from conftest import wait_until
from test_slurmdbd_control import Site
from test_sreport import jobs_left, old_job

PAST = 1604188800  # 2020-11-01T00:00:00 UTC
DUMP = ("sacctmgr", "-i", "archive", "dump")
DONE = "sacctmgr: accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS\n"


def test_what_is_not_said_is_configured(folder):
    keep = folder / "keep"
    s = Site(folder)
    text = s.dbd.conf.read_text()
    with s:
        pass
    old_job(folder, PAST)
    wait_until(lambda: time.time() % 3600 < 3580, "the next hour, in which it purges by itself, is some seconds off", 30)
    with s:
        wait_until(lambda: "Internal DBD rollup last ran" in s.run("sacctmgr", "list", "stats"), "it has looked", 30)
        s.dbd.conf.write_text(f"{text}PurgeJobAfter=24hours\nArchiveJobs=yes\nArchiveDir={keep}\n")
        s.run("sacctmgr", "reconfigure")
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
