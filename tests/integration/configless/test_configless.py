"""Nodes without files: they get the configuration from slurmctld, keep it, and take a new one whole."""

import os
import subprocess
import threading

import pytest

from conftest import Daemon, program, wait_until

CLUSTER = {"nodes": 2, "start": False,
           "conf": "SlurmctldParameters=enable_configless\nMessageTimeout=5\nPrologFlags=Alloc\n"
                   "Prolog=prolog.sh\nEpilog=epilog.sh\nTaskProlog=task.sh\nInclude parts/*.conf"}


def put(path, text, mode=0o755):
    """As an editor does: nobody sees half of a file."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.rename(path)


def set_prolog(c, word):
    put(c.conf.parent / "prolog.sh", f"#!/bin/bash\necho {word} > {c.work}/prolog.$SLURM_JOB_ID.$SLURMD_NODENAME\n")


def node_env(c, name, **more):
    run = c.dir / "run" / name
    run.mkdir(exist_ok=True)
    env = {k: v for k, v in {**c.env, **c.daemon_env_change}.items() if k != "SLURM_CONF"}
    return {**env, "RUNTIME_DIRECTORY": str(run), "SLURM_SACK_KEY": str(c.conf.parent / "slurm.key"), **more}


def start_node(c, name, *options, server=None, **env):
    server = server or f"127.0.0.1:{c.port}"
    c.slurmds[name] = Daemon(f"slurmd-{name}",
                             [program("slurmd"), "-D", "-N", name, "--conf-server", server, *options],
                             c.dir / "log" / f"slurmd-{name}", node_env(c, name, **env))


def cache(c, name):
    return c.dir / "spool" / name / "conf-cache"


def digest(c, name):
    return os.readlink(cache(c, name) / "current")


def log(c, name):
    return (c.dir / "log" / f"{name}.log").read_text()


@pytest.fixture
def up(make_cluster):
    c = make_cluster(**CLUSTER)
    etc = c.conf.parent
    (etc / "parts").mkdir()
    (etc / "parts" / "a.conf").write_text("NodeSet=first Nodes=node1\n")
    (etc / "gres.conf").write_text("# none\n")
    put(etc / "epilog.sh", "#!/bin/bash\nexit 0\n")
    put(etc / "task.sh", "#!/bin/bash\necho export FROM_TASK_PROLOG=first\n")
    set_prolog(c, "first")
    c.start_ctld()
    return c


def start_nodes(c):
    for name in c.node_names:
        start_node(c, name)
    c.wait_nodes()
    wait_until(lambda: all("registered with" in log(c, f"slurmd-{name}") for name in c.node_names), "the nodes know that, too")


def test_runs_without_files(up):
    c = up
    start_nodes(c)
    got = c.run("srun", "-N2", "bash", "-c", "echo $FROM_TASK_PROLOG").out
    assert got == "first\nfirst\n"
    folder = cache(c, "node1") / "current"
    modes = {str(p.relative_to(folder)): oct(p.lstat().st_mode & 0o777) for p in folder.rglob("*") if p.is_file()}
    assert modes == {"slurm.conf": "0o644", "parts/a.conf": "0o644", "gres.conf": "0o600", "prolog.sh": "0o700",
                     "epilog.sh": "0o700", "task.sh": "0o755", ".bundle": "0o644", "slurm.key": "0o777"}
    assert (folder / "slurm.conf").read_text() == c.conf.read_text()
    assert (c.dir / "run" / "node1" / "conf" / "slurm.conf").samefile(folder / "slurm.conf")
    assert digest(c, "node1") == digest(c, "node2")


def test_reconfigure_reaches_nodes_first(up):
    """A job that starts after the reconfigure never meets the prolog from before it, on any node, under load."""
    c = up
    start_nodes(c)
    stop, jobs = threading.Event(), []

    def load():
        while not stop.is_set():
            jobs.append(c.sbatch("--wait", "-N", "1", "-n", "1", wrap="true"))  # no queue grows

    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    later = {}
    for word in ("second", "third", "fourth"):
        wait_until(lambda: len(jobs) > 5, "jobs come")
        set_prolog(c, word)
        c.run("scontrol", "reconfigure")
        later[word] = [c.sbatch("-N", "1", "-w", name, wrap="true") for name in c.node_names]
        for job in later[word]:  # before the next prolog may come
            c.wait_end(job, 60)
        run = c.run("srun", "-N2", "bash", "-c", "echo $SLURM_JOB_ID").out.split()[0]
        for name in c.node_names:
            assert (c.work / f"prolog.{run}.{name}").read_text() == word + "\n"
    stop.set()
    for t in threads:
        t.join()
    for word, some in later.items():
        for job, name in zip(some, c.node_names):
            assert (c.work / f"prolog.{job}.{name}").read_text() == word + "\n", (job, name)
    for job in jobs:
        c.wait_end(job, 60)
        assert c.state(job) == "COMPLETED"
    assert "all connected nodes run with the configuration in force" in log(c, "slurmctld")
    c.clear()
    set_prolog(c, "fifth")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: len([p for p in cache(c, "node1").iterdir() if p.name != "current"]) == 1, "older ones go")


def test_running_steps_keep_their_scripts(up):
    c = up
    etc = c.conf.parent
    put(etc / "end.sh", f"#!/bin/bash\necho old > {c.work}/ended\n")
    c.write_conf(c.conf_text() + "TaskEpilog=end.sh\n")
    c.restart_ctld()
    start_nodes(c)
    job = c.sbatch("-w", "node1", wrap="touch began; srun bash -c 'while [ ! -e go ]; do sleep 0.05; done'")
    wait_until(lambda: c.run("squeue", "-h", "-s", "-j", str(job)).out.count(f"{job}.0"), "the step runs")
    before = digest(c, "node1")
    put(etc / "end.sh", f"#!/bin/bash\necho new > {c.work}/ended\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: digest(c, "node1") != before, "the node has the new one")
    (c.work / "go").touch()
    c.wait_end(job)
    assert (c.work / "ended").read_text() == "old\n"


def test_restart_while_the_controller_is_away(up):
    c = up
    start_nodes(c)
    c.kill_ctld()
    c.slurmds.pop("node1").kill()
    start_node(c, "node1")
    wait_until(lambda: "going on with" in c.logs("slurmd-node1"), "slurmd starts from its cache")
    set_prolog(c, "meanwhile")
    before = digest(c, "node1")
    c.start_ctld()
    c.wait_nodes()
    wait_until(lambda: digest(c, "node1") != before, "it got what changed meanwhile")
    job = c.sbatch("-w", "node1", wrap="true")
    c.wait_end(job)
    assert (c.work / f"prolog.{job}.node1").read_text() == "meanwhile\n"
    c.slurmds.pop("node2").kill()  # a cache that was damaged is not used
    c.kill_ctld()
    put(cache(c, "node2") / digest(c, "node2") / "epilog.sh", "#!/bin/bash\nexit 1\n")
    start_node(c, "node2")
    wait_until(lambda: "is damaged" in c.logs("slurmd-node2"), "the damage is told")
    count = log(c, "slurmd-node2").count("registered with")
    c.start_ctld()
    wait_until(lambda: log(c, "slurmd-node2").count("registered with") > count, "it fetched a whole one")


def test_waits_for_the_controller(up):
    c = up
    c.kill_ctld()
    start_node(c, "node1")
    wait_until(lambda: "trying on" in c.logs("slurmd-node1"), "slurmd says that it waits")
    assert "there is no configuration in" in c.logs("slurmd-node1")
    c.start_ctld()
    c.wait_nodes(names=["node1"])


def refused(c, name, *options, server=None, **env):
    got = subprocess.run([program("slurmd"), "-D", "-N", name, "--conf-server", server or f"127.0.0.1:{c.port}", *options],
                         env=node_env(c, name, **env), capture_output=True, text=True, timeout=60)
    assert got.returncode == 1, got
    return got.stderr


def test_refusals(up):
    c = up
    wrong = c.dir / "wrong.key"
    put(wrong, "other:" + "ab" * 32 + "\n", 0o600)
    assert "slurmd: fatal: no configuration from 127.0.0.1 port" in refused(c, "node1", SLURM_SACK_KEY=str(wrong))
    assert "Invalid authentication credential" in refused(c, "node1", SLURM_SACK_KEY=str(wrong))
    assert "does not exist" in refused(c, "node1", SLURM_SACK_KEY=f"{c.dir}/no.key")
    for bad in ("", "a:b", "a:0", "[::1", "a,,b", "a b", ",".join("abcdefghi")):
        assert "--conf-server: " in refused(c, "node1", server=bad or ","), bad
    assert "no NodeName line is for nosuch" in refused(c, "nosuch")
    c.write_conf(c.conf_text().replace("SlurmctldParameters=enable_configless\n", ""))
    c.restart_ctld()
    assert "ConfigLess mode is disabled in slurm configuration." in refused(c, "node1")


def test_what_cannot_be_shared_is_refused(up):
    """The controller keeps its configuration, and says why."""
    c = up
    etc = c.conf.parent
    start_nodes(c)
    good, before = c.conf.read_text(), digest(c, "node1")
    (c.dir / "out.conf").write_text("# outside\n")
    (etc / "within.conf").write_text("# within\n")
    for line, text in ((f"Include {c.dir}/out.conf", "write it relative to the folder of slurm.conf"),
                       ("Include ../out.conf", "cannot get a file of this name"),
                       (f"Include {etc}/within.conf", "write it relative"),
                       ("TaskEpilog=missing.sh", "No such file or directory")):
        c.write_conf(good + line + "\n")
        assert text in c.refused("scontrol", "reconfigure"), line
    c.write_conf(good)
    (etc / "parts" / "big.conf").write_text("# " + "x" * 1000000 + "\n")
    for i in range(8):
        (etc / "parts" / f"big{i}.conf").write_text(("# " + "x" * 900 + "\n") * 1100)
    assert "larger than 8388608 bytes" in c.refused("scontrol", "reconfigure")
    for p in (etc / "parts").glob("big*"):
        p.unlink()
    c.run("scontrol", "reconfigure")
    assert digest(c, "node1") == before


def test_node_that_cannot_take_it(up):
    """Nothing starts on it until it could, and both sides say why."""
    c = up
    start_nodes(c)
    c.slurmds.pop("node1").stop()
    start_node(c, "node1", PENSTOCK_FAILPOINT="confcache.enospc:1+")
    wait_until(lambda: log(c, "slurmd-node1").count("registered with") == 2, "node1 is back")  # what it has it need not write
    set_prolog(c, "second")
    c.run("scontrol", "reconfigure")
    job = c.sbatch("-w", "node1", wrap="true")
    wait_until(lambda: "node node1: cannot take the configuration: cannot write below" in log(c, "slurmctld"),
               "the controller says why")
    assert "No space left on device" in log(c, "slurmd-node1")
    assert not (c.work / f"prolog.{job}.node1").exists()
    c.slurmds.pop("node1").stop()
    start_node(c, "node1")
    c.wait_end(job, 40)
    assert (c.work / f"prolog.{job}.node1").read_text() == "second\n"


@pytest.mark.parametrize("place", ["before_rename", "before_switch"])
def test_killed_while_it_is_written(up, place):
    """slurmd starts with the configuration before or the one in force, and takes the latter."""
    c = up
    start_nodes(c)
    c.slurmds.pop("node1").stop()
    start_node(c, "node1", PENSTOCK_FAILPOINT=f"confcache.crash.{place}:{1 if place == 'before_rename' else 2}")
    wait_until(lambda: log(c, "slurmd-node1").count("registered with") == 2, "node1 is back")
    before = digest(c, "node1")
    set_prolog(c, "second")
    c.run("scontrol", "reconfigure")
    assert c.slurmds["node1"].process.wait(20) == 86
    assert digest(c, "node1") == before
    start_node(c, "node1")
    job = c.sbatch("-w", "node1", wrap="true")
    c.wait_end(job, 40)
    assert (c.work / f"prolog.{job}.node1").read_text() == "second\n"
    wait_until(lambda: not list(cache(c, "node1").glob("new.*")), "what was left is removed")


def test_controllers_are_tried_in_turn(up):
    c = up
    start_node(c, "node1", server=f"127.0.0.1:1,[::1]:1,127.0.0.1:{c.port}")
    c.wait_nodes(names=["node1"])


def test_controller_that_moves(make_cluster):
    """Nodes that were told both addresses find it at the other one, with the configuration that says so."""
    c = make_cluster(nodes=1, conf="SlurmctldParameters=enable_configless\nMessageTimeout=5\nPrologFlags=Alloc\nProlog=prolog.sh\n"
                                   "CommunicationParameters=NoCtldInAddrAny", start=False)
    set_prolog(c, "before")
    c.start_ctld()
    start_node(c, "node1", server=f"127.0.0.1:{c.port},127.0.0.2:{c.port}")
    c.wait_nodes()
    kept = c.sbatch(wrap="sleep 60")
    c.wait_state(kept, "RUNNING")
    assert c.ctld.stop() == 0
    c.write_conf(c.conf_text().replace("(127.0.0.1)", "(127.0.0.2)"))
    set_prolog(c, "after")
    c.start_ctld()
    job = c.sbatch(wrap="true")
    c.wait_end(job)
    assert (c.work / f"prolog.{job}.node1").read_text() == "after\n"
    assert "(127.0.0.2)" in (cache(c, "node1") / "current" / "slurm.conf").read_text()
    assert c.state(kept) == "RUNNING"


def test_dynamic_node(make_cluster):
    c = make_cluster(start=False, nodes=1, conf="SlurmctldParameters=enable_configless\nMaxNodeCount=4\n")
    c.start_ctld()
    start_node(c, "dyn1", "-Z", "--conf", "CPUs=2 RealMemory=100")
    c.wait_nodes(names=["dyn1"])
    assert c.run("srun", "-w", "dyn1", "hostname").rc == 0


def test_killed_at_random(up):
    """Controller and slurmd die while configurations change: every job meets the prolog in force."""
    c = up
    start_nodes(c)
    for i in range(6):
        word = f"w{i}"
        set_prolog(c, word)
        if i % 2:
            c.run("scontrol", "reconfigure")
            c.slurmds["node1"].kill()
            c.ended.append(c.slurmds.pop("node1"))
            start_node(c, "node1")
        else:
            change = c.popen("scontrol", "reconfigure")
            c.kill_ctld()
            change.communicate()
            c.start_ctld()
        job = c.sbatch("-N2", wrap="true")
        c.wait_end(job, 60)
        for name in c.node_names:
            assert (c.work / f"prolog.{job}.{name}").read_text() == word + "\n", i


def start_sackd(c, *options, name="login"):
    c.slurmds[name] = Daemon("sackd", [program("sackd"), "-D", "--conf-server", f"127.0.0.1:{c.port}", *options],
                             c.dir / "log" / "sackd", node_env(c, name))
    return c.dir / "run" / name / "conf"


def test_login_node(up):
    """sackd keeps what commands need, follows changes, and gives nobody a prolog."""
    c = up
    conf = start_sackd(c)
    wait_until(lambda: (conf / "slurm.conf").exists(), "sackd has the configuration")
    assert sorted(p.name for p in conf.iterdir()) == [".bundle", "parts", "slurm.conf"]
    assert (conf / "slurm.conf").read_text() == c.conf.read_text()
    assert "node1" in c.run("sinfo", "-h", "-N", env={"SLURM_CONF": str(conf / "slurm.conf")}).out
    set_prolog(c, "other")  # nothing of it is sent here
    c.run("scontrol", "reconfigure")
    c.write_conf(c.conf_text() + "MaxArraySize=77\n")
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "MaxArraySize=77" in (conf / "slurm.conf").read_text(), "sackd follows")
    c.kill_ctld()
    c.write_conf(c.conf_text() + "MaxArraySize=78\n")
    c.start_ctld()
    wait_until(lambda: "MaxArraySize=78" in (conf / "slurm.conf").read_text(), "sackd follows a restart", 40)
    assert c.slurmds.pop("login").stop() == 0
    assert (conf / "slurm.conf").exists()


def test_login_node_refused(up):
    c = up
    wrong = c.dir / "wrong.key"
    put(wrong, "other:" + "ab" * 32 + "\n", 0o600)
    got = subprocess.run([program("sackd"), "-D", "--conf-server", f"127.0.0.1:{c.port}", "--key-file", str(wrong)],
                         env=node_env(c, "login"), capture_output=True, text=True, timeout=60)
    assert got.returncode == 1 and "Invalid authentication credential" in got.stderr, got
    got = subprocess.run([program("sackd"), "-D", "--conf-server", "a:b"], env=node_env(c, "login"), capture_output=True,
                         text=True, timeout=60)
    assert got.returncode == 1 and "is not of the form" in got.stderr, got
