"""AuthInfo=use_client_ids: only the login host knows a user; the controller and the nodes take its word for him, and nobody else's."""

import os
import subprocess

import pytest

from conftest import SLOW, Daemon, program, wait_until
from rawwire import ERROR, Peer, messages
from test_node_keys import Pair, controller_key
from test_vouch import Site, secret_of

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="sackd gets a user database of its own in a mount namespace")
UID, OTHER_GROUP, NAME = 54321, 7777, "faraway"
PASSWD = f"root:x:0:0:root:/root:/bin/sh\n{NAME}:x:{UID}:{UID}:Far Away:/far/{NAME}:/bin/sh\n"
GROUP = f"root:x:0:\n{NAME}:x:{UID}:\nafield:x:{OTHER_GROUP}:{NAME}\n"
LOGIN = 'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"'


class Far(Site):
    """A login host whose sackd knows a user whom no other daemon does."""

    def __init__(self, c):
        super().__init__(c)
        self.host = host = c.dir / "login-etc"
        host.mkdir()
        (host / "passwd").write_text(PASSWD)
        (host / "group").write_text(GROUP)
        env = {**c.env, "RUNTIME_DIRECTORY": f"{c.dir}/run/login"}
        c.slurmds["login"] = Daemon("sackd", ["unshare", "-m", "sh", "-c", LOGIN, str(host), program("sackd"), "-D", "--conf-server",
                                              f"127.0.0.1:{c.port}", "--key-file", str(c.dir / "etc/slurm.key")],
                                    c.dir / "log" / "sackd", env)
        wait_until(lambda: (c.dir / "run/login/sack.socket").exists(), "sackd vouches")

    def far(self, *words, uid=UID, inside=()):
        env = {k: v for k, v in self.c.env.items() if k not in ("HOME", "USER", "LOGNAME")}
        env |= {"SLURM_CONF": str(self.conf), **self.c.sack("login")}
        return subprocess.run([*inside, "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *map(str, words)],
                              cwd=self.c.work, env=env, text=True, capture_output=True, timeout=40 * SLOW)


@pytest.fixture
def site(make_cluster):
    c = make_cluster(start=False, nodes=1, conf="PinNodeKeys=yes\nSlurmctldParameters=enable_configless\nAuthInfo=use_client_ids\n"
                     "ScronParameters=enable\n")
    for path in (c.dir.parent, c.dir):
        path.chmod(0o755)
    made = Far(c)
    yield made
    made.close()


def test_a_user_whom_only_his_own_host_knows(site):
    """Name, groups, home and shell of the login host, in a batch job, a step of srun and the output of commands."""
    c = site.c
    done = site.far("sbatch", "--parsable", "-o", c.work / "far-%u", "--wrap", "id -G; echo $USER $HOME; srun id -G")
    assert done.returncode == 0, done.stderr
    job = int(done.stdout)
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert f"UserId={NAME}({UID})" in c.run("scontrol", "show", "job", job).out
    groups = f"{UID} {OTHER_GROUP}\n"
    assert (c.work / f"far-{NAME}").read_text() == f"{groups}{NAME} /far/{NAME}\n{groups}"
    assert site.far("squeue", "-h", "-t", "all", "-o", "%u", "-u", str(UID)).stdout == f"{NAME}\n"
    assert "Far Away" not in c.run("squeue", "-t", "all", "--json").out + c.run("scontrol", "show", "job", job, "--json").out
    done = site.far("srun", "id", "-G")
    assert (done.stdout, done.returncode) == (groups, 0), done.stderr
    (c.work / "blob").write_text("x")
    done = site.far("salloc", "sh", "-c", f"{program('sbcast')} {c.work}/blob {c.work}/blob-there")
    assert done.returncode == 0, done.stderr
    assert (c.work / "blob-there").stat().st_uid == UID


def test_partitions_for_groups(site):
    """AllowGroups: groups that the login host tells count by their numbers here, where no name service knows them; a node's
    word, and that of a host about a user whom the controller knows, counts for nothing."""
    c = site.c
    c.run("scontrol", "create", "PartitionName=afield", "Nodes=ALL", f"AllowGroups={OTHER_GROUP}")
    c.run("scontrol", "create", "PartitionName=named", "Nodes=ALL", "AllowGroups=afield,adm")
    c.run("scontrol", "create", "PartitionName=own", "Nodes=ALL", f"AllowGroups=adm,{UID}")
    for part, right in (("afield", True), ("named", False), ("own", True)):
        done = site.far("sbatch", "--test-only", "-p", part, "-o/dev/null", "--wrap", "true")
        assert (done.returncode == 0) == right, (part, done.stderr)
        if not right:
            assert "User's group not permitted to use this partition" in done.stderr
    # a job that is there may go there, and waits where no group of its user is let in
    held = site.far("sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true").stdout.strip()
    assert site.far("scontrol", "update", f"JobId={held}", "Partition=afield").returncode == 0
    assert site.far("scontrol", "update", f"JobId={held}", "Partition=named").returncode == 0
    assert site.far("scontrol", "release", held).returncode == 0
    why = f"PENDING uid {UID} not in group permitted to use this partition (named). groups allowed: afield,adm"
    wait_until(lambda: c.run("squeue", "-h", "-a", "-j", held, "-o%T %r").out.strip() == why, "it waits")
    # a user of whom nothing was told
    done = site.far("sbatch", "--test-only", "-p", "afield", "-o/dev/null", "--wrap", "true", uid=UID + 1)
    assert done.returncode != 0
    shown = c.run("scontrol", "show", "job", held).out
    assert f"UserId={NAME}({UID}) GroupId={UID}({UID})" in shown


def test_getent_shows_what_steps_run_with(site):
    """scontrol getent: root sees what the login host told, others nothing; words that name no node."""
    c = site.c
    job = int(site.far("sbatch", "--parsable", "-o/dev/null", "--wrap", "srun sleep 300").stdout)
    entry = f"User:\n{NAME}:x:{UID}:{UID}:Far Away:/far/{NAME}:/bin/sh\nGroups:\n{UID}:x:{UID}:{NAME}\n{OTHER_GROUP}:x:{OTHER_GROUP}:{NAME}\n\n"
    both = f"JobId={job}.0:\n{entry}JobId={job}.batch:\n{entry}"
    wait_until(lambda: c.run("scontrol", "getent", "node1", check=False).out == both, "the step is there")
    done = site.far("scontrol", "getent", "node1")
    assert (done.returncode, done.stdout) == (1, "") and "Permission denied" in done.stderr
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: "No job steps exist on this node." in c.run("scontrol", "getent", "node1", check=False).err, "the node is clean")
    assert "of node nowhere: No such file or directory" in c.refused("scontrol", "getent", "nowhere")
    assert c.refused("scontrol", "getent") == "missing argument for keyword:getent\n"


def test_the_job_keeps_it(site):
    """A controller that starts again, and a run after a requeue, know him still."""
    c = site.c
    job = int(site.far("sbatch", "--parsable", "-H", "-o", c.work / "kept", "--wrap", "id -G").stdout)
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes()
    c.run("scontrol", "release", job)
    c.wait_end(job)
    assert (c.work / "kept").read_text() == f"{UID} {OTHER_GROUP}\n"
    assert c.run("squeue", "-h", "-t", "all", "-o", "%u", "-j", job).out == f"{NAME}\n"


def test_crontabs_keep_it(site):
    """An entry's job has what the login host told of its user when he wrote it, over a restart of the controller."""
    c = site.c
    table = c.work / "table"
    table.write_text(f"#SCRON --chdir=/tmp -o {c.work}/cron\n* * * * * id -G; echo $USER $HOME\n")
    login = ["unshare", "-m", "sh", "-c", LOGIN, site.host]  # scrontab itself wants to know him
    done = site.far("scrontab", table, inside=login)
    assert done.returncode == 0, done.stderr
    job = int(c.run("squeue", "-h", "-o", "%i").out)
    c.kill_ctld()
    c.start_ctld()
    c.wait_nodes()
    out = c.work / "cron"
    wait_until(lambda: out.exists() and "/far" in out.read_text(), "the entry ran", 90)
    assert out.read_text() == f"{UID} {OTHER_GROUP}\n{NAME} /far/{NAME}\n"
    assert site.far("scrontab", "-r", inside=login).returncode == 0
    c.run("scancel", job, check=False)


def test_root_submits_for_him(site):
    """sbatch --uid: the hosts where root is have not heard of his groups; the controller knows his name since he was here."""
    c = site.c
    assert site.far("sbatch", "--parsable", "-H", "-o/dev/null", "--wrap", "true").returncode == 0
    job = int(c.run("sbatch", "--parsable", f"--uid={UID}", f"--gid={UID}", "-o", c.work / "for", "--wrap", "id -G; echo $USER").out)
    c.wait_end(job)
    assert (c.work / "for").read_text().splitlines()[0] == f"{UID}"
    c.run("scancel", "-u", UID, check=False)


def test_a_user_whom_no_host_knows_is_a_number(site):
    done = site.far("sbatch", "--parsable", "-o", site.c.work / "number", "--wrap", "id -G", uid=UID + 1)
    assert done.returncode == 0, done.stderr
    site.c.wait_end(int(done.stdout))
    assert (site.c.work / "number").read_text() == f"{UID + 1}\n"


def identity(**changes):
    return messages().ClientIdent(**({"name": "games", "gecos": "", "home": "/", "shell": "", "gids": [0]} | changes)).SerializeToString()


def test_a_node_gives_nobody_groups(site):
    """Root on a node has its key and its users' jobs: he may vouch for them, and says nothing of who they are."""
    c, pb = site.c, messages()
    job = int(site.far("sbatch", "--parsable", "-o/dev/null", "--wrap", "sleep 300").stdout)
    c.wait_state(job, "RUNNING")
    pair = Pair.of_node(c, "node1")
    secret = secret_of(pair, controller_key(c), b"PSTK node vouch 1\0")
    with Peer.tcp(c.port) as p:
        p.greet(secret, pb.AUTH_VOUCH, uid=UID, gid=UID, token=pair.public)
    with pytest.raises(PermissionError), Peer.tcp(c.port) as p:
        p.greet(secret, pb.AUTH_VOUCH, uid=UID, gid=UID, token=pair.public, identity=identity())
    c.run("scancel", job)


def test_what_is_no_identity(site):
    """Who has the cluster's key can be everybody, but no path, no list and no line of a file."""
    c, pb = site.c, messages()
    key = c.dir / "etc/slurm.key"
    for bad in (identity(name="../x"), identity(name=""), identity(gids=[]), identity(home="x"), identity(shell="/a\nb"), b"\xff" * 8,
                identity(gids=range(1025)), b"x" * 7000):
        with pytest.raises(PermissionError), Peer.tcp(c.port) as p:
            p.login_key(key, uid=UID, identity=bad)
    with Peer.tcp(c.port) as p:  # as many groups as one has room for
        p.login_key(key, uid=UID, identity=identity(name="other", gids=range(1 << 31, (1 << 31) + 1024)))
        _, answer = p.call("job-submit", pb.SubmitRequest(hold=True, script=b"#!/bin/sh\n", job=pb.JobRecord(
            batch=True, num_tasks=1, work_dir="/", client_ident=pb.ClientIdent(name="root", gids=[0]))))
        shown = c.run("scontrol", "show", "job", answer.job_id).out
        assert f"UserId=other({UID})" in shown
    with Peer.tcp(c.port) as p:  # of root nothing is taken
        p.login_key(key, uid=0, identity=identity(name="other"))
        flags, _ = p.call("job-submit", pb.SubmitRequest(hold=True, script=b"#!/bin/sh\n", job=pb.JobRecord(
            batch=True, num_tasks=1, work_dir="/")))
        assert not flags & ERROR
    assert c.run("squeue", "-h", "-o", "%u").out.split().count("root") == 1


def test_without_the_word_nothing_is_taken(make_cluster):
    """AuthInfo without use_client_ids: an identity is heard, and not believed."""
    c, pb = make_cluster(nodes=1), messages()
    with Peer.tcp(c.port) as p:
        p.login_key(c.dir / "etc/slurm.key", uid=UID, identity=identity(name="other"))
        _, answer = p.call("job-submit", pb.SubmitRequest(hold=True, script=b"#!/bin/sh\n", job=pb.JobRecord(
            batch=True, num_tasks=1, work_dir="/")))
        assert "other" not in c.run("scontrol", "show", "job", answer.job_id).out
