"""Prolog, Epilog and their siblings of the controller; MailProg."""
import getpass
import re

import pytest

from conftest import wait_until

DUMP = """#!/bin/bash
echo "${SLURM_SCRIPT_CONTEXT} ${SLURM_JOB_ID} ${SLURMD_NODENAME:-ctl} ${SLURM_JOB_EXIT_CODE2}" >> %s/calls
test ! -e %s/fail.${SLURM_SCRIPT_CONTEXT}
"""


class Hooks:
    """A folder of scripts that note their calls and fail while fail.CONTEXT exists."""

    def __init__(self, folder):
        self.dir = folder / "hooks"
        self.dir.mkdir()
        for name in ("10-dump", "20-dump"):
            self.write(name, DUMP % (self.dir, self.dir))

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def calls(self, job):
        path = self.dir / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split() for line in lines if line.split()[1] == str(job)]

    def contexts(self, job):
        return [(call[0], call[2]) for call in self.calls(job)]

    def fail(self, context, on=True):
        path = self.dir / f"fail.{context}"
        path.touch() if on else path.unlink()


@pytest.fixture
def hooks(folder):
    return Hooks(folder)


def test_order_and_exit_code(make_cluster, hooks):
    c = make_cluster(nodes=2, conf="\n".join(
        f"{key}={hooks.dir}/*-dump" for key in ("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld"))
        + "\nPrologFlags=Alloc")
    job = c.sbatch("-N2", wrap="exit 3")
    c.wait_end(job)
    seen = hooks.contexts(job)
    assert seen[:2] == [("prolog_slurmctld", "ctl")] * 2
    for node in ("node1", "node2"):
        assert seen.count(("prolog_slurmd", node)) == 2 and seen.count(("epilog_slurmd", node)) == 2
        assert seen.index(("prolog_slurmd", node)) < seen.index(("epilog_slurmd", node))
    assert seen.count(("epilog_slurmctld", "ctl")) == 2
    assert [call[3] for call in hooks.calls(job) if call[0] == "epilog_slurmctld"] == ["3:0", "3:0"]


def test_nothing_starts_before_prolog_slurmctld(make_cluster, hooks):
    gate = hooks.dir / "gate"
    wait = hooks.write("wait", f"#!/bin/bash\nuntil test -e {gate}; do /bin/sleep 0.05; done\n")
    c = make_cluster(nodes=1, conf=f"PrologSlurmctld={wait}")
    job = c.sbatch(wrap="echo ran")
    c.wait_state(job, "CONFIGURING")
    srun = c.popen("srun", "echo", "beside", stdout=-1)
    wait_until(lambda: c.run("squeue", "-h", "-o", "%t").out.split() == ["CF", "CF"], "both are configuring")
    c.restart_ctld()
    assert c.state(job) == "CONFIGURING"
    assert not (c.work / f"slurm-{job}.out").exists() or c.out(job) == ""
    assert srun.poll() is None
    gate.touch()
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert c.out(job) == "ran\n"
    assert srun.communicate(timeout=30)[0] == "beside\n"


def test_prolog_slurmctld_fails(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"PrologSlurmctld={hooks.dir}/10-dump\nMaxBatchRequeue=1\n"
                     "SchedulerParameters=requeue_delay=1")
    hooks.fail("prolog_slurmctld")
    job = c.sbatch(wrap="true")
    wait_until(lambda: c.job(job).get("Reason") == "JobHoldMaxRequeue", "the job is held", 30)
    assert c.state(job) == "PENDING"
    assert c.job(job)["Restarts"] == "2"
    done = c.run("srun", "true", check=False)
    assert done.rc != 0
    hooks.fail("prolog_slurmctld", False)
    c.run("scontrol", "release", job)
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_prolog_fails(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"Prolog={hooks.dir}/10-dump")
    hooks.fail("prolog_slurmd")
    job = c.sbatch(wrap="true")
    wait_until(lambda: c.job(job).get("Reason") == "launch_failed_requeued_held", "the job is held")
    assert "launch failed requeued held" in c.run("squeue", "-h", "-o", "%R").out
    c.wait_nodes("drained")
    assert "Reason=Prolog error [" in c.run("scontrol", "show", "node", "node1").out
    hooks.fail("prolog_slurmd", False)
    c.run("scontrol", "update", "nodename=node1", "state=resume")
    c.run("scontrol", "release", job)
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_prolog_fails_without_hold(make_cluster, hooks):
    c = make_cluster(nodes=2, conf=f"Prolog={hooks.dir}/10-dump\n"
                     "SchedulerParameters=requeue_delay=1,nohold_on_prolog_fail")
    hooks.fail("prolog_slurmd")
    job = c.sbatch(wrap="true")
    c.wait_nodes("drained", ["node1"])
    hooks.fail("prolog_slurmd", False)
    assert c.wait_end(job)["JobState"] == "COMPLETED"


def test_prolog_that_is_not_there(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"Prolog={hooks.dir}/none")
    job = c.sbatch(wrap="echo ran")
    wait_until(lambda: c.job(job).get("Reason") == "launch_failed_requeued_held", "the job is held")
    c.wait_nodes("drained")
    assert not (c.work / f"slurm-{job}.out").exists()


def test_prolog_at_the_start_of_an_allocation(make_cluster, hooks):
    """NoHold implies Alloc: the prologs run though no step does, and the allocation is granted before they end."""
    gate = hooks.dir / "gate"
    hooks.write("wait", f"#!/bin/bash\nuntil test -e {gate}; do /bin/sleep 0.05; done\n"
                f"echo x $SLURM_JOB_ID $SLURMD_NODENAME >> {hooks.dir}/calls\n")
    c = make_cluster(nodes=2, conf=f"Prolog={hooks.dir}/wait\nPrologFlags=NoHold")
    assert "PrologFlags             = Alloc,NoHold" in c.run("scontrol", "show", "config").out
    alloc = c.popen("salloc", "-N2", "bash", "-c", "echo $SLURM_JOB_ID; read", stdin=-1, stdout=-1)
    job = alloc.stdout.readline().strip()
    assert hooks.calls(job) == []
    gate.touch()
    wait_until(lambda: len(hooks.calls(job)) == 2, "both nodes have run it")
    alloc.communicate("\n", timeout=30)
    assert {call[2] for call in hooks.calls(job)} == {"node1", "node2"}


@pytest.mark.parametrize("flags,together", [("Alloc", True), ("Alloc,Serial", False)])
def test_prologs_one_at_a_time(make_cluster, hooks, flags, together):
    gate = hooks.dir / "gate"
    hooks.write("log", f"""#!/bin/bash
echo start $SLURM_JOB_ID >> {hooks.dir}/calls
until test -e {gate}; do /bin/sleep 0.05; done
echo end $SLURM_JOB_ID >> {hooks.dir}/calls
""")
    c = make_cluster(nodes=1, conf=f"Prolog={hooks.dir}/log\nPrologFlags={flags}")
    jobs = [c.sbatch("-n1", "--mem=1", wrap="echo ran") for _ in range(3)]
    for job in jobs:
        wait_until(lambda: c.job(job)["Reason"] == "Prolog", "the nodes run the prolog")
        assert c.job(job)["JobState"] == "RUNNING"

    def seen():
        path = hooks.dir / "calls"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []
    wait_until(lambda: len(seen()) >= (3 if together else 1), "prologs wait for the gate")
    gate.touch()
    for job in jobs:
        assert c.wait_end(job)["JobState"] == "COMPLETED"
        assert c.out(job) == "ran\n"
    if together:
        assert seen()[:3] == ["start"] * 3
    else:
        assert seen() == ["start", "end"] * 3


def test_requeue_is_forced(make_cluster, hooks):
    c = make_cluster(nodes=2, conf=f"Prolog={hooks.dir}/10-dump\n"
                     "PrologFlags=ForceRequeueOnFail\nReturnToService=0")
    hooks.fail("prolog_slurmd")
    job = c.sbatch("--no-requeue", wrap="true")
    wait_until(lambda: c.job(job).get("Reason") == "launch_failed_requeued_held", "the job is held")
    assert c.job(job)["JobState"] == "PENDING"


def test_no_requeue_is_obeyed_without_the_flag(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"Prolog={hooks.dir}/10-dump")
    hooks.fail("prolog_slurmd")
    assert c.wait_end(c.sbatch("--no-requeue", wrap="true"))["JobState"] == "FAILED"


def test_epilog_fails(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"Epilog={hooks.dir}/10-dump\nEpilogSlurmctld={hooks.dir}/20-dump")
    hooks.fail("epilog_slurmd")
    hooks.fail("epilog_slurmctld")
    job = c.sbatch(wrap="true")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    c.wait_nodes("drained")
    assert "Reason=Epilog error [" in c.run("scontrol", "show", "node", "node1").out


def test_timeout(make_cluster, hooks):
    slow = hooks.write("slow", "#!/bin/bash\nexec /bin/sleep 1000\n")
    c = make_cluster(nodes=1, conf=f"Prolog={slow}\nPrologEpilogTimeout=1")
    job = c.sbatch(wrap="true")
    wait_until(lambda: c.job(job).get("Reason") == "launch_failed_requeued_held", "the job is held")
    c.wait_nodes("drained")


# ---- srun ---------------------------------------------------------------------------------------------

def noted(path):
    """The environment that a program of ours wrote down."""
    return dict(entry.split("=", 1) for entry in path.read_text().split("\0") if "=" in entry)


def test_environment_of_srun_hooks(make_cluster, hooks):
    for name in ("first", "last", "own"):
        hooks.write(name, f"#!/bin/bash\nenv -0 > {hooks.dir}/env.{name}\n")
    c = make_cluster(nodes=2, conf=f"SrunProlog={hooks.dir}/first\nSrunEpilog={hooks.dir}/last\n")
    c.run("srun", "-N2", "-n3", "-J", "x", "-t", "5", "true")
    user = getpass.getuser()
    for name, context in (("first", "prolog_srun"), ("last", "epilog_srun")):
        env = noted(hooks.dir / f"env.{name}")
        job = env["SLURM_JOB_ID"]
        want = {"SLURM_SCRIPT_CONTEXT": context, "SLURM_JOBID": job, "SLURM_JOB_USER": user,
                "SLURM_JOB_NAME": "x", "SLURM_JOB_PARTITION": c.job(job)["Partition"],
                "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_NUM_NODES": "2", "SLURM_STEP_ID": "0",
                "SLURM_NTASKS": "3", "SLURM_NNODES": "2", "SLURM_TASKS_PER_NODE": "2,1",
                "SLURM_UMASK": "0022", "SLURM_MPI_TYPE": "none", "SLURM_STEP_NODELIST": "node[1-2]",
                "SLURM_SUBMIT_DIR": str(c.work)}
        assert {key: env.get(key) for key in want} == want
        assert re.fullmatch(r"\d+(\(x2\)|,\d+)", env["SLURM_JOB_CPUS_PER_NODE"])
        assert env["SLURM_JOB_UID"].isdigit() and env["SLURM_JOB_GID"].isdigit()
        assert int(env["SLURM_JOB_END_TIME"]) - int(env["SLURM_JOB_START_TIME"]) in range(0, 301)
        assert env["SLURM_CONF"].endswith("slurm.conf") and env["SLURM_SUBMIT_HOST"]
        assert "SLURM_PROCID" not in env and "SLURM_ARRAY_TASK_ID" not in env
    task = c.sbatch("--array=7", "-n1", wrap=f"srun --prolog={hooks.dir}/own --epilog=none true")
    c.wait_end(task)
    env = noted(hooks.dir / "env.own")
    assert (env["SLURM_ARRAY_JOB_ID"], env["SLURM_ARRAY_TASK_ID"]) == (str(task), "7")
    assert env["SLURM_NTASKS"] == "1" and env["SLURM_STEP_ID"] == "0"


def test_srun_prolog_fails(make_cluster, hooks):
    c = make_cluster(nodes=1, conf=f"SrunEpilog={hooks.dir}/10-dump")
    done = c.run("srun", "--prolog=/bin/false", "echo", "ran", check=False)
    assert done.rc != 0 and done.out == ""
    assert "srun: error: srun prolog failed rc = " in done.err


# ---- mail ---------------------------------------------------------------------------------------------

@pytest.fixture
def mail(make_cluster, hooks):
    prog = hooks.write("mail", f"""#!/bin/bash
echo "$2|$3|$SLURM_JOB_MAIL_TYPE|$SLURM_JOB_STATE" >> {hooks.dir}/mails
""")
    c = make_cluster(nodes=1, conf=f"MailProg={prog}\nMailDomain=example.org")

    def mails(n):
        path = hooks.dir / "mails"
        wait_until(lambda: path.exists() and len(path.read_text().splitlines()) >= n, f"{n} mails", 60)
        lines = path.read_text().splitlines()
        path.unlink()
        return [re.sub(r"\d\d:\d\d:\d\d", "T", line) for line in lines]
    c.mails = mails
    return c


def test_mail_of_a_job(mail):
    job = mail.sbatch("--mail-type=ALL", "-J", "x", wrap="true")
    mail.wait_end(job)
    user = getpass.getuser()
    assert mail.mails(2) == [
        f"Slurm Job_id={job} Name=x Began, Queued time T|{user}@example.org|Began|RUNNING",
        f"Slurm Job_id={job} Name=x Ended, Run time T, COMPLETED, ExitCode 0|{user}@example.org|Ended|COMPLETED"]
    job = mail.sbatch("--mail-type=END,FAIL", "--mail-user=me@there", "-J", "y", wrap="exit 4")
    mail.wait_end(job)
    assert mail.mails(1) == [
        f"Slurm Job_id={job} Name=y Failed, Run time T, FAILED, ExitCode 4|me@there|Failed|FAILED"]


def test_mail_with_a_summary(make_cluster, hooks):
    """MailSummary: the end's mail tells what penstock report does; other mails have no text."""
    prog = hooks.write("mail", f"""#!/bin/bash
text=$(cat)
printf '%s\\n' "== $SLURM_JOB_MAIL_TYPE $SLURM_JOB_ID" "$text" >> {hooks.dir}/mails
""")
    c = make_cluster(nodes=1, conf=f"MailProg={prog}\nMailSummary=YES\nJobAcctGatherType=jobacct_gather/linux")
    job = c.sbatch("--mail-type=BEGIN,END", "-n2", "-t5", wrap="srun -n1 true; sleep 0.1")
    c.wait_sacct(job, "COMPLETED")
    path = hooks.dir / "mails"
    wait_until(lambda: path.exists() and "Advice" in path.read_text(), "two mails", 60)
    began, ended = re.findall(r"== (.*)\n((?:(?!==).*\n)*)", path.read_text())
    assert began == (f"Began {job}", "\n"), path.read_text()
    assert ended[0] == f"Ended {job}"
    report = c.run("penstock", "report", str(job)).out
    figures = lambda text: re.sub(r"\d+\.\d%|\d+\.\d |\d+\.\d+[KM]|\d+[KM] ", "N ", text).strip()  # a last sample may follow
    assert figures(ended[1]) == figures(report)
    assert "CPU " in ended[1] and "Memory " in ended[1] and ended[1].rstrip().endswith("It ran too short to tell.")


def test_mail_of_an_array(mail):
    job = mail.sbatch("--mail-type=BEGIN,END,FAIL", "-J", "a", "--array=0-2",
                      wrap="exit $((SLURM_ARRAY_TASK_ID == 1))")
    began, ended = mail.mails(2)
    assert re.fullmatch(rf"Slurm Array Summary Job_id={job}_\* \({job}\) Name=a Began\|.*", began)
    assert re.fullmatch(rf"Slurm Array Summary Job_id={job}_\* \({job}\) Name=a Failed, Mixed, "
                        r"ExitCode \[0-1\]\|.*\|Failed\|Mixed", ended)
    job = mail.sbatch("--mail-type=END,ARRAY_TASKS", "-J", "b", "--array=3-4", wrap="true")
    tasks = sorted(line.split(" (")[0] for line in mail.mails(2))
    assert tasks == [f"Slurm Array Task Job_id={job}_3", f"Slurm Array Task Job_id={job}_4"]


def test_mail_of_requeue_and_dependency(mail):
    job = mail.sbatch("--mail-type=REQUEUE", "-J", "r", wrap="sleep 100")
    mail.wait_state(job, "RUNNING")
    mail.run("scontrol", "requeue", job)
    assert mail.mails(1)[0].startswith(f"Slurm Job_id={job} Name=r Requeued, Run time T|")
    mail.run("scancel", job)
    first = mail.sbatch("--hold", wrap="false")
    job = mail.sbatch("--mail-type=INVALID_DEPEND", "-J", "d", "-d", f"afterok:{first}", wrap="true")
    mail.run("scancel", first)
    assert mail.mails(1)[0].startswith(f"Slurm Job_id={job} Name=d Invalid dependency|")


def test_mail_of_the_time_limit(mail):
    """A limit of one minute: half of it has passed after 30 s."""
    job = mail.sbatch("--mail-type=TIME_LIMIT_50,TIME_LIMIT", "-J", "t", "-t", "1", wrap="sleep 100")
    mail.wait_state(job, "RUNNING")
    half = mail.mails(1)
    assert half[0].startswith(f"Slurm Job_id={job} Name=t Reached 50% of time limit, Run time T|")
    assert mail.wait_end(job, 90)["JobState"] == "TIMEOUT"
    assert mail.mails(1)[0].startswith(f"Slurm Job_id={job} Name=t Reached time limit, Run time T|")
