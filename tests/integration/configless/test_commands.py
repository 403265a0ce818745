"""Commands on a host without a slurm.conf: SLURM_CONF_SERVER, as root and as a user; what is kept, and who is believed."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from conftest import program
from people import HAVE_PEOPLE, as_user

CLUSTER = {"nodes": 1, "conf": "SlurmctldParameters=enable_configless\nAuthAltTypes=auth/jwt\nMessageTimeout=5\nInclude parts/*.conf",
           "start": False}


@pytest.fixture
def up(make_cluster):
    c = make_cluster(**CLUSTER)
    (c.conf.parent / "parts").mkdir()
    (c.conf.parent / "parts" / "a.conf").write_text("NodeSet=first Nodes=node1\n")
    return c.start()


def folder_of(c, name):
    path = c.dir / f"run-{name}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def alices():
    """A folder like /run/user/ALICE; others cannot reach those of a cluster."""
    path = Path(tempfile.mkdtemp(prefix="penstock-run-"))
    os.chown(path, as_user("alice")[0]["user"], 0)
    yield path
    shutil.rmtree(path)


def ask(c, *argv, folder, user="root", **env):
    """A command that knows of the cluster what its environment says."""
    options, own = as_user(user)
    keep = {k: v for k, v in c.env.items() if not k.startswith("SLURM")}
    return subprocess.run([program(argv[0]), *argv[1:]], capture_output=True, text=True, timeout=60, cwd="/", **options,
                          env={**keep, "SLURM_CONF_SERVER": f"127.0.0.1:{c.port}", "XDG_RUNTIME_DIR": str(folder), **own, **env})


def key(c):
    return {"SLURM_SACK_KEY": str(c.conf.parent / "slurm.key")}


def test_root(up):
    c = up
    run = folder_of(c, "root")
    done = ask(c, "sinfo", "-h", "-o", "%N %T", folder=run, **key(c))
    assert (done.returncode, done.stdout) == (0, "node1 idle\n"), done.stderr
    kept, = run.iterdir()
    assert (kept / "current" / "slurm.conf").read_text() == c.conf.read_text()
    assert (kept / "current" / "parts" / "a.conf").exists()
    assert not list(kept.rglob("slurm.key"))  # none is linked: commands need no key of the cluster
    done = ask(c, "srun", "-n1", "hostname", folder=run, **key(c))
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


@pytest.mark.skipif(not HAVE_PEOPLE, reason="needs root, to have users")
def test_a_user(up, alices):
    c = up
    token = c.run("scontrol", "token", "username=alice", "lifespan=600").out.strip().partition("=")[2]
    done = ask(c, "squeue", "-h", folder=alices, user="alice", SLURM_JWT=token)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {p.stat().st_uid for p in alices.iterdir()} == {as_user("alice")[0]["user"]}
    shutil.rmtree(next(alices.iterdir()))
    done = ask(c, "squeue", "-h", folder=alices, user="alice", SLURM_JWT=token[:-8] + "AAAAAAAA")
    assert done.returncode == 1 and "no configuration from 127.0.0.1" in done.stderr


def test_nobody_is_asked_while_it_is_fresh(up):
    c = up
    run = folder_of(c, "fresh")
    assert ask(c, "sinfo", "-V", folder=run, **key(c)).returncode == 0 and not list(run.iterdir())
    assert ask(c, "sinfo", folder=run, **key(c)).returncode == 0
    kept, = run.iterdir()
    before = os.readlink(kept / "current")
    c.write_conf(c.conf_text() + "MinJobAge=299\n")
    c.run("scontrol", "reconfigure")
    assert ask(c, "sinfo", folder=run, **key(c)).returncode == 0
    assert os.readlink(kept / "current") == before
    old = time.time() - 60
    os.utime(kept / "current", (old, old), follow_symlinks=False)
    assert ask(c, "sinfo", folder=run, **key(c)).returncode == 0
    assert os.readlink(kept / "current") != before
    assert [p.name for p in kept.iterdir() if p.name != "current"] == [os.readlink(kept / "current")]
    kept.chmod(0o777)
    done = ask(c, "sinfo", folder=run, **key(c))
    assert done.returncode == 1 and "is not a folder that this user alone may write" in done.stderr


def test_no_server(up):
    """One clear sentence, and the file that SLURM_CONF names comes first."""
    c = up
    assert c.ctld.stop() == 0
    done = ask(c, "sinfo", folder=folder_of(c, "down"), **key(c))
    assert done.returncode == 1 and f"no configuration from 127.0.0.1 port {c.port}: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = ask(c, "sinfo", folder=folder_of(c, "bad"), SLURM_CONF_SERVER="a:b:c", **key(c))
    assert done.returncode == 1 and 'sinfo: error: "a:b:c" is not of the form host[:port],... (IPv6 in brackets)' in done.stderr
    done = ask(c, "scontrol", "show", "config", folder=folder_of(c, "own"), SLURM_CONF="/nowhere", **key(c))
    assert done.returncode == 1 and "/nowhere" in done.stderr
