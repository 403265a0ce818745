"""squeue and sinfo --iterate: what one listing meets does not end those after it."""

import os
import signal
import threading

import pytest

from conftest import wait_until


class Follower:
    """Lines of a command, as they come."""

    def __init__(self, c, *argv):
        self.process, self.lines = c.popen(*argv, stdout=-1, stderr=-2), []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def count(self, text):
        return sum(text in line for line in list(self.lines))

    def wait_more(self, text):
        have = self.count(text)
        wait_until(lambda: self.count(text) > have, f"one more {text!r} in {self.lines}", 30)

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        status = self.process.wait(20)
        self.reader.join()
        return status


@pytest.mark.parametrize("argv,shown,told", [
    (["squeue", "-h", "-i", "1", "-o", "%j"], "waiter\n", "slurm_load_jobs error: Unable to contact slurm controller"),
    (["sinfo", "-h", "-i", "1", "-o", "%N"], "node1\n", "slurm_load_partitions: Unable to contact slurm controller"),
])
def test_listings_go_on_after_a_controller_that_restarts(make_cluster, argv, shown, told):
    c = make_cluster(nodes=1, conf="MessageTimeout=2")
    c.run("sbatch", "-H", "-J", "waiter", "--wrap", "true")
    f = Follower(c, *argv)
    try:
        f.wait_more(shown)
        c.kill_ctld()
        f.wait_more(told)
        c.start_ctld()
        f.wait_more(shown)
    finally:
        status = f.end()
    assert status == -signal.SIGTERM
    c.run("scancel", "-n", "waiter")


def test_an_unknown_job_is_asked_for_again(make_cluster):
    """As with the incumbent: the number may be one that comes; a script that waits for the end looks for it itself."""
    c = make_cluster(nodes=1)
    f = Follower(c, "squeue", "-h", "-i", "1", "-o", "%j", "-j", "1")
    try:
        f.wait_more("slurm_load_jobs error: Invalid job id specified")
        c.run("sbatch", "-H", "-J", "waiter", "--wrap", "true")
        f.wait_more("waiter\n")
    finally:
        f.end()
    c.run("scancel", "-n", "waiter")


def test_mistakes_end_it(make_cluster):
    c = make_cluster(nodes=1)
    for argv, told in [(["squeue", "-i", "1", "-w", "node9"], "squeue: error: Invalid node name node9\n"),
                       (["squeue", "-i", "1", "-S", "~"], "squeue: error: Invalid sort specification: ~\n")]:
        assert c.refused(*argv, timeout=20).endswith(told)


def test_a_reader_that_goes_away_ends_it(make_cluster):
    c = make_cluster(nodes=1)
    read_fd, write_fd = os.pipe()
    process = c.popen("sinfo", "-i", "1", stdout=write_fd)
    os.close(write_fd)
    assert os.read(read_fd, 1)
    os.close(read_fd)
    assert process.wait(30) in (1, -signal.SIGPIPE)
