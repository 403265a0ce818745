"""AllocNodes: hosts from which a partition takes jobs."""
import socket

CONF = "PartitionName=far Nodes=ALL AllocNodes=login[7-9]"
HOST = socket.gethostname()


def test_submission_hosts(make_cluster):
    c = make_cluster(nodes=1, conf=CONF)
    denied = "Access/permission denied"
    assert denied in c.refused("sbatch", "-p", "far", "--wrap", "true")
    assert denied in c.refused("srun", "-p", "far", "true")
    c.run("scontrol", "update", "partitionname=far", f"allocnodes=login7,{HOST.split('.')[0]}")
    assert c.wait_end(c.sbatch("-p", "far", wrap="true"))["JobState"] == "COMPLETED"
    c.run("scontrol", "update", "partitionname=far", "allocnodes=login7")
    job = c.sbatch("-H", wrap="true")
    assert denied in c.refused("scontrol", "update", f"jobid={job}", "partition=far"), "a job cannot move there, either"
    c.run("scontrol", "update", "partitionname=far", "allocnodes=ALL")
    c.run("scontrol", "update", f"jobid={job}", "partition=far")


def test_the_record_does_not_decide(make_cluster):
    """What a submission says of its host is its sender's word."""
    c = make_cluster(nodes=1, conf=CONF)
    c.env["SLURMD_NODENAME"] = "login7"
    c.env["HOSTNAME"] = "login7"
    assert "Access/permission denied" in c.refused("sbatch", "-p", "far", "--wrap", "true")
