"""switch/nvidia_imex: channels of jobs and of their segments, on made-up devices below a folder that stands for the root."""
import os
import re

import pytest

from conftest import wait_until

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="mounts")
DEVICES = """Character devices:
  1 mem
235 nvidia-caps-imex-channels

Block devices:
  8 sd
"""
LOOK = "ls -l {dir}/ | tail -n +2; echo env $NVIDIA_IMEX_CHANNELS; {then}"


@pytest.fixture
def imex(make_cluster, tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "devices").write_text(DEVICES)
    (tmp_path / "dev" / "nvidia-caps-imex-channels").mkdir(parents=True)
    (tmp_path / "dev" / "nvidia-caps-imex-channels" / "channel7").touch()  # of an earlier slurmd
    c = make_cluster(nodes=2, conf="SwitchType=switch/nvidia_imex\nSwitchParameters=imex_channel_count=2\n"
                                   f"SlurmdParameters=config_overrides,devices_root={tmp_path}")
    c.channels = tmp_path / "dev" / "nvidia-caps-imex-channels"
    return c


def batch(c, *options, then="exec sleep 1000"):
    return c.sbatch(*options, wrap=LOOK.format(dir=c.channels, then=then))


def seen(c, job):
    """(devices, what the variable holds) of each look in the job's output."""
    def looks():
        path = c.work / f"slurm-{job}.out"
        text = path.read_text() if path.exists() else ""
        return re.findall(r"((?:^c.*\n)*)env (\d*)\n", text, re.M)
    found = wait_until(looks, f"job {job} has looked")
    return [([(line.split()[0], *line.split()[4:6], line.split()[-1]) for line in devices.splitlines()], var)
            for devices, var in found]


def device(channel):
    return ("crw-rw-rw-", "235,", str(channel), f"channel{channel}")


def test_a_channel_of_each_job(imex):
    assert list(imex.channels.iterdir()) == []  # slurmd emptied it
    first = batch(imex)
    second = batch(imex, "-N2")
    assert seen(imex, first) == [([device(1)], "1")]
    assert seen(imex, second) == [([device(2)], "2")]
    assert list(imex.channels.iterdir()) == []  # nothing on the node itself
    third = batch(imex)
    wait_until(lambda: imex.job(third)["Reason"] == "NvidiaImexChannels", "it waits for a channel")
    assert imex.run("squeue", "-h", "-j", third, "-o", "%t %r").out == "PD NvidiaImexChannels\n"
    assert "IMEX channels" in imex.run("scontrol", "explain", third).out
    imex.kill_ctld()  # what is held follows from the jobs
    imex.start_ctld()
    wait_until(lambda: imex.job(third)["Reason"] == "NvidiaImexChannels", "it still waits")
    steps = imex.run("srun", f"--jobid={second}", "--overlap", "-N2", "-n2", "sh", "-c",
                     LOOK.format(dir=imex.channels, then="true")).out
    assert steps.count("channel2\n") == 2 and steps.count("env 2\n") == 2 and "channel1" not in steps
    imex.run("scancel", first)
    assert seen(imex, third) == [([device(1)], "1")]  # the lowest that is free
    imex.run("scancel", second, third)


def test_a_channel_of_each_segment(imex):
    job = batch(imex, "-N2", "--segment=1", "--network=unique-channel-per-segment",
                then=f"srun -N2 -n2 -l sh -c 'ls {imex.channels}; echo end'")
    imex.wait_end(job)
    text = imex.out(job)
    assert "0: channel1\n" in text and "1: channel2\n" in text
    assert "0: channel2" not in text and "1: channel1" not in text
    # not enough for both segments: it takes none
    blocker = batch(imex)
    imex.wait_state(blocker, "RUNNING")
    waits = batch(imex, "-N2", "--segment=1", "--network=unique-channel-per-segment")
    wait_until(lambda: imex.job(waits)["Reason"] == "NvidiaImexChannels", "it waits for two")
    one = batch(imex)
    assert seen(imex, one) == [([device(2)], "2")]
    imex.run("scancel", waits, one, blocker)


def test_words_of_network(imex):
    assert imex.refused("sbatch", "--network=fast", "--wrap", "true") == (
        'sbatch: error: --network: "fast" is not known to switch/nvidia_imex, which takes unique-channel-per-segment\n'
        "sbatch: error: Batch job submission failed: Requested operation not supported on this system\n")


def test_a_node_without_the_driver(make_cluster, tmp_path):
    c = make_cluster(nodes=1, conf="SwitchType=switch/nvidia_imex\n"
                                   f"SlurmdParameters=config_overrides,devices_root={tmp_path}")
    assert c.run("srun", "sh", "-c", "echo channel [$NVIDIA_IMEX_CHANNELS]").out == "channel []\n"
    assert "jobs here get no channel" in c.logs("slurmd-node1")
