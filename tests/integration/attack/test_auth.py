"""Who may do what: the cluster's key, tokens, and the rights of ordinary users."""

import base64
import hashlib
import hmac
import json
import os
import pwd
import re
import shutil
import subprocess
import time

import pytest

from conftest import let_in, program, wait_until

CLUSTER = {"nodes": 2, "conf": "KillWait=1"}
ROOT = os.getuid() == 0
USER = "nobody"
needs_root = pytest.mark.skipif(not ROOT, reason="only root may become another user")


@pytest.fixture
def both(c):
    """The module's cluster with a work folder that everybody may write to."""
    for path in (c.dir, c.dir / "etc", c.dir / "work", c.dir / "log"):
        path.chmod(0o755)
    c.conf.chmod(0o644)
    c.work.chmod(0o777)
    (c.dir / "tmp").chmod(0o777)
    return c


def as_user(c, *argv, check=True, env=None, user=USER, **kwargs):
    """Run a command of the build as another user, with his groups."""
    who = pwd.getpwnam(user)
    environment = {**c.env, "HOME": "/", "USER": user, "LOGNAME": user, "SHELL": "/bin/sh", **(env or {})}
    done = subprocess.run(["setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--init-groups", "--",
                           program(argv[0]), *map(str, argv[1:])], env=environment, cwd=c.work, capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL, **kwargs)
    if check:
        assert done.returncode == 0, f"{argv}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


# ---- users -----------------------------------------------------------------------------------------

@needs_root
def test_jobs_run_as_the_submitter(both):
    job = int(as_user(both, "sbatch", "--parsable", "--wrap", "id -u; id -g; id -G; touch made; srun id -u").stdout)
    assert both.wait_end(job)["JobState"] == "COMPLETED"
    who = pwd.getpwnam(USER)
    lines = both.out(job).splitlines()
    assert lines[:2] == [str(who.pw_uid), str(who.pw_gid)] and lines[3] == str(who.pw_uid)
    assert str(who.pw_gid) in lines[2].split() and "0" not in lines[2].split()
    assert (both.work / "made").stat().st_uid == who.pw_uid
    assert (both.work / f"slurm-{job}.out").stat().st_uid == who.pw_uid
    assert both.job(job)["UserId"] == f"{USER}({who.pw_uid})"
    assert both.wait_sacct(job, "COMPLETED", "State,User,UID") == ["COMPLETED", USER, str(who.pw_uid)]


@needs_root
def test_steps_and_allocations_of_a_user(both):
    done = as_user(both, "srun", "-N2", "-l", "id", "-u")
    assert sorted(done.stdout.splitlines()) == [f"{i}: {pwd.getpwnam(USER).pw_uid}" for i in range(2)]
    done = as_user(both, "salloc", "-Q", "srun", "id", "-u")
    assert done.stdout == f"{pwd.getpwnam(USER).pw_uid}\n"


@needs_root
def test_a_user_may_not_touch_others_jobs(both):
    job = both.sbatch("-H", wrap="true")
    runs = both.sbatch(wrap="sleep 1000")
    both.wait_state(runs, "RUNNING")
    done = as_user(both, "scancel", job, check=False)
    assert done.returncode != 0
    assert done.stderr == f"scancel: error: Kill job error on job id {job}: Access/permission denied\n"
    assert done.returncode == 210
    assert as_user(both, "scontrol", "update", f"jobid={job}", "comment=x", check=False).stderr == (
        f"Invalid user id for job {job}\n")
    assert as_user(both, "scontrol", "hold", job, check=False).stderr == (
        f"Invalid user id for job {job}\nslurm_suspend error:Invalid user id\n")
    for verb in ("release", "requeue", "suspend"):
        done = as_user(both, "scontrol", verb, runs, check=False)
        assert done.returncode == 1 and done.stderr, verb
    done = as_user(both, "srun", f"--jobid={runs}", "true", check=False)
    assert done.returncode == 1 and done.stderr
    done = as_user(both, "scontrol", "write", "batch_script", job, "-", check=False)
    assert done.stdout == "" and done.stderr == "job script retrieval failed: Invalid user id\n"
    assert both.job(job)["JobState"] == "PENDING" and both.state(runs) == "RUNNING"


@needs_root
@pytest.mark.parametrize("argv,err", [
    (["update", "nodename=node1", "state=drain", "reason=x"], "slurm_update error: Invalid user id\n"),
    (["update", "partitionname=main", "state=down"], "slurm_update error: Invalid user id\n"),
    (["reconfigure"], "slurm_reconfigure error:Invalid user id\n"),
    (["shutdown"], None), (["create", "partitionname=x", "nodes=node1"], None), (["delete", "partitionname=main"], None),
    (["token", "username=root"], None)])
def test_a_user_is_no_administrator(both, argv, err):
    done = as_user(both, "scontrol", *argv, check=False)
    assert done.returncode == 1 and done.stderr
    assert err is None or done.stderr == err
    assert both.run("sinfo", "-h", "-o", "%P %a %D %t").out == "main* up 2 idle\n"
    assert both.ctld.alive()


@needs_root
def test_a_user_manages_his_own_jobs(both):
    job = int(as_user(both, "sbatch", "--parsable", "-H", "-t", "10", "--wrap", "true").stdout)
    as_user(both, "scontrol", "update", f"jobid={job}", "timelimit=5", "comment=mine")
    assert both.job(job)["TimeLimit"] == "00:05:00"
    assert as_user(both, "sbatch", "--nice=-10", "--wrap", "true", check=False).stderr.startswith("sbatch: error: ")
    assert as_user(both, "sbatch", "--uid=root", "--wrap", "true", check=False).stderr == (
        "sbatch: error: --uid only permitted by root user\n")
    as_user(both, "scontrol", "release", job)
    both.wait_end(job)
    both.run("scontrol", "hold", other := int(as_user(both, "sbatch", "--parsable", "-H", "--wrap", "true").stdout))
    both.run("scontrol", "release", other)
    held = int(as_user(both, "sbatch", "--parsable", "--begin=now+1hour", "--wrap", "true").stdout)
    both.run("scontrol", "hold", held)
    done = as_user(both, "scontrol", "release", held, check=False)
    assert done.returncode == 1 and done.stderr == (
        f"Access/permission denied for job {held}\nslurm_suspend error:Access/permission denied\n")
    as_user(both, "scancel", held)
    assert both.state(held) == "CANCELLED"


@needs_root
def test_root_submits_for_a_user(both):
    job = int(both.run("sbatch", "--parsable", f"--uid={USER}", "--wrap", "id -un").out)
    both.wait_end(job)
    assert both.out(job) == f"{USER}\n"


@needs_root
def test_a_script_nobody_may_read(both):
    secret = both.script("true", name="secret.sh")
    secret.chmod(0o600)
    done = as_user(both, "sbatch", "secret.sh", check=False)
    assert (done.returncode, done.stderr) == (1, "sbatch: error: Unable to open file secret.sh\n")


@needs_root
def test_output_is_opened_as_the_user(both):
    """A job cannot write where its user may not."""
    place = both.dir / "etc" / "stolen"
    job = int(as_user(both, "sbatch", "--parsable", "-o", str(place), "--wrap", "echo x").stdout)
    assert both.wait_end(job)["JobState"] == "FAILED"
    assert not place.exists()
    done = as_user(both, "srun", "-o", str(place), "echo", "x", check=False)
    assert done.returncode != 0 and not place.exists()


# ---- the cluster's key -----------------------------------------------------------------------------

def write_key(path):
    path.write_text(f"k1:{os.urandom(32).hex()}\n")
    path.chmod(0o600)


def keyed(make_cluster, **options):
    c = make_cluster(nodes=2, start=False, **options)
    key = c.dir / "etc" / "slurm.key"
    write_key(key)
    return c, key


def test_a_key_file(make_cluster):
    c, _ = keyed(make_cluster)
    c.start()
    job = c.sbatch("-N2", script="srun -l true; exit 4")
    assert c.wait_end(job)["ExitCode"] == "4:0"
    assert c.run("srun", "-N2", "true").rc == 0


def test_another_key_is_refused(make_cluster):
    """A node and a command with a key of another cluster get nowhere."""
    c, key = keyed(make_cluster)
    c.start()
    stranger = c.dir / "stranger"
    stranger.mkdir()
    shutil.copy(c.conf, stranger / "slurm.conf")
    write_key(stranger / "slurm.key")
    before = c.run("squeue", "-h").out
    env = {"SLURM_CONF": str(stranger / "slurm.conf")}
    done = c.run("scontrol", "update", "nodename=node1", "state=drain", "reason=x", env=env, check=False, timeout=30)
    local = done.rc == 0  # by the socket on the controller's own host no key is needed
    if local:
        c.run("scontrol", "update", "nodename=node1", "state=resume")
    else:
        assert done.err
    assert c.slurmds["node2"].stop() == 0
    p = subprocess.Popen([program("slurmd"), "-D", "-N", "node2", "-f", str(stranger / "slurm.conf")], env={**c.env, **env},
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        log = c.dir / "log" / "slurmd-node2.log"
        mark = len(log.read_text())
        text = wait_until(lambda: p.poll() is not None or re.search(r"[Aa]uthenti|credential|refused|key", log.read_text()[mark:]),
                          "the stranger is refused", 20)
        assert text
        assert "registered with the controller" not in log.read_text()[mark:]
    finally:
        p.terminate()
        p.wait(20)
        p.stderr.close()
    assert c.run("squeue", "-h").out == before
    c.start_slurmd("node2")
    c.wait_nodes()


def test_an_open_key_file_is_refused(make_cluster):
    c, key = keyed(make_cluster)
    key.chmod(0o644)
    done = subprocess.run([program("slurmctld"), "-D", "-f", str(c.conf)], env=c.env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "slurm.key" in done.stderr


# ---- tokens ----------------------------------------------------------------------------------------

@pytest.fixture
def jwt(make_cluster):
    c, key = keyed(make_cluster, conf="AuthAltTypes=auth/jwt")
    let_in(c.dir / "etc")
    let_in(c.work)
    c.key = bytes.fromhex(key.read_text().strip().split(":")[1])
    return c.start()


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forge(key, alg="HS256", **claims):
    head, body = b64(json.dumps({"alg": alg, "typ": "JWT"}).encode()), b64(json.dumps(claims).encode())
    return f"{head}.{body}.{b64(hmac.new(key, f'{head}.{body}'.encode(), hashlib.sha256).digest())}"


def claims_of(token):
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def ask(c, token, *argv):
    return c.run(*(argv or ("squeue", "-h")), env={"SLURM_JWT": token}, check=False, timeout=30)


def test_token_for_oneself_and_others(jwt):
    out = jwt.run("scontrol", "token", "lifespan=100").out
    token = re.fullmatch(r"SLURM_JWT=(\S+)\n", out).group(1)
    claims = claims_of(token)
    assert claims["exp"] - claims["iat"] == 100 and claims["sun"] == pwd.getpwuid(os.getuid()).pw_name
    assert ask(jwt, token).rc == 0
    out = jwt.run("scontrol", "token", f"username={USER}", "lifespan=60").out
    assert claims_of(out.strip().split("=", 1)[1])["sun"] == USER


def test_a_token_speaks_for_its_user(jwt):
    job = jwt.sbatch("-H", wrap="true")
    token = jwt.run("scontrol", "token", f"username={USER}").out.strip().split("=", 1)[1]
    assert ask(jwt, token, "squeue", "-h", "-o", "%i").out == f"{job}\n"
    assert ask(jwt, token, "scancel", job).rc != 0
    assert jwt.state(job) == "PENDING"
    mine = int(ask(jwt, token, "sbatch", "--parsable", "-H", "--wrap", "env").out)
    assert jwt.job(mine)["UserId"].startswith(f"{USER}(")
    assert ask(jwt, token, "scancel", mine).rc == 0


@pytest.mark.parametrize("case", ["garbage", "other key", "expired", "no expiry", "no name", "unknown user", "none", "cut", "future"])
def test_bad_tokens(jwt, case):
    now = int(time.time())
    good = {"iat": now, "exp": now + 60, "sun": "root"}
    token = {"garbage": "abc", "other key": forge(os.urandom(32), **good), "expired": forge(jwt.key, **{**good, "exp": now - 5}),
             "no expiry": forge(jwt.key, iat=now, sun="root"), "no name": forge(jwt.key, iat=now, exp=now + 60),
             "unknown user": forge(jwt.key, **{**good, "sun": "nosuchuser"}), "none": forge(jwt.key, alg="none", **good),
             "cut": forge(jwt.key, **good)[:-4], "future": forge(jwt.key, **{**good, "iat": now + 5000, "exp": now + 6000})}[case]
    if case == "future":  # `nbf` is not among the claims; a token from a clock ahead of ours is let in or not, but never breaks
        assert ask(jwt, token).rc in (0, 1)
        return
    done = ask(jwt, token)
    assert done.rc == 1 and done.err and done.out == ""
    assert ask(jwt, forge(jwt.key, **good)).rc == 0


def test_a_token_does_not_reach_the_job(jwt):
    token = jwt.run("scontrol", "token").out.strip().split("=", 1)[1]
    jwt.work.chmod(0o777)
    job = int(ask(jwt, token, "sbatch", "--parsable", "--wrap", "echo [$SLURM_JWT]").out)
    assert jwt.wait_end(job)["JobState"] == "COMPLETED"
    assert jwt.out(job) == "[]\n"


def test_without_jwt_a_token_is_refused(c):
    done = c.run("squeue", env={"SLURM_JWT": forge(os.urandom(32), iat=1, exp=2 ** 31, sun="root")}, check=False, timeout=30)
    assert done.rc == 1 and done.err
