"""Processes that serve a user read what he sends.  They gain nothing by it, not even by a setuid program; his tasks may."""

CLUSTER = {"nodes": 1, "cpus": 2}
# The step daemon's children are the task that runs this and the service that it talks to.
SCRIPT = r"""
for pid in $(pgrep -P $PPID); do
    echo "$(cat /proc/$pid/comm) $(grep -o 'NoNewPrivs:.*' /proc/$pid/status)"
done
"""


def test_a_service_of_a_step_gains_nothing(c):
    """A task that makes slurmstepd-pmi2 run its code is no nearer to root by su, sudo or mount."""
    lines = c.run("srun", "--mpi=pmi2", "-n1", "bash", "-c", SCRIPT, timeout=30).out.splitlines()
    assert "slurmstepd-pmi2 NoNewPrivs:\t1" in lines, lines
    assert "bash NoNewPrivs:\t0" in lines, lines
