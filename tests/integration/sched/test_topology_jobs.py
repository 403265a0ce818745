"""Jobs under topology/block: where they run, segments, whole blocks, what users are told and refused."""

import re

import pytest

from conftest import wait_until

TOPOLOGY = """BlockName=b1 Nodes=node[1-2]
BlockName=b2 Nodes=node[3-4]
BlockName=b3 Nodes=node[5-6]
BlockName=b4 Nodes=node[7-8]
BlockSizes=2,4
"""


@pytest.fixture
def blocks(make_cluster):
    c = make_cluster(start=False, nodes=8, conf="TopologyPlugin=topology/block", partition="OverSubscribe=EXCLUSIVE")
    (c.dir / "etc" / "topology.conf").write_text(TOPOLOGY)
    return c.start()


def where(c, *words, wrap="sleep 100"):
    """The job runs; its nodes."""
    job = c.sbatch(*words, wrap=wrap)
    return job, c.wait_state(job, "RUNNING")["NodeList"]


def end_all(c, *jobs):
    c.run("scancel", *map(str, jobs))
    for job in jobs:
        c.wait_state(job, "CANCELLED")
    c.wait_nodes()


def reason(c, job, text):
    """squeue and scontrol tell it."""
    wait_until(lambda: c.run("squeue", "-h", "-j", str(job), "-o", "%T|%r|%R").out.strip() ==
               f"PENDING|{text}|({text})", f"job {job} waits: {text}")
    shown = c.run("scontrol", "show", "job", str(job)).out
    assert f"JobState=PENDING Reason={text.replace(' ', '_')} " in shown


def test_blocks(blocks):
    c = blocks
    job, nodes = where(c, "-N3")
    assert nodes == "node[5,7-8]"
    end_all(c, job)
    # Segments: of two, apart from each other, and what is shown of them.
    job, nodes = where(c, "-N2", "--segment=1", "--spread-segments", "-o", "out",
                       wrap="echo segments of $SLURM_JOB_SEGMENT_SIZE; sleep 100")
    assert nodes == "node[5,7]"
    assert re.search(r"^   SegmentSize=1$", c.run("scontrol", "show", "job", str(job)).out, re.M)
    assert c.run("squeue", "-h", "-j", str(job), "-O", "SegmentSize").out.split() == ["1"]
    assert '"SPREAD_SEGMENTS"' in c.run("squeue", "-j", str(job), "--json").out
    wait_until(lambda: (c.work / "out").read_text() == "segments of 1\n", "the script knows")
    end_all(c, job)
    # One node of each block is busy: no block holds two, two segments of one find a place.
    busy = [where(c, "-N1", f"-wnode{i}")[0] for i in (1, 3, 5, 7)]
    waits = c.sbatch("-N2", wrap="sleep 100")
    reason(c, waits, "No suitable topology unit found")
    c.run("scancel", str(waits))
    job, nodes = where(c, "-N2", "--segment=1")
    assert nodes == "node[6,8]"
    end_all(c, job, *busy)
    # A whole block is closed to others, by a controller that restarts too.
    job, nodes = where(c, "-N1", "--exclusive=topo", "-wnode7")
    assert "Exclusive=TOPO" in c.run("scontrol", "show", "job", str(job)).out
    c.restart_ctld()
    c.wait_nodes(names=[n for n in c.node_names if n != "node7"])
    other, nodes = where(c, "-N2")
    assert nodes in ("node[1-2]", "node[3-4]", "node[5-6]")  # whichever has registered again
    waits = c.sbatch("-N1", "-wnode8", wrap="sleep 100")
    reason(c, waits, "Resources")
    c.run("scancel", str(job))
    assert c.wait_state(waits, "RUNNING")["NodeList"] == "node8"
    end_all(c, other, waits)
    refusals(c)


def refusals(c):
    for words, text in (
            (("-N2", "-wnode1,node3"), "Requested node configuration is not available"),
            (("-N6", "--segment=3", "-wnode[1-3]"), "Requested topology configuration is not available"),
            (("-N5", "--segment=1", "--spread-segments"), "Requested node configuration is not available")):
        p = c.run("sbatch", *words, "--wrap=true", check=False)
        assert p.returncode == 1
        assert p.err == f"sbatch: error: Batch job submission failed: {text}\n"
    p = c.run("sbatch", "-N6", "--segment=4", "--wrap=true", check=False)
    assert p.err == ("sbatch: fatal: --segment=4 does not fit the job size (6): node count must be evenly divisible by "
                     "segment size\n")


def test_room_for_segments(make_cluster):
    """Jobs of one node stay out of blocks that have room for a segment; without the key they do not."""
    c = make_cluster(start=False, nodes=8, cpus=2, conf="TopologyPlugin=topology/block")
    (c.dir / "etc" / "topology.conf").write_text("BlockName=b1 Nodes=node[1-4]\nBlockName=b2 Nodes=node[5-8]\nBlockSizes=4\n")
    plain = c.conf_text()
    c.write_conf(plain.replace("SchedulerParameters=requeue_delay=2", "SchedulerParameters=requeue_delay=2,keep_segments=3"))
    c.start()
    assert where(c, "-N1", "-c2", "-wnode5")[1] == "node5"   # b2 has three nodes left
    assert where(c, "-N1", "-c1")[1] == "node1"              # b1 has one to spare
    assert where(c, "-c1")[1] == "node1"                     # and that one is in use
    assert where(c, "-N2", "-n4")[1] == "node[6-7]"          # a segment goes in either block: the last
    c.write_conf(plain)
    c.run("scontrol", "reconfigure")
    assert where(c, "-N1", "-c2")[1] == "node2"              # the first free one
