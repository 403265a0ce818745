"""The variables of every context, compared with environment.txt: names and formats of values.

Each section there is `== CONTEXT | OPTIONS` and the complete list of the variables the context shows; {words} in
values stand for patterns below.  What a shell or a site adds (PATH, HOME ...) is left out."""
import os
import re
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from conftest import Cluster

CONF = """
TaskProlog={dir}/dump
TaskEpilog={dir}/dump
Prolog={dir}/dump
Epilog={dir}/dump
PrologSlurmctld={dir}/dump
EpilogSlurmctld={dir}/dump
PrologFlags=Alloc
GresTypes=gpu,shard
Licenses=matlab:10
PartitionName=gpu Nodes=node[3-4] MaxTime=1-0
"""
SHELL = {"SLURM_SACK_SOCKET", "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHELL", "SHLVL", "TERM", "USER", "_", "TZ",
         "ASAN_OPTIONS", "UBSAN_OPTIONS", "MAIL", "HOSTNAME"}
SHOWN = re.compile(r"(SLURM|SRUN|SBATCH|ENVIRONMENT|TMPDIR|I_MPI|HYDRA|OMPI|PRTE|CUDA|ROCR|GPU|ZE_)")
# The recorded cluster had no devices behind its GPUs, so these were not set there.
DEVICES = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL", "SLURM_JOB_GPUS",
           "SLURM_STEP_GPUS"}


# Set by salloc too (transcript 56), where the recorded sessions showed only names of Slurm's own.
LAUNCHERS = {"HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
             "OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args"}


def sections():
    found, name = {}, None
    for line in Path(__file__).with_name("environment.txt").read_text().splitlines():
        if line.startswith("== "):
            context, options = line[3:].split("|")
            name = (context.strip(), options.strip())
            found[name] = {}
        elif "=" in line:
            key, value = line.split("=", 1)
            found[name][key] = value
    return found


SECTIONS = sections()


@pytest.fixture(scope="module")
def env_cluster():
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    folder.chmod(0o755)
    dump = folder / "dump"
    dump.write_text(f"#!/bin/bash\n/usr/bin/env > {folder}/env.$SLURM_JOB_ID.$SLURM_SCRIPT_CONTEXT."
                    "${SLURMD_NODENAME:-ctl}\n")
    dump.chmod(0o755)
    (folder / "etc").mkdir()
    (folder / "etc" / "gres.conf").write_text("NodeName=node[3-4] Name=gpu Type=a100 Count=2\n"
                                              "NodeName=node[3-4] Name=shard Count=8\n")
    c = Cluster(folder, nodes=4, conf=CONF.format(dir=folder), partition="DefaultTime=10")
    lines = c.conf_text().splitlines()
    gpu = next(line for line in lines if line.startswith("PartitionName=gpu"))
    lines = [line for line in lines if line != gpu] + [gpu]
    text = "\n".join(lines).replace("PartitionName=main", "PartitionName=debug") + "\n"
    text = re.sub(r"(NodeName=node[12] .*)", r"\1 Features=intel", text)
    text = re.sub(r"(NodeName=node[34] .*)", r"\1 Features=amd Gres=gpu:a100:2,shard:8", text)
    text = re.sub(r"CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000",
                  "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000", text)
    c.write_conf(text)
    try:
        c.start()
        yield c
    finally:
        problems = c.stop()
        if problems:
            print(c.logs(""))
        shutil.rmtree(folder, ignore_errors=True)
        assert not problems, problems


def patterns(c, job, array=None):
    host = socket.gethostname().split(".")[0]
    return {"{job}": str(job), "{array}": str(array or job), "{sluid}": r"s[0-9A-Z]{13}", "{num}": r"\d+",
            "{time}": r"\d{10}", "{conf}": re.escape(str(c.conf)), "{cluster}": "test", "{host}": re.escape(host),
            "{dir}": re.escape(str(c.work)), "{uid}": str(os.getuid()), "{gid}": str(os.getgid()),
            "{user}": "root" if os.getuid() == 0 else r"\S+", "{group}": r"\S+", "{topo}": r"(\w+\.)*node\d",
            "{topopattern}": r"(switch\.)*node", "{any}": r".*", "{addr}": r"[\d.]+", "{node}": r"node\d",
            "{nodes}": r"node\[\d-\d\]"}


def compare(c, got, section, job, array=None, drop=()):
    want = {k: v for k, v in SECTIONS[section].items() if k not in drop and k not in SHELL}
    table, wrong = patterns(c, job, array), []
    got = {k: v for k, v in got.items() if SHOWN.match(k) and k not in SHELL}
    for name, value in sorted(want.items()):
        regex = "".join(table.get(piece, re.escape(piece)) for piece in re.split(r"(\{\w+\})", value))
        if name not in got:
            wrong.append(f"missing {name}={value}")
        elif name == "SLURM_PRIO_PROCESS" and got[name] == str(os.nice(0)):
            continue  # it is passed on from whoever runs the tests
        elif not re.fullmatch(regex, got[name]):
            wrong.append(f"{name} is {got[name]!r}, not {value!r}")
    known = set(want) | set(drop) | DEVICES | (LAUNCHERS if "salloc" in section[0] or section[0] == "task" else set())
    if section == ("hook", "epilog_task"):
        known |= set(SECTIONS[("hook", "prolog_task")])  # ours also knows the step
    wrong += [f"unexpected {name}={value}" for name, value in sorted(got.items()) if name not in known]
    assert not wrong, "\n".join(wrong)


def parse(text, prefix=""):
    lines = [line[len(prefix):] for line in text.splitlines() if line.startswith(prefix)]
    return dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))


# Only where accounting knows accounts.
SITE = {"SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS"}


@pytest.mark.parametrize("options", [o for k, o in SECTIONS if k == "batch"])
def test_batch(env_cluster, options):
    c = env_cluster
    drop = set(SITE)
    if "-d" in options:
        first = c.sbatch(wrap="true")
        options_used = options.replace("afterany:1", f"afterany:{first}").replace("-q low ", "").replace("-A physics", "")
        options_used = options_used.split()
    else:
        options_used = options.split()
    job = c.sbatch(*options_used, "-J", "env.sh", "-o", "out.%j", wrap="env")
    c.wait_end(job)
    array = job if "array" in options else None
    path = c.work / f"out.{job}"
    got = parse(path.read_text())
    compare(c, got, ("batch", options), got.get("SLURM_JOB_ID", job), array, drop)


@pytest.mark.parametrize("options", [o for k, o in SECTIONS if k == "task"])
def test_task(env_cluster, options):
    c = env_cluster
    label = options.endswith("-l")
    last = re.search(r"-n(\d)", options).group(1)
    done = c.run("srun", *options.split(), "bash", "-c", "env")
    got = parse(done.out, f"{int(last) - 1}: " if label else "")
    compare(c, got, ("task", options), got["SLURM_JOB_ID"], drop=SITE)


def test_a_list_of_export_keeps_variables_of_srun_itself_out(env_cluster):
    """What srun adds for tasks and for launchers of MPI counts as its environment: --export says what goes."""
    own = ("SRUN_DEBUG", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP", "OMPI_MCA_plm_slurm_args")
    for options, there in (((), True), (("--export=ALL,A=1",), True), (("--export=NONE",), False), (("--export=A=1",), False)):
        got = parse(env_cluster.run("srun", *options, "/usr/bin/env").out)
        assert [name in got for name in own] == [there] * len(own), options
        assert "SLURM_JOB_ID" in got


def test_salloc(env_cluster):
    c = env_cluster
    done = c.run("salloc", "-N2", "-n4", "bash", "-c", "env")
    got = parse(done.out)
    compare(c, got, ("salloc", "-N2 -n4"), got["SLURM_JOB_ID"], drop=SITE | {"TMPDIR"})


def test_step_in_salloc(env_cluster):
    c = env_cluster
    done = c.run("salloc", "-n1", "-c4", "bash", "-c", "srun bash -c env")
    got = parse(done.out)
    compare(c, got, ("salloc srun", "-n1 -c4"), got["SLURM_JOB_ID"], drop=SITE)


def test_hooks(env_cluster):
    c = env_cluster
    job = c.sbatch("-N2", "-n2", "-t3", "-J", "pejob", "--comment=c m", "--gres=gpu:1", "-p", "gpu", "-L", "matlab:1",
                   "--constraint=amd", wrap="srun hostname; exit 3")
    assert c.wait_end(job)["ExitCode"] == "3:0"
    for kind, context in SECTIONS:
        if kind != "hook":
            continue
        path = c.dir / f"env.{job}.{context}.{'ctl' if 'ctld' in context else 'node3'}"
        try:
            compare(c, parse(path.read_text()), (kind, context), job, drop=SITE)
        except AssertionError as problem:
            raise AssertionError(f"{context}:\n{problem}") from problem
