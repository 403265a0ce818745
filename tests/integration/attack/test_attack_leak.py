"""Attacks on what leaks: descriptors and keys that daemons were started with, secrets told by queries, groups left out."""

import ctypes
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import accounting
import conftest
import pytest
from accounting import Dbd, storage_of
from conftest import Daemon, program, wait_until
from rawwire import ERROR, MORE, Peer, messages
from test_launch_tree import relays
from test_private import as_user

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="starts daemons as root, attacks as other users")
USER, OTHER = "games", "nobody"
UID, OTHER_UID = 5, 65534
LIBRARY_SIGNALS = 3 << 31  # 32 and 33: no program of the C library's changes them
SECRET = "what-only-root-reads"
# A program of the site or of a user that takes whatever descriptor it was left with.
PROBE = f"""#!{sys.executable} -IS
import os, sys
found = []
for fd in set(range(3, 2048)) - {{int(os.environ.get("PMI_FD", 0))}}:
    try:
        link = os.readlink(f"/proc/self/fd/{{fd}}")
    except OSError:
        continue
    try:
        found.append(f"{{link}}: {{os.pread(fd, 100, 0)!r}}")
    except OSError as e:
        found.append(f"{{link}}: {{e}}")
name = os.path.basename(sys.argv[0])
path = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "seen", f"{{name}}.{{os.getpid()}}")
with open(path + ".new", "w") as f:
    f.write("".join(line + "\\n" for line in found))
os.rename(path + ".new", path)
"""


def started_by(monkeypatch, *prefix):
    """From now on daemons are started through this command, which ends in exec."""
    class Prefixed(Daemon):
        def __init__(self, name, argv, log, env):
            super().__init__(name, [*map(str, prefix), *argv], log, env)
    monkeypatch.setattr(conftest, "Daemon", Prefixed)
    monkeypatch.setattr(accounting, "Daemon", Prefixed)


def probes(folder, *names):
    """Programs that note what they were left with; gives a function: name -> what all runs of it noted."""
    (folder / "seen").mkdir()
    (folder / "seen").chmod(0o1777)
    for name in names:
        (folder / name).write_text(PROBE)
        (folder / name).chmod(0o755)

    def seen(name):
        wait_until(lambda: [p for p in (folder / "seen").glob(f"{name}.*") if p.suffix != ".new"], f"{name} has run")
        return sorted({line for p in (folder / "seen").glob(f"{name}.*") for line in p.read_text().splitlines()})
    return seen


def holders(path):
    """Processes that have the file open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(path):
                found.append(Path(f"/proc/{link.parts[2]}/cmdline").read_text().replace("\0", " "))
        except OSError:
            pass
    return found


def read_line(p):
    line = p.stdout.readline()
    assert line, p.communicate()
    return line.strip()


@pytest.fixture
def site(folder, make_cluster):
    folder.chmod(0o755)

    def make(**options):
        c = make_cluster(start=False, **options)
        c.dir.chmod(0o755)
        c.work.chmod(0o1777)
        return c
    return make


# ---- descriptors --------------------------------------------------------------------------------


def test_inherited_descriptors(site, folder, monkeypatch):
    """Daemons started with a file of root's open, as a shell script does: nobody has it afterwards, no job reads it."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    hooks = {"prolog": "Prolog", "epilog": "Epilog", "taskprolog": "TaskProlog", "taskepilog": "TaskEpilog",
             "prologctld": "PrologSlurmctld", "health": "HealthCheckProgram"}
    seen = probes(folder, "batch", "task", "mpitask", *hooks)
    started_by(monkeypatch, "bash", "-c", 'exec 3<"$0" 4>>"$0" 5<"$0" 9<"$0" 70<"$0"; exec "$@"', secret)
    c = site(nodes=9, cpus=2, conf="TreeWidth=2\n" + "\n".join(f"{key}={folder}/{name}" for name, key in hooks.items()))
    c.start()
    assert holders(secret) == []
    done = as_user(c, USER, program("sbatch"), "--parsable", "-n1", "-o", "/dev/null", "--wrap",
                   f"{folder}/batch; srun {folder}/task; srun --mpi=pmi2 {folder}/mpitask")
    assert done.returncode == 0, done.stderr
    assert c.wait_end(done.stdout.strip())["JobState"] == "COMPLETED"
    for name in ("batch", "task", "mpitask", *hooks):
        assert seen(name) == [], name
    # All who live while a step runs: step daemons, relays, MPI services, tasks.
    with c.popen("srun", "-N9", "--mpi=pmi2", "sh", "-c", "echo on; read x", stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE) as p:
        assert [read_line(p) for _ in range(9)] == ["on"] * 9
        assert relays(c), "the step is too small for relays"
        assert holders(secret) == []
        p.communicate("x\n")


@pytest.mark.skipif(conftest.SANITIZED, reason="a sanitizer's library must be loaded before others")
def test_descriptors_of_libraries(site, folder):
    """What a library opens inside a daemon without close-on-exec is not the jobs': here a preloaded one."""
    source, library = folder / "opens.c", folder / "opens.so"
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    source.write_text(textwrap.dedent(f"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/stat.h>
        /* The daemons make folders when they are long past their beginning. */
        int mkdir(const char *path, mode_t mode)
        {{
            (void)open("{secret}", O_RDONLY);
            return mkdirat(AT_FDCWD, path, mode);
        }}
        """))
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    seen = probes(folder, "batch", "task", "prolog")
    c = site(nodes=1, conf=f"Prolog={folder}/prolog")
    c.daemon_env_change = {**c.daemon_env_change, "LD_PRELOAD": str(library)}
    c.start()
    done = as_user(c, USER, program("sbatch"), "--parsable", "-o", "/dev/null", "--wrap", f"{folder}/batch; srun {folder}/task")
    assert c.wait_end(done.stdout.strip())["JobState"] == "COMPLETED", done.stderr
    assert any("slurmd" in who for who in holders(secret)), "the library opens nothing"
    for name in ("batch", "task", "prolog"):
        assert seen(name) == [], name


def test_started_without_streams(site, monkeypatch):
    """Descriptors 0 to 2 closed at the start: no socket and no file of a daemon becomes anybody's standard output."""
    started_by(monkeypatch, "bash", "-c", 'exec 0<&- 1>&- 2>&-; exec "$@"', "x")
    c = site(nodes=1).start()
    with c.popen("srun", "sh", "-c", "echo on; read x", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        assert read_line(p) == "on"
        steps = [int(pid) for pid in subprocess.run(["pgrep", "-P", str(c.slurmds["node1"].pid)], capture_output=True,
                                                    text=True).stdout.split()]
        assert steps
        for pid in [c.ctld.pid, c.slurmds["node1"].pid, *steps]:
            assert {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)} == {"/dev/null"}, pid
        p.communicate("x\n")


def test_slurmdbd_inherits_nothing(folder, monkeypatch):
    """The same start of slurmdbd: with a file of root's, without a standard input."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    started_by(monkeypatch, "bash", "-c", 'exec 0<&- 5<"$0" 9<"$0"; exec "$@"', secret)
    dbd = Dbd(folder / "dbd", storage_of("sqlite", folder), folder / "slurm.key").start()
    try:
        assert holders(secret) == []
        assert os.readlink(f"/proc/{dbd.daemon.pid}/fd/0") == "/dev/null"
    finally:
        dbd.stop()


# ---- other inheritances -------------------------------------------------------------------------


def test_signals_umask_and_memory(site, folder, monkeypatch):
    """A careless start: every signal ignored, files for everybody to write, never killed when memory is short."""
    started_by(monkeypatch, "bash", "-c",
               'umask 0; trap "" HUP INT QUIT USR1 USR2 PIPE TERM; echo -500 > /proc/self/oom_score_adj; exec "$@"', "x")
    prolog = folder / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {folder}/made\ngrep SigIgn /proc/self/status > {folder}/prolog.signals\n")
    prolog.chmod(0o755)
    c = site(nodes=1, conf=f"Prolog={prolog}").start()
    out = c.run("srun", "cat", "/proc/self/oom_score_adj", "/proc/self/status").out.splitlines()
    assert out[0] == "0"
    sets = [int(line.split()[1], 16) & ~LIBRARY_SIGNALS for line in out if line.startswith(("SigIgn", "SigBlk"))]
    assert sets == [0, 0]
    assert stat.S_IMODE((folder / "made").stat().st_mode) == 0o644
    assert int((folder / "prolog.signals").read_text().split()[1], 16) & ~LIBRARY_SIGNALS == 0


KEYS = f"""
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
JOIN, SESSION = 1, -3
if sys.argv[1] == "try":
    sys.exit(call(250, JOIN, None) < 0)
if sys.argv[1] == "start":  # as a login of root's, which holds a key of his
    assert call(250, JOIN, None) >= 0
    assert call(248, b"user", b"of-root", b"{SECRET}", {len(SECRET)}, SESSION) >= 0
    os.execv(sys.argv[2], sys.argv[2:])
key, buf = call(250, 10, SESSION, b"user", b"of-root", 0), ctypes.create_string_buffer(100)  # search
print(call(250, 11, key, buf, 100) >= 0 and buf.value.decode())  # read
"""


def test_keys_of_root(site, folder, monkeypatch):
    """Whoever has a session's keyring may read its keys, whatever his user: tasks had that of slurmd's starter."""
    script = folder / "keys.py"
    script.write_text(KEYS)
    if subprocess.run([sys.executable, script, "try"]).returncode:
        pytest.skip("no keyrings here")
    started_by(monkeypatch, sys.executable, script, "start")
    c = site(nodes=1).start()
    done = as_user(c, USER, program("srun"), sys.executable, script, "read")
    assert done.stdout == "False\n", done.stderr


# ---- what queries tell --------------------------------------------------------------------------


def ask(c, uid, op, body):
    """All records of the answer, as bytes."""
    pb, records = messages(), []
    with Peer.local(c.port, uid=uid) as p:
        p.hello()
        flags, batch = p.call(op, body)
        while True:
            assert not flags & ERROR, batch
            records += batch.records
            if not flags & MORE:
                return records
            flags, batch = p.answer(op)


@pytest.fixture(scope="module")
def secretive(tmp_path_factory):
    """A job whose record and whose queued step hold secrets."""
    folder = tmp_path_factory.mktemp("penstock-test-")
    for f in (folder, *folder.parents[:2]):
        f.chmod(0o755)
    c = conftest.Cluster(folder, nodes=1)
    try:
        c.start()
        c.work.chmod(0o1777)
        c.env["TOKEN"] = SECRET
        done = as_user(c, USER, program("sbatch"), "--parsable", "-n4", "-N1", "--stepmgr", "-o", "/dev/null",
                       f"--export=ALL,OTHER={SECRET}", "--wrap",
                       "srun --async -n4 sleep 1000; srun --async -n4 sleep 1000; touch queued; sleep 1000")
        assert done.returncode == 0, done.stderr
        c.job_id = int(done.stdout)
        wait_until(lambda: (c.work / "queued").exists(), "the steps are queued")
        pb = messages()
        with Peer.local(c.port, uid=UID) as p:
            p.hello()
            flags, reply = p.call("job-submit", pb.SubmitRequest(job=pb.JobRecord(
                name="spank", work_dir="/tmp", batch=True, priority=0, std_out="/dev/null",
                argv=["x"], spank_job_env=[f"TOKEN={SECRET}"]), script=b"#!/bin/sh\nexit\n", environment=b"A=B\0"))
            assert not flags & ERROR, reply
        yield c
    finally:
        problems = c.stop()
        shutil.rmtree(folder, ignore_errors=True)
        assert not problems, problems


@pytest.mark.parametrize("uid", [OTHER_UID, UID, 0])
@pytest.mark.parametrize("whole", [True, False])
def test_secrets_are_not_told(secretive, uid, whole):
    """Whole records, and the secret fields asked for by number: of another user's, and of one's own (which nobody needs)."""
    pb = messages()
    hidden = {"query-jobs": (pb.JobRecord, {"script_hash", "env_hash", "export_env", "spank_job_env"}),
              "query-steps": (pb.StepRecord, {"async_launch", "async_spec"})}
    for op, (kind, names) in hidden.items():
        numbers = [] if whole else [kind.DESCRIPTOR.fields_by_name["job_id"].number,
                                    *(kind.DESCRIPTOR.fields_by_name[n].number for n in names)]
        records = ask(secretive, uid, op, pb.QueryRequest(fields=numbers))
        parsed = [kind.FromString(r) for r in records]
        assert secretive.job_id in {r.job_id for r in parsed}
        assert not names & {f.name for r in parsed for f, _ in r.ListFields()}
        shown = [r for r in parsed if whole]
        for r in shown:
            r.ClearField("submit_line")  # shown to everybody, as it is written
        assert not [r for r in shown if SECRET.encode() in r.SerializeToString()]


def test_secrets_are_not_in_accounting(secretive):
    """Raw rows of accounting: what the nodes were given is not kept for others to read."""
    pb = messages()

    def rows():
        jobs = [pb.AcctJob.FromString(r) for r in ask(secretive, OTHER_UID, "query-acct", pb.AcctFilter(duplicates=True))]
        return jobs if any(s.async_ for j in jobs for s in j.steps) and any(j.job.name == "spank" for j in jobs) else None
    if "async_" not in pb.StepRecord.DESCRIPTOR.fields_by_name:
        pb.StepRecord.async_ = property(lambda s: getattr(s, "async"))
    jobs = wait_until(rows, "accounting has both jobs and a queued step")
    for j in jobs:
        assert not j.job.spank_job_env and not j.job.HasField("export_env") and not j.job.HasField("env_hash")
        for s in j.steps:
            assert not s.HasField("async_launch") and not s.HasField("async_spec")


def test_secrets_are_not_watched(secretive):
    """A stream of changes from the log's beginning tells none of it either."""
    pb = messages()
    with Peer.local(secretive.port, uid=OTHER_UID) as p:
        p.hello()
        p.send("watch", pb.WatchRequest(entities=[1, 2, 3], since_lsn=1))
        told, told_of = b"", set()
        while secretive.job_id not in told_of:
            _, batch = p.answer("watch")
            for change in batch.changes:
                told_of.add(pb.WatchChange.FromString(change).id)
                told += change
    assert SECRET.encode() not in told


def test_what_is_the_owners_alone(secretive):
    """Commands that would hand out more than a list does, on somebody else's job."""
    c, job = secretive, secretive.job_id
    for words in (["sstat", "-j", f"{job}.0"], ["sattach", f"{job}.0"], ["scontrol", "write", "batch_script", str(job), "-"],
                  ["sacct", "-B", "-j", str(job)], ["sacct", "--env-vars", "-j", str(job)]):
        done = as_user(c, OTHER, program(words[0]), *words[1:])
        assert SECRET not in done.stdout + done.stderr and "sleep 1000; srun" not in done.stdout, (words, done)
        if words[1:2] == ["write"]:  # it ends with 0 whatever it is told
            assert (done.stdout, done.stderr) == ("", "job script retrieval failed: Invalid user id\n")
        else:
            assert done.returncode != 0 or words[0] in ("sstat", "sacct"), (words, done)


def test_private_jobs_hide_steps(secretive):
    """PrivateData=jobs against frames by hand: steps by their job's number and owner, and all that goes by a number."""
    c, pb, job = secretive, messages(), secretive.job_id
    by_hand = pb.QueryRequest(jobs=pb.JobFilter(job_ids=[job], uids=[UID]))
    ops = {"query-explain": pb.ExplainRequest(job_id=job), "query-script": pb.JobIdRequest(job_id=job),
           "job-wait": pb.JobWaitRequest(job_id=job), "steps-wait": pb.StepsWaitRequest(id=str(job)),
           "access": pb.AccessRequest(id=f"{job}.0", purpose=pb.CRED_STAT)}
    before = c.extra_conf
    c.extra_conf += "\nPrivateData=jobs"
    try:
        c.write_conf()
        c.run("scontrol", "reconfigure")
        wait_until(lambda: not ask(c, OTHER_UID, "query-steps", by_hand), "the steps are hidden")
        assert not ask(c, OTHER_UID, "query-jobs", by_hand)
        assert ask(c, UID, "query-steps", by_hand) and ask(c, 0, "query-steps", by_hand)
        with Peer.local(c.port, uid=OTHER_UID) as p:
            p.hello()
            for op, body in ops.items():
                assert p.call(op, body)[0] & ERROR, op
    finally:
        c.extra_conf = before
        c.write_conf()
        c.run("scontrol", "reconfigure")


# ---- groups -------------------------------------------------------------------------------------


def many_groups(folder, n):
    """A file of groups in which the user is in n more than the machine says; gives the command that puts it in place."""
    file = folder / "group"
    file.write_text(Path("/etc/group").read_text() + "".join(f"crowd{i}:x:{100000 + i}:{USER}\n" for i in range(n)))
    return ["unshare", "-m", "bash", "-c", 'mount --bind "$0" /etc/group; exec "$@"', file]


def test_all_groups(site, folder, monkeypatch):
    """A user in 1,200 groups: tasks, sbcast and AllowGroups have them all."""
    n = 1200
    started_by(monkeypatch, *many_groups(folder, n))
    c = site(nodes=1, partition=f"AllowGroups=crowd{n - 1}").start()
    done = as_user(c, USER, program("srun"), "id", "-G")
    assert len(set(map(int, done.stdout.split())) & set(range(100000, 100000 + n))) == n, done.stderr[-500:]
    shared = folder / "shared"  # which only the last group may enter and write
    shared.mkdir()
    os.chown(shared, 0, 100000 + n - 1)
    shared.chmod(0o070)
    done = as_user(c, USER, program("salloc"), "-Q", program("sbcast"), "/etc/hostname", f"{shared}/copy")
    assert done.returncode == 0 and (shared / "copy").exists(), done.stderr


def test_more_groups_than_a_process_can_have(site, folder, monkeypatch):
    """70,000: no job with fewer, since one of those left out may be what a file is closed to, but a sentence."""
    c = site(nodes=1)
    c.start_ctld()
    started_by(monkeypatch, *many_groups(folder, 70000))
    c.start_slurmd("node1")
    c.wait_nodes()
    done = as_user(c, USER, program("srun"), "true")
    assert done.returncode != 0
    assert f"user {USER} is in more than 65536 groups" in done.stderr, done.stderr
