"""Words that the commands' pages name and few people type: what is refused, with its sentence, and what is taken."""

import pytest

from conftest import wait_until

CLUSTER = {"nodes": 2}
BOTH = "fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n"

# words, stderr; the exit status is 1
REFUSED = [
    ("sinfo -N --long --Format=nodes", f"sinfo: {BOTH}"),
    ("sacct -I x", 'sacct: error: Invalid numeric value "x" for requested cpu range.\n'),
    ("sacct --nnodes=1-x", 'sacct: error: Invalid numeric value "1-x" for requested node range.\n'),
    ("sacct -o jobid,AllocGRES", "sacct: fatal: AllocGRES has been removed, please use AllocTRES\n"),
    ("sacct -o reqgres%5", "sacct: fatal: ReqGRES has been removed, please use ReqTRES\n"),
    ("sattach --output-filter=x 1.0", 'sattach: error: Invalid numeric value "x" for output-filter.\n'),
    ("sbcast --fanout=x a b", "sbcast: error: --treewidth takes a number up to 65533 or off, not x\n"),
    ("sbcast --send-libs=x a b", "sbcast: error: Ignoring unrecognized --send-libs value 'x'\n"
     "sbcast: error: Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.\n"),
    ("strigger --clear --id=99 --quiet", ""),
    ("scontrol top 1 2", "too many arguments for keyword:top\n"),
    ("scontrol wait_job 1 x", "too many arguments for keyword:wait_job\n"),
    ("scontrol write batch_script 1 - x", "too many arguments for keyword:write\n"),
    ("scontrol update reservation", "scontrol: error: Reservation must be given.  No reservation update.\n"),
    ("sacctmgr -i archive dump directory=/tmp purgejobafter=x", "sacctmgr: error: Invalid purge string 'x'\n"),
    ("sacctmgr -i archive dump directory=/tmp purgejobafter=5years",
     "sacctmgr: error: Invalid purge unit 'years', valid options are hours, days, or months\n"),
]


@pytest.mark.parametrize("words, err", REFUSED, ids=[words for words, _ in REFUSED])
def test_refused(c, words, err):
    done = c.run(*words.split(), check=False)
    assert (done.rc, done.err) == (1, err)


def test_taken(c):
    """An empty sampling interval is none, holdu is uhold, acct is a word for the account."""
    job = c.run("sbatch", "-H", "--parsable", "--acctg-freq=", "--wrap=true").out.strip()
    c.run("scontrol", "release", job)
    c.run("scontrol", "holdu", c.run("sbatch", "--parsable", "--begin=now+1hour", "--wrap=true").out.strip())
    assert c.run("squeue", "-h", "-t", "PD", "-o", "%r").out == "JobHeldUser\n"
    assert c.run("sacct", "-X", "-n", "-o", "jobid", "-I", "").out.split()[0] == job
    assert c.run("sacctmgr", "-P", "list", "account", "format=acct", "name=root").out == "Account\nroot\n"


def test_accounts_of_report(c):
    """The word of sreport's own help."""
    out = c.run("sreport", "-P", "cluster", "AccountUtilizationByUser", "format=accounts,used").out
    assert out.splitlines()[-1] == "Account|Used"


def test_nodes_of_reservation(c):
    c.run("scontrol", "create", "reservation=r1", "starttime=now+1hour", "duration=5", "users=root", "nodes=node1")
    listed = ("sacctmgr", "-nP", "list", "reservation")
    assert wait_until(lambda: c.run(*listed, "format=name").out, "the database has the reservation") == "r1\n"
    assert c.run(*listed, "format=nodenames").out == "node1\n"


def test_archive_of_reservations(c, tmp_path):
    done = c.run("sacctmgr", "-i", "archive", "dump", f"directory={tmp_path}", "resv")
    assert done.err == "sacctmgr: accounting_storage/slurmdbd: jobacct_storage_p_archive: SUCCESS\n"


def test_every_column(c):
    """%all of sinfo: a blank behind the columns of capital letters (recorded)."""
    head, row, *_ = c.run("sinfo", "-o", "%all").out.splitlines()
    assert head.endswith("|WEIGHT|S:C:T|NODES(A/I) |MAX_CPUS_PER_NODE |CPUS(A/I/O/T) |NODES |REASON |NODES(A/I/O/T) |GRES |TIMESTAMP |"
                         "PRIO_JOB_FACTOR |DEFAULTTIME |PREEMPT_MODE |NODELIST |CPU_LOAD |PARTITION |PARTITION |ALLOCNODES |STATE |USER |"
                         "CLUSTER |SOCKETS |CORES |THREADS ")
    assert [cell.endswith(" ") for cell in row.split("|")] == [cell.endswith(" ") for cell in head.split("|")]
