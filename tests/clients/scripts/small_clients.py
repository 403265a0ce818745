"""simple_slurm, pysqa and qtoolkit: submit, ask, cancel.

qtoolkit's own reader of `scontrol show job` takes no SubmitLine with a blank, which Slurm prints since 24.11; the
list of jobs, which its users poll, has no such line."""
import os
import subprocess
import sys
import time

WORK = os.environ["WORK"]


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def simple_slurm():
    from simple_slurm import Slurm
    job = Slurm(job_name="simple", ntasks=2, time="00:05:00", output=f"{WORK}/out", array="1-2")
    job.add_cmd("echo task $SLURM_ARRAY_TASK_ID >> ran")
    number = job.sbatch("srun -l true")
    assert isinstance(number, int)
    until(lambda: os.path.exists("ran") and sorted(open("ran").read().split()) == ["1", "2", "task", "task"])


TEMPLATE = """#!/bin/bash
#SBATCH --job-name={{job_name}}
#SBATCH --chdir={{working_directory}}
#SBATCH --output=time.out
#SBATCH --ntasks={{cores}}

{{command}}
"""


def pysqa():
    """With a template of the site's: pysqa's own has --get-user-env=L, which Slurm 26.05 refuses as we do."""
    from pysqa import QueueAdapter
    queue = QueueAdapter(queue_type="SLURM")
    job = queue.submit_job(working_directory=WORK, job_name="adapter", command="sleep 1000", cores=2, submission_template=TEMPLATE)
    until(lambda: queue.get_status_of_job(job) == "running")
    table = queue.get_queue_status()
    assert [name.strip() for name in table.jobname] == ["adapter"] and list(table.working_directory) == [WORK], table.to_dict()
    queue.delete_job(job)
    until(lambda: queue.get_status_of_job(job) is None)


def qtoolkit():
    from qtoolkit.core.data_objects import CancelStatus, QState
    from qtoolkit.io.slurm import SlurmIO
    io = SlurmIO()

    def run(command):
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def listed(job):
        return io.parse_jobs_list_output(**run(io.get_jobs_list_cmd([job], None)))

    with open("script", "w") as script:
        script.write(io.get_submission_script(["sleep 1000"], {"job_name": "kit", "ntasks": 2, "time": "00:05:00"}))
    job = io.parse_submit_output(**run(io.get_submit_cmd("script"))).job_id
    until(lambda: listed(job)[0].state == QState.RUNNING)
    one = listed(job)[0]
    assert (one.name, one.info.nodes, one.info.cpus, one.info.time_limit) == ("kit", 1, 2, 300), one
    assert io.parse_cancel_output(**run(io.get_cancel_cmd(job))).status == CancelStatus.SUCCESSFUL
    until(lambda: listed(job) == [] or listed(job)[0].state not in (QState.RUNNING, QState.QUEUED))
    assert listed("99999") == []


globals()[sys.argv[1]]()
print("done")
