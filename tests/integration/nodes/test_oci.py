"""Tasks in OCI bundles: oci.conf, what a runtime is given, signals, ends, what is left behind.

Most tests have a runtime of their own that contains nothing and writes down how it was called.  Those with crun or runc run
where an unprivileged user may make containers."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, SLOW, processes_of, wait_until

RUNTIME = ROOT / "tests" / "integration" / "programs" / "oci_runtime.py"
CALL = "{runtime} {root} {verb} %n.%j.%s.%t"
RUN = {"RunTimeRun": "run", "RunTimeKill": "kill", "RunTimeDelete": "delete"}
PARTS = {"RunTimeCreate": "create", "RunTimeStart": "start", "RunTimeQuery": "state", "RunTimeKill": "kill",
         "RunTimeDelete": "delete"}


class Site:
    """A cluster with an oci.conf for our own runtime, and a bundle."""

    def __init__(self, cluster):
        self.cluster, self.root, self.bundle = cluster, cluster.dir / "runtime", cluster.dir / "bundle"
        self.root.mkdir()
        self.root.chmod(0o777)
        (self.bundle / "rootfs").mkdir(parents=True)
        self.conf = cluster.dir / "etc" / "oci.conf"
        self.write()

    def write(self, env=(), **more):
        """The bundle's config.json."""
        config = {"ociVersion": "1.0.2", "root": {"path": "rootfs"},
                  "process": {"cwd": "/", "args": ["sh"], "env": ["OF_BUNDLE=1", *env],
                              "user": {"uid": 0, "gid": 0}},
                  "mounts": [{"destination": str(self.cluster.dir), "type": "bind", "source": str(self.cluster.dir)}], **more}
        (self.bundle / "config.json").write_text(json.dumps(config))

    def configure(self, commands=RUN, **more):
        lines = [f'{key}="{CALL.format(runtime=RUNTIME, root=self.root, verb=verb)}{" %b" if verb in ("run", "create") else ""}"'
                 for key, verb in commands.items()]
        self.conf.write_text("\n".join([*lines, *(f"{key}={value}" for key, value in more.items())]) + "\n")

    def start(self, *args, **kwargs):
        self.configure(*args, **kwargs)
        return self.cluster.start()

    def calls(self, verb=None, job=None):
        path = self.root / "calls"
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [c for c in calls if verb in (None, c["verb"]) and (job is None or c["id"].split(".")[1] == str(job))]

    def left(self):
        """Containers the runtime knows of, and files of ours."""
        return [p.name for p in self.root.iterdir() if p.name != "calls"] + \
            [str(p) for p in self.cluster.dir.glob("spool/*/job*/*/oci/*")]

    def clean(self):
        wait_until(lambda: not self.left(), "nothing is left of the containers")


@pytest.fixture
def site(make_cluster, folder):
    folder.chmod(0o755)
    return Site(make_cluster(start=False, nodes=2))


def said(c, job):
    path = c.work / f"slurm-{job}.out"
    return path.read_text() if path.exists() else ""


def config_of(call):
    return json.loads(call["files"]["config.json"])


# ---- what the runtime is given -------------------------------------------------------------------


def test_tasks(site):
    """A container a task, on each node; the bundle itself stays as it is."""
    before = (site.bundle / "config.json").read_text()
    c = site.start()
    done = c.run("srun", "-N2", "-n4", "--ntasks-per-node=2", "-l", f"--container={site.bundle}", "--container-id=mine", "sh",
                 "-c", 'echo "$SLURM_PROCID $1 $OF_BUNDLE $SLURM_CONTAINER $SLURM_CONTAINER_ID ${SLURM_RUNTIME-no} $FROM_USER"; '
                 'exit $SLURM_PROCID', "sh", "two words 'quoted'", env={"FROM_USER": "yes"}, check=False)
    assert sorted(done.out.splitlines()) == [f"{n}: {n} two words 'quoted' 1 {site.bundle} mine no yes" for n in range(4)], done.err
    assert done.rc == 3
    calls = site.calls("run")
    assert sorted(call["id"] for call in calls) == ["node1.1.0.0", "node1.1.0.1", "node2.1.0.2", "node2.1.0.3"]
    for call in calls:
        config = config_of(call)
        assert config["process"]["args"][3:] == ["sh", "two words 'quoted'"]
        assert config["process"]["terminal"] is False and config["process"]["cwd"] == str(c.work)
        assert config["root"]["path"] == f"{site.bundle}/rootfs"
        assert set(call["files"]) == {"config.json"} and call["bundle"].endswith(f"/step0/oci/task-{call['id'][-1]}")
    wait_until(lambda: len(site.calls("delete")) == 4, "each container is deleted behind its task")
    assert site.calls("kill") == []
    assert (site.bundle / "config.json").read_text() == before
    site.clean()


def test_batch(site):
    """The script is seen in the container; steps of srun inside have none unless they ask."""
    c = site.start(MountSpoolDir="/run/%j/slurm/")
    job = c.sbatch(f"--container={site.bundle}", "--container-id=b", script='echo "$0|$1|$SLURM_CONTAINER"\n'
                   "srun sh -c 'echo step $SLURM_CONTAINER'\nexit 7", args=["arg"])
    done = c.wait_end(job)
    assert c.out(job).splitlines()[1:] == ["step"], c.out(job)
    assert re.fullmatch(rf".*/oci/task-0/script\|arg\|{site.bundle}", c.out(job).splitlines()[0])
    assert (done["ExitCode"], done["Container"], done["ContainerID"]) == ("7:0", str(site.bundle), "b")
    [call] = site.calls("run")
    assert call["id"] == f"node1.{job}.batch.0"
    assert config_of(call)["process"]["args"] == [f"/run/{job}/slurm/script", "arg"]
    assert {"destination": f"/run/{job}/slurm/", "type": "bind", "source": call["bundle"],
            "options": ["rbind", "nosuid", "nodev"]} in config_of(call)["mounts"]
    assert "echo step" in call["files"]["script"]
    site.clean()
    rows = wait_until(lambda: (rows := c.sacct("-j", str(job), "-o", "JobID,Container")) and len(rows) == 3 and rows, "sacct")
    assert rows == [[str(job), str(site.bundle)], [f"{job}.batch", str(site.bundle)], [f"{job}.0", ""]]


def test_shown(site):
    c = site.start()
    job = c.sbatch("--wrap", f"srun --container={site.bundle} --container-id=s1 sleep 1000", f"--container={site.bundle}",
                   "--container-id=j1")
    wait_until(lambda: len(site.calls("run")) == 2, "the containers run")
    fields = "-O", "Container:200,ContainerId:9"
    assert c.run("squeue", "-h", *fields).out.split() == [str(site.bundle), "j1"]
    assert sorted(line.split()[1] for line in c.run("squeue", "-s", "-h", *fields).out.splitlines()) == ["j1", "s1"]
    shown = json.loads(c.run("squeue", "--json").out)["jobs"][0]
    assert (shown["container"], shown["container_id"]) == (str(site.bundle), "j1")
    step = json.loads(c.run("scontrol", "show", "step", "--json").out)["steps"]
    assert {(s["container"], s["container_id"]) for s in step} == {(str(site.bundle), "s1"), (str(site.bundle), "j1")}
    assert f"Container={site.bundle} ContainerID=s1" in c.run("scontrol", "-o", "show", "step", f"{job}.0").out
    c.run("scancel", job)
    c.wait_end(job)
    wait_until(lambda: [f"{job}.0", str(site.bundle)] in c.sacct("-j", str(job), "-o", "JobID,Container"), "sacct shows it")
    site.clean()


@pytest.mark.parametrize("how, end", [("null", "\0"), ("newline", "\n")])
def test_environment(site, how, end):
    """Files of the environment, and variables that stay outside."""
    c = site.start(CreateEnvFile=how, EnvExclude='"^(SECRET|SLURM_CONF)="', RunTimeEnvExclude='"^(HIDDEN|TWO)="')
    site.write(env=["FIRST=bundle", "SLURM_JOB_ID=wrong"])
    out = c.run("srun", f"--container={site.bundle}", "env", env={"SECRET": "1", "HIDDEN": "2", "TWO": "a\nb", "FIRST": "user"}).out
    inside = out.splitlines()
    assert {"HIDDEN=2", "TWO=a", "FIRST=bundle", "SLURM_JOB_ID=1"} <= set(inside)
    assert not any(line.startswith(("SECRET=", "SLURM_CONF=", "FIRST=user")) for line in inside)
    [call] = site.calls("run")
    assert call["env"]["SECRET"] == "1" and not {"HIDDEN", "TWO"} & set(call["env"])
    variables = call["files"]["environ"].split(end)
    assert variables.pop() == "" and "HIDDEN=2" in variables and "FIRST=user" in variables
    assert ("TWO=a\nb" in variables) == (how == "null") and not any(v.startswith("SECRET") for v in variables)
    assert {"destination": "/var/run/slurm/", "type": "bind", "source": call["bundle"],
            "options": ["rbind", "nosuid", "nodev"]} in config_of(call)["mounts"]
    site.clean()


def test_command_line(site):
    """IgnoreFileConfigJson: all is said on the command line, quoted where it must be; the folder may be elsewhere and stay."""
    c = site.cluster
    odd = c.dir / "a bundle's"
    (odd / "rootfs").mkdir(parents=True)
    site.conf.write_text('IgnoreFileConfigJson=yes DisableCleanup=yes CreateEnvFile=null\n'
                         f'ContainerPath="{c.dir}/own/%j.%s"\n'
                         f'RunTimeRun="printf \'%%s|\' %b \'%r\' %e %j %m %n %p %s %t %u %U %Z 100%%; exec %@"\n')
    c.start()
    user, uid = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip(), os.getuid()
    out = c.run("srun", f"--container={odd}", "echo", "it's", "$HOME", "a  b").out
    own = f"{c.dir}/own/1.0"
    assert out == f"{odd}|{odd}|{own}/task-0/environ|1|{own}|node1|-1|0|0|{user}|{uid}|{c.work}|100%|it's $HOME a  b\n"
    assert [p.name for p in Path(own, "task-0").iterdir()] == ["environ"]


def test_hooks_and_mounts(site):
    """Hooks are left out where the site says so; paths that were relative to the bundle still lead there."""
    hook = [{"path": "/bin/true"}]
    site.write(hooks={"prestart": hook, "poststop": hook, "createRuntime": hook},
               mounts=[{"destination": "/data", "type": "bind", "source": "data"}],
               linux={"namespaces": [{"type": "user"}], "uidMappings": [{"containerID": 5, "hostID": 4711, "size": 1}]})
    c = site.start(DisableHooks="prestart,poststop")
    c.run("srun", f"--container={site.bundle}", "true")
    config = config_of(site.calls("run")[0])
    assert list(config["hooks"]) == ["createRuntime"]
    assert config["mounts"] == [{"destination": "/data", "type": "bind", "source": f"{site.bundle}/data"}]
    assert config["process"]["cwd"] == "/"  # the container has no such folder as the work directory
    mapped = 4711 if os.getuid() == 0 else os.getuid()
    assert config["linux"]["uidMappings"] == [{"containerID": 5, "hostID": mapped, "size": 1}]


# ---- signals and ends ----------------------------------------------------------------------------


@pytest.mark.parametrize("commands", [RUN, PARTS], ids=["run", "create"])
def test_exit_codes(site, commands):
    c = site.start(commands)
    for body, code in (("exit 0", 0), ("exit 9", 9), ("kill -KILL $$", 137)):
        assert c.run("srun", f"--container={site.bundle}", "sh", "-c", body, check=False).rc == code, body
    assert c.run("srun", f"--container={site.bundle}", "no-such-program", check=False).rc == 127
    if commands is PARTS:
        verbs = [call["verb"] for call in site.calls() if call["id"] == "node1.1.0.0"]
        assert verbs[0] == "create" and verbs[-2:] == ["start", "delete"] and set(verbs[1:-2]) == {"state"}
    site.clean()


@pytest.mark.parametrize("commands", [RUN, PARTS], ids=["run", "create"])
def test_signals(site, commands):
    """Signals reach the container; scancel ends it by RunTimeKill; nothing of it is left."""
    c = site.start(commands)
    body = "trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.1; done 2>/dev/null"
    job = c.sbatch("--wrap", f"srun --container={site.bundle} sh -c \"{body}\"")
    wait_until(lambda: "ready" in said(c, job), "the container runs")
    c.run("scancel", "-s", "USR1", f"{job}.0")
    wait_until(lambda: "usr1" in c.out(job), "the signal arrives")
    c.run("scancel", "-s", "TERM", f"{job}.0")
    wait_until(lambda: "term" in c.out(job), "SIGTERM arrives")
    c.wait_end(job)
    assert len(site.calls("kill")) == 1
    site.clean()


@pytest.mark.parametrize("commands", [RUN, PARTS], ids=["run", "create"])
def test_killed(site, commands):
    """What does not listen is killed, and the container removed by a process that begins after that."""
    c = site.start(commands)
    job = c.sbatch("-N2", "--time=1", "--wrap", f"srun --container={site.bundle} sh -c \"trap '' TERM; echo ready; while :; do sleep 0.1; done\"")
    wait_until(lambda: said(c, job).count("ready") == 2, "both containers run")
    c.run("scancel", job)
    assert c.wait_end(job)["JobState"] == "CANCELLED"
    site.clean()
    wait_until(lambda: {call["id"] for call in site.calls("delete")} == {f"node1.{job}.0.0", f"node2.{job}.0.1"}, "both are deleted")


def test_killed_daemon(site):
    """kill -9 of everything of the step but slurmd: no process of the container survives."""
    c = site.start()
    marker = f"{c.dir}/marker"
    job = c.sbatch("--wrap", f"srun --container={site.bundle} tail -f /dev/null {marker}")
    Path(marker).touch()
    wait_until(lambda: site.calls("run"), "the container runs")
    daemons = [pid for pid, command in processes_of(c.dir) if command.startswith(f"slurmstepd: [{job}.0]")]
    assert len(daemons) == 1
    os.kill(daemons[0], signal.SIGKILL)
    c.wait_end(job)
    wait_until(lambda: not any(marker in cmdline(p) for p in Path("/proc").iterdir() if p.name.isdigit()),
               "the container's processes end")


def cmdline(folder):
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_terminal(site):
    c = site.start()
    done = subprocess.run(["script", "-qec", f"srun --pty --container={site.bundle} sh -c 'tty; stty size; echo $TERM'", "/dev/null"],
                          env=c.env | {"TERM": "vt100"}, cwd=c.work, text=True, capture_output=True, timeout=30 * SLOW)
    assert done.returncode == 0 and re.search(r"/dev/pts/\d+\r?\n\d+ \d+\r?\nvt100", done.stdout), done.stdout
    assert config_of(site.calls("run")[0])["process"]["terminal"] is True


def test_mpi(site):
    """The connection of PMI-2 and the folder of PMIx reach the container."""
    c = site.start()
    client = ROOT / "tests" / "integration" / "programs" / "pmi_client.py"
    out = c.run("srun", "--mpi=pmi2", "-N2", "-n3", f"--container={site.bundle}", str(client), "2", "3", timeout=60).out
    assert sorted(line.split(",")[0] for line in out.splitlines()) == [f"rank {n} of 3 met 3 times" for n in range(3)]
    assert site.calls("run")[0]["env"]["LISTEN_FDS"] == "1"
    c.run("srun", "--mpi=pmix", f"--container={site.bundle}", "true")
    mounts = config_of(site.calls("run")[-1])["mounts"]
    assert [m["source"] == m["destination"] for m in mounts if m["source"].endswith("/step0/pmix")] == [True]


# ---- without, and with mistakes ------------------------------------------------------------------


def test_advisory(site):
    """No oci.conf on the node: the task runs as it would without the option, and the records say what was asked for."""
    c = site.cluster.start()
    out = c.run("srun", "--container=/no/such/bundle", "sh", "-c", "echo $SLURM_CONTAINER").out
    assert out == "/no/such/bundle\n"
    assert c.job(1)["Container"] == "/no/such/bundle"


@pytest.mark.parametrize("conf, options, env", [("", ["--runtime=none"], {}), ("", [], {"SRUN_RUNTIME": "none"}),
                                                ("DefRuntimePlugin=runtime/none", [], {})])
def test_runtime_none(make_cluster, folder, conf, options, env):
    folder.chmod(0o755)
    site = Site(make_cluster(start=False, nodes=1, conf=conf))
    c = site.start()
    out = c.run("srun", *options, "sh", "-c", "echo ${SLURM_RUNTIME-unset} $SLURM_CONTAINER",
                env={"SRUN_CONTAINER": str(site.bundle), **env}).out
    assert out == f"{'none' if options or env else 'unset'} {site.bundle}\n" and site.calls() == []
    if conf:
        c.run("srun", "--runtime=oci", f"--container={site.bundle}", "true")
        assert len(site.calls("run")) == 1
    assert "Invalid --runtime specification" in c.refused("srun", "--runtime=docker", "true", rc=255)


@pytest.mark.parametrize("text, why", [
    (None, "config.json: No such file or directory"), ("{", "config.json: line 1: "), ("[]", "config.json: it is not an object"),
    ("{}", "config.json: root.path is missing"), ('{"root": {"path": "r"}, "process": []}', "process is not an object"),
    ('{"root": {"path": "r"}, "process": {"env": [1]}}', "process.env holds something that is no text"),
    ('{"root": {"path": "r"}, "mounts": {}}', "mounts is not a list"), (" " * (4 << 20) + "{}", "config.json is larger than 4 MiB"),
    ("[" * 100000, "config.json: line 1: "), ('{"a": "\udcff"}', "config.json: line 1: ")],
    ids=("missing", "torn", "list", "rootless", "process", "env", "mounts", "large", "deep", "bytes"))
def test_bad_bundle(site, text, why):
    c = site.start()
    path = site.bundle / "config.json"
    path.unlink()
    if text is not None:
        path.write_text(text, errors="surrogateescape")
    done = c.run("srun", f"--container={site.bundle}", "true", check=False)
    line = [line for line in done.err.splitlines() if "container" in line]
    assert done.rc == 1 and len(line) == 1 and why in line[0], done.err
    assert line[0].startswith(f"slurmstepd: error: container {site.bundle}: ") and site.calls() == []
    site.clean()


def test_no_bundle(site):
    c = site.start()
    done = c.run("srun", "--container=nowhere", "true", check=False)
    assert done.rc == 1 and "slurmstepd: error: container nowhere: nowhere: No such file or directory" in done.err
    job = c.sbatch("--container=nowhere", wrap="true")
    assert c.wait_end(job)["ExitCode"] == "1:0" and "No such file" in c.out(job)


@pytest.mark.parametrize("create, query, why", [
    ("false", "true", "RunTimeCreate ended with 1"), ("true", "echo '{'", "no JSON"), ("true", "echo '{}'", "has no status"),
    ("true", "exit 3", "RunTimeQuery ended with 3"), ("true", "yes", "RunTimeQuery ended with 141"),
    ("true", """echo '{"status": "created"}'""", "has no pid"),
    ("true", """echo '{"status": "stopped"}'""", "ended before it was started")])
def test_bad_runtime(site, create, query, why):
    """A runtime that cannot do what it is asked for ends the task with a sentence."""
    program = site.cluster.dir / "query"
    program.write_text(f"#!/bin/sh\n{query}\n")
    program.chmod(0o755)
    site.conf.write_text(f"RunTimeCreate={create} RunTimeStart=true RunTimeQuery={program}\n")
    c = site.cluster.start()
    assert why in c.refused("srun", f"--container={site.bundle}", "true")


def test_reconfigure(site):
    """A new oci.conf holds from scontrol reconfigure on; one with a mistake does not."""
    site.conf.write_text("RunTimeRun=false\n")
    c = site.cluster.start()
    c.refused("srun", f"--container={site.bundle}", "true")
    site.configure()
    c.run("scontrol", "reconfigure")
    wait_until(lambda: c.run("srun", f"--container={site.bundle}", "true", check=False).rc == 0, "the new runtime is used")
    site.conf.write_text("RunTimeRun=false EnvExclude=[\n")
    assert "EnvExclude=[ is no regular expression" in c.run("scontrol", "reconfigure", check=False).err
    c.run("srun", f"--container={site.bundle}", "true")


@pytest.mark.parametrize("text, why", [
    ("RunTimeRun=x%Q", ":1: error: RunTimeRun: %Q stands for nothing; a per cent sign is %%"),
    ("RunTimeRun=x EnvExclude=(", "EnvExclude=( is no regular expression"),
    ("RunTimeCreate=x RunTimeStart=y", "RunTimeQuery is missing"), ("\n", "RunTimeCreate is missing"),
    ("RunTimeRun=x ContainerPath=rel", "ContainerPath=rel is not an absolute path"),
    ("RunTimeRun=x CreateEnvFile=maybe", "CreateEnvFile=maybe"), ("RunTimeRum=x", "did you mean RunTimeRun?")])
def test_bad_conf(site, text, why):
    site.conf.write_text(text + "\n")
    done = site.cluster.run("slurmctld", "--check", "-f", str(site.cluster.conf), check=False)
    assert done.rc != 0 and why in done.out + done.err, done.out + done.err
