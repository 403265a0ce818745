"""Each option that is kept in the job's record, and its environment variable, given to sbatch, salloc and srun: the record of the
job holds what was asked for, and a job without the option holds something else."""

import json

import pytest

CLUSTER = {"nodes": 2, "cpus": 8, "conf": "GresTypes=gpu\nPriorityType=priority/multifactor\nLicenses=lic:5\nMCSPlugin=mcs/label\n"
           "SlurmctldParameters=enable_expedited_requeue\nLaunchParameters=use_interactive_step\n",
           "node_options": "Features=f1 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 Gres=gpu:4"}
ALL = ("sbatch", "salloc", "srun")

# commands, words (the option, then what it needs), key of the record, value there
OPTIONS = [
    (ALL, "--account=none", "account", "none"),
    (("sbatch",), "--array=0-1", "array_task_string", "0-1"),
    (ALL, "--chdir=/tmp", "current_working_directory", "/tmp"),
    (ALL, "--comment=c", "comment", "c"),
    (ALL, "--constraint=f1", "features", "f1"),
    (ALL, "--container=/tmp", "container", "/tmp"),
    (ALL, "--container-id=id1", "container_id", "id1"),
    (ALL, "--contiguous", "contiguous", True),
    (ALL, "--cores-per-socket=2", "cores_per_socket", 2),
    (ALL, "--cpus-per-gpu=1 --gpus=1", "cpus_per_tres", "gres/gpu:1"),
    (ALL, "--cpus-per-task=2", "cpus_per_task", 2),
    (("sbatch", "srun"), "--error=/dev/null", "standard_error", "/dev/null"),
    (ALL, "--exclude=node2", "excluded_nodes", "node2"),
    (ALL, "--exclusive", "shared", ["none"]),
    (ALL, "--extra=x", "extra", "x"),
    (ALL, "--extra-node-info=1:2:1", "cores_per_socket", 2),
    (ALL, "--gpu-bind=closest --gpus=1", "tres_bind", "gres/gpu:closest"),
    (ALL, "--gpu-freq=low --gpus=1", "tres_freq", "low"),
    (ALL, "--gpus=1", "tres_per_job", "gres/gpu:1"),
    (ALL, "--gpus-per-node=1", "tres_per_node", "gres/gpu:1"),
    (ALL, "--gpus-per-socket=1 --sockets-per-node=1", "tres_per_socket", "gres/gpu:1"),
    (ALL, "--gpus-per-task=1 -n1", "tres_per_task", "gres/gpu=1"),
    (ALL, "--gres=gpu:1", "tres_per_node", "gres/gpu:1"),
    (ALL, "--hint=nomultithread", "threads_per_core", 1),
    (("srun",), "--input=/dev/null", "standard_input", "/dev/null"),
    (ALL, "--job-name=n", "name", "n"),
    (ALL, "--licenses=lic:1", "licenses", "lic:1"),
    (ALL, "--mail-type=END", "mail_type", ["END"]),
    (ALL, "--mail-user=u", "mail_user", "u"),
    (ALL, "--mcs-label=red", "mcs_label", "red"),
    (ALL, "--mem=10", "memory_per_node", 10),
    (ALL, "--mem-per-cpu=10", "memory_per_cpu", 10),
    (ALL, "--mem-per-gpu=10 --gpus=1", "memory_per_tres", "gres/gpu:10"),
    (ALL, "--mincpus=2", "minimum_cpus_per_node", 2),
    (ALL, "--network=x", "network", "x"),
    (ALL, "--nice", "nice", 100),
    (("sbatch",), "--no-requeue", "requeue", False),
    (ALL, "--nodelist=node1", "required_nodes", "node1"),
    (ALL, "--nodes=2", "node_count", 2),
    (ALL, "--ntasks=2", "tasks", 2),
    (ALL, "--ntasks-per-core=1", "tasks_per_core", 1),
    (ALL, "--ntasks-per-gpu=1 --gpus=1", "tasks_per_tres", 1),
    (ALL, "--ntasks-per-node=2", "tasks_per_node", 2),
    (ALL, "--ntasks-per-socket=1", "tasks_per_socket", 1),
    (("sbatch", "srun"), "--output=/dev/null", "standard_output", "/dev/null"),
    (ALL, "--oversubscribe", "shared", ["oversubscribe"]),
    (ALL, "--prefer=f1", "prefer", "f1"),
    (ALL, "--profile=task", "profile", ["task"]),
    (ALL, "--qos=normal", "qos", "normal"),
    (ALL, "--segment=1 --nodes=2", "segment_size", 1),
    (ALL, "--sockets-per-node=1", "sockets_per_node", 1),
    (ALL, "--switches=1", "required_switches", 1),
    (ALL, "--tasks-per-node=2", "tasks_per_node", 2),
    (ALL, "--threads-per-core=1", "threads_per_core", 1),
    (ALL, "--time=10", "time_limit", 10),
    (ALL, "--time-min=5 --time=10", "time_minimum", 5),
    (ALL, "--tres-bind=gres/gpu:closest", "tres_bind", "gres/gpu:closest"),
    (ALL, "--wckey=w", "wckey", "w"),
    (ALL, "--deadline=2040-01-01T00:00:00", "deadline", 2208988800),
    # names of the enumeration that the page of the REST interface lists
    (ALL, "--kill-on-invalid-dep=yes", "flags", ["KILL_INVALID_DEPENDENCY"]),
    (ALL, "--kill-on-invalid-dep=no", "flags", ["NO_KILL_INVALID_DEPENDENCY"]),
    (ALL, "--gres-flags=enforce-binding --gres=gpu:1", "flags", ["GRES_BINDING_ENFORCED"]),
    (ALL, "--gres-flags=disable-binding --gres=gpu:1", "flags", ["GRES_BINDING_DISABLED"]),
    (ALL, "--spread-job", "flags", ["SPREAD_JOB"]),
    (ALL, "--spread-segments --segment=1 --nodes=2", "flags", ["SPREAD_SEGMENTS"]),
    (ALL, "--consolidate-segments --segment=1 --nodes=2", "flags", ["CONSOLIDATE_SEGMENTS"]),
    (ALL, "--use-min-nodes", "flags", ["PREFER_MINIMUM_NODE_COUNT"]),
    (ALL, "--stepmgr", "flags", ["STEPMGR_ENABLED"]),
    (ALL, "--mem-update=20@5", "memory_update_margin", 20),
    (ALL, "--mem-update=20@4:30", "memory_update_delay", 5),
    (("sbatch",), "--requeue=expedite", "flags", ["EXPEDITED_REQUEUE"]),
]

# The variable of an option: it does the same as the option, with the same value.
VARIABLES = {
    "sbatch": {
        "SBATCH_ACCOUNT": "account", "SBATCH_CONSTRAINT": "constraint", "SBATCH_CONTAINER": "container",
        "SBATCH_CONTAINER_ID": "container-id", "SBATCH_CPUS_PER_GPU": "cpus-per-gpu", "SBATCH_ERROR": "error",
        "SBATCH_GPUS": "gpus", "SBATCH_GPUS_PER_NODE": "gpus-per-node", "SBATCH_GPUS_PER_SOCKET": "gpus-per-socket",
        "SBATCH_GPUS_PER_TASK": "gpus-per-task", "SBATCH_GPU_BIND": "gpu-bind", "SBATCH_GPU_FREQ": "gpu-freq",
        "SBATCH_GRES": "gres", "SBATCH_HINT": "hint", "SBATCH_JOB_NAME": "job-name", "SBATCH_MEM_PER_CPU":
        "mem-per-cpu", "SBATCH_MEM_PER_GPU": "mem-per-gpu", "SBATCH_MEM_PER_NODE": "mem", "SBATCH_NETWORK": "network",
        "SBATCH_NO_REQUEUE": "no-requeue", "SBATCH_OUTPUT": "output", "SBATCH_PROFILE": "profile", "SBATCH_QOS":
        "qos", "SBATCH_REQ_SWITCH": "switches", "SBATCH_SEGMENT_SIZE": "segment", "SBATCH_THREADS_PER_CORE":
        "threads-per-core", "SBATCH_TIMELIMIT": "time", "SBATCH_TRES_BIND": "tres-bind", "SBATCH_WCKEY": "wckey",
    },
    "salloc": {
        "SALLOC_ACCOUNT": "account", "SALLOC_CONSTRAINT": "constraint", "SALLOC_CONTAINER": "container",
        "SALLOC_CONTAINER_ID": "container-id", "SALLOC_CPUS_PER_GPU": "cpus-per-gpu", "SALLOC_GPUS": "gpus",
        "SALLOC_GPUS_PER_NODE": "gpus-per-node", "SALLOC_GPUS_PER_SOCKET": "gpus-per-socket", "SALLOC_GPUS_PER_TASK":
        "gpus-per-task", "SALLOC_GPU_BIND": "gpu-bind", "SALLOC_GPU_FREQ": "gpu-freq", "SALLOC_GRES": "gres",
        "SALLOC_HINT": "hint", "SALLOC_JOB_NAME": "job-name", "SALLOC_MEM_PER_CPU": "mem-per-cpu",
        "SALLOC_MEM_PER_GPU": "mem-per-gpu", "SALLOC_MEM_PER_NODE": "mem", "SALLOC_NETWORK": "network",
        "SALLOC_PROFILE": "profile", "SALLOC_QOS": "qos", "SALLOC_REQ_SWITCH": "switches", "SALLOC_SEGMENT_SIZE":
        "segment", "SALLOC_THREADS_PER_CORE": "threads-per-core", "SALLOC_TIMELIMIT": "time", "SALLOC_TRES_BIND":
        "tres-bind", "SALLOC_WCKEY": "wckey",
    },
    "srun": {
        "SLURM_ACCOUNT": "account", "SLURM_CONSTRAINT": "constraint", "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
        "SLURM_CPUS_PER_TASK": "cpus-per-task", "SLURM_GPUS": "gpus", "SLURM_GPUS_PER_NODE": "gpus-per-node",
        "SLURM_GPUS_PER_SOCKET": "gpus-per-socket", "SLURM_GPUS_PER_TASK": "gpus-per-task", "SLURM_GPU_BIND":
        "gpu-bind", "SLURM_GPU_FREQ": "gpu-freq", "SLURM_GRES": "gres", "SLURM_HINT": "hint", "SLURM_JOB_NAME":
        "job-name", "SLURM_JOB_NUM_NODES": "nodes", "SLURM_MEM_PER_CPU": "mem-per-cpu", "SLURM_MEM_PER_GPU":
        "mem-per-gpu", "SLURM_MEM_PER_NODE": "mem", "SLURM_NETWORK": "network",
        "SLURM_NPROCS": "ntasks", "SLURM_NTASKS": "ntasks", "SLURM_NTASKS_PER_CORE": "ntasks-per-core",
        "SLURM_NTASKS_PER_GPU": "ntasks-per-gpu", "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
        "SLURM_NTASKS_PER_SOCKET": "ntasks-per-socket", "SLURM_PROFILE": "profile", "SLURM_QOS": "qos",
        "SLURM_REMOTE_CWD": "chdir", "SLURM_REQ_SWITCH": "switches", "SLURM_STDERRMODE": "error", "SLURM_STDINMODE":
        "input", "SLURM_STDOUTMODE": "output", "SLURM_STEP_GRES": "gres", "SLURM_THREADS_PER_CORE":
        "threads-per-core", "SLURM_TIMELIMIT": "time", "SLURM_TRES_BIND": "tres-bind", "SLURM_WCKEY": "wckey",
        "SLURM_WORKING_DIR": "chdir", "SRUN_CONTAINER": "container", "SRUN_CONTAINER_ID": "container-id",
        "SRUN_ERROR": "error", "SRUN_INPUT": "input", "SRUN_OUTPUT": "output", "SRUN_SEGMENT_SIZE": "segment",
    },
}


def record(c, command, words, env=None):
    """The record of a job that command makes with words; numbers as they are."""
    told = c.work / "told"
    if command == "sbatch":
        job = c.run("sbatch", "--parsable", "--hold", *words, "--wrap=true", env=env).out.strip()
    else:
        c.run(command, *words, "sh", "-c", f"echo $SLURM_JOB_ID >{told}", env=env)
        job = told.read_text().strip()
    found = json.loads(c.run("scontrol", "--json", "show", "job", job).out)["jobs"][0]
    return {key: value["number"] if isinstance(value, dict) and "number" in value else value for key, value in found.items()}


def wrong_values(c, command, rows):
    """rows: words, key, expected value, environment."""
    wrong, plain = [], record(c, command, [])
    for words, key, expected, env in rows:
        got = record(c, command, words, env)[key]
        if key == "flags":  # those that the option adds
            got = [flag for flag in got if flag not in plain[key]]
        if got != expected or plain[key] == expected:
            wrong.append(f"{command} {words} {env or ''}: {key} is {got!r}, not {expected!r}; without it {plain[key]!r}")
    return wrong


@pytest.mark.parametrize("command", ALL)
def test_option(c, command):
    rows = [(words.split(), key, expected, None) for commands, words, key, expected in OPTIONS if command in commands]
    assert len(rows) > 30
    wrong = wrong_values(c, command, rows)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", ALL)
def test_variable(c, command):
    by_name = {words.split()[0].lstrip("-").split("=")[0]: (words.split(), key, expected)
               for commands, words, key, expected in OPTIONS if command in commands}
    rows = []
    for variable, option in VARIABLES[command].items():
        words, key, expected = by_name[option]
        text = words[0].partition("=")[2]
        rows.append((words[1:], key, expected, {variable: text or "1"}))
    wrong = wrong_values(c, command, rows)
    assert not wrong, "\n".join(wrong)
