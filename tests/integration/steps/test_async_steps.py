"""srun --async and swait: queued steps, where their output goes, order, cancelling, restarts, mistakes."""

import re

from conftest import wait_until

CLUSTER = {"nodes": 2, "cpus": 4}
INSIDE = "SLURM_JOB_ID"


def test_transcript(c):
    job = c.sbatch("-n4", "-N1", "-t3", "--stepmgr", script="""
srun --async -n1 -o as.%J.txt bash -c "sleep 0.5; echo one"
srun --async --parsable -n1 bash -c "echo two; echo oops >&2"
swait; echo swait=$?
swait --timeout=1; echo $?
ls as.* slurm-$SLURM_JOB_ID*
env | grep STEPMGR""")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    host = c.job(job)["BatchHost"]
    assert c.out(job) == (f"Submitted step {job}.0\n{job}.1\nswait=0\n0\nas.{job}.0.txt\n"
                          f"slurm-{job}.1.out\nslurm-{job}.out\nSLURM_STEPMGR={host}\n")
    assert (c.work / f"as.{job}.0.txt").read_text() == "one\n"
    assert (c.work / f"slurm-{job}.1.out").read_text() == "two\noops\n"
    wait_until(lambda: [[f"{job}.0", "COMPLETED", "0:0"], [f"{job}.1", "COMPLETED", "0:0"]] ==
               [r for r in c.sacct("-j", str(job), "-o", "JobID,State,ExitCode")
                if re.fullmatch(r"\d+\.\d+", r[0])], "sacct shows both steps")


def test_waits_for_room_in_order(c):
    """The second takes all CPUs, so it starts when the first has ended; the third not before the second."""
    job = c.sbatch("-n4", "-N1", "--stepmgr", script="""
for i in 1 2 3; do srun --async --quiet -n4 bash -c "echo $i-start >> order; sleep 0.3; echo $i-end >> order" ; done
swait""")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    lines = (c.work / "order").read_text().split()
    runs = [k for k, line in enumerate(lines) if k == 0 or line != lines[k - 1]]
    assert [lines[k] for k in runs] == [f"{i}-{what}" for i in (1, 2, 3) for what in ("start", "end")]
    assert c.out(job) == ""


def hold(c, *options):
    """A job whose one step keeps all CPUs until the file `go` is there; gives its id."""
    job = c.sbatch("-n4", "-N1", "--stepmgr", *options, script="""
srun --async -n4 bash -c 'while [ ! -e go ]; do sleep 0.05; done'
srun --async -n4 bash -c 'echo ran >> second'
touch queued
swait""")
    wait_until(lambda: (c.work / "queued").exists(), "both steps are queued")
    return job


def test_pending_is_shown_and_cancelled(c):
    job = hold(c)
    shown = c.run("scontrol", "show", "step", f"{job}.1").out
    assert f"StepId={job}.1" in shown and "State=PENDING" in shown
    c.run("scancel", f"{job}.1")
    (c.work / "go").touch()
    c.wait_end(job)
    assert not (c.work / "second").exists()
    wait_until(lambda: any(r[0] == f"{job}.1" and r[1].startswith("CANCELLED")
                           for r in c.sacct("-j", str(job), "-o", "JobID,State")), "sacct shows the cancel")


def test_end_of_script_ends_queue(c):
    job = c.sbatch("-n4", "-N1", "--stepmgr", script="""
srun --async -n4 sleep 60
srun --async -n4 touch never""")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    assert not (c.work / "never").exists()


def test_survives_controller(cluster):
    job = hold(cluster)
    cluster.kill_ctld()
    cluster.start_ctld()
    (cluster.work / "go").touch()
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert (cluster.work / "second").read_text() == "ran\n" * 4


def test_two_nodes_and_failure(c):
    """Ranks are laid out over the nodes; the step's code is accounting's business, not srun's."""
    job = c.sbatch("-N2", "-n4", "--ntasks-per-node=2", "--stepmgr", script="""
srun --async -n4 -N2 -o rank.%t bash -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURM_NODEID; exit 3'; echo $?
swait""")
    c.wait_end(job)
    assert c.out(job) == f"Submitted step {job}.0\n0\n"
    text = [(c.work / f"rank.{i}").read_text() for i in range(4)]
    assert text == ["0 of 4 on 0\n", "1 of 4 on 0\n", "2 of 4 on 1\n", "3 of 4 on 1\n"]
    wait_until(lambda: [f"{job}.0", "FAILED", "3:0"] in c.sacct("-j", str(job), "-o", "JobID,State,ExitCode"),
               "sacct has the code")


def test_timeout(c):
    job = hold(c)
    done = c.run("swait", "--timeout=1", "-Q", str(job), check=False)
    assert (done.rc, done.out, done.err) == (1, "", "")
    (c.work / "go").touch()
    assert c.run("swait", str(job)).rc == 0


def test_refusals(c):
    assert c.refused("srun", "--async", "true") == (
        "srun: error: --async is only valid for steps submitted within an existing job allocation.\n")
    assert c.refused("swait", rc=2) == (
        "swait: error: no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set\n")
    assert c.refused("swait", "99999", rc=2) == (
        "swait: error: cannot load JobId=99999: Invalid job id specified\n")
    assert "--timeout" in c.refused("swait", "--timeout=soon", "1", rc=2)
    assert "array-task ranges are not supported" in c.refused("swait", "1_[1-2]", rc=2)
    job = c.sbatch("-n1", wrap="srun --async true; srun --async --pty true; swait; echo $?")
    c.wait_end(job)
    assert "the job was not submitted with --stepmgr" in c.out(job)
    assert "--async and --pty are mutually exclusive." in c.out(job)
    assert c.out(job).endswith("\n2\n")


def test_controller_dies_before_a_confirmation(cluster):
    """Each of two nodes confirms its part; killed with the first noted and the second not, both parts run once."""
    for strikes in (1, 2):
        cluster.daemon_env_change["PENSTOCK_FAILPOINT"] = f"ctld.crash.async_confirm:{strikes}"
        cluster.restart_ctld()
        cluster.wait_nodes()
        log = cluster.work / f"ran{strikes}"
        job = cluster.sbatch("-N2", "-n2", "--stepmgr", script=f"srun --async -N2 -n2 sh -c 'echo x >>{log}; sleep 2'; swait")
        wait_until(lambda: not cluster.ctld.alive(), "the controller died where it should")
        del cluster.daemon_env_change["PENSTOCK_FAILPOINT"]
        cluster.kill_ctld()
        cluster.start_ctld()
        assert cluster.wait_end(job, timeout=30)["JobState"] == "COMPLETED"
        assert log.read_text() == "x\nx\n"
        wait_until(lambda: [f"{job}.0", "COMPLETED"] in [r for r in cluster.sacct("-j", str(job), "-o", "JobID,State")],
                   "the step is accounted for")


def test_swait_takes_the_sluid_first(c):
    job = c.sbatch("-n1", "--stepmgr", script="""
srun --async -n1 sh -c 'sleep 0.5; echo done >> ended'
SLURM_JOB_ID=999999 swait && cat ended
env -u SLURM_JOB_SLUID swait; echo $?
SLURM_JOB_SLUID=s0000000000001 swait; echo $?""")
    c.wait_end(job)
    lines = c.out(job).splitlines()
    assert [x for x in lines if not x.startswith("Submitted")] == [
        "done", "0", "swait: error: cannot load JobId=s0000000000001: Invalid job id specified", "2"]
    assert "StepMgrEnabled=Yes" in c.run("scontrol", "show", "job", job).out
