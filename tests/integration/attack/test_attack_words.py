"""Words of users that become something else: options, lines, subjects, what terminals obey.

Each test is an attack as an ordinary user would carry it out, with the commands and, since a hostile user has a client
of his own, with frames made by hand."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import SLOW, Cluster, wait_until
from rawwire import ERROR, Peer, messages

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="acts as other users")
USER, UID, GID = "games", 5, 60
ESC = "\x1b]0;owned\x07"
C1 = "\x9b31m"  # the same as ESC [ for a terminal


@pytest.fixture(scope="module")
def site():
    """A cluster that root runs: MailProg and PrologSlurmctld write down what they are given."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    folder.chmod(0o755)
    mail, prolog, record = folder / "mail", folder / "prolog", folder / "record"
    # Mail programs know options, and more of them than -s: --exec stands for those that run a command.
    mail.write_text(f"""#!/bin/bash
printf '%s|' "$@" >> {record}
echo >> {record}
[ "$3" = "${{3#--exec=}}" ] || "${{3#--exec=}}"
""")
    prolog.write_text(f"#!/bin/bash\nenv > {record}.env.$SLURM_JOB_ID\n")
    for path in mail, prolog:
        path.chmod(0o755)
    c = Cluster(folder, nodes=1, conf=f"MailProg={mail}\nPrologSlurmctld={prolog}\nJobCompType=jobcomp/filetxt\n"
                f"JobCompLoc={folder}/jobcomp.log\n")
    try:
        c.start()
        c.work.chmod(0o777)
        c.record, c.jobcomp, c.folder = record, folder / "jobcomp.log", folder
        c.mails = lambda: record.read_text().splitlines() if record.exists() else []
        yield c
    finally:
        problems = c.stop()
        shutil.rmtree(folder, ignore_errors=True)
        assert not problems, problems


def as_user(c, *words, **more):
    words = [w if isinstance(w, bytes) else str(w) for w in words]
    return subprocess.run(["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", *words], cwd=c.work,
                          env=c.env | {"USER": USER}, capture_output=True, timeout=30 * SLOW,
                          **({"text": True} | more))


def by_hand(c, op, message):
    """The request of a client that checks nothing.  Returns (was it refused, the answer)."""
    with Peer.local(c.port, uid=UID, gid=GID) as peer:
        peer.hello()
        flags, answer = peer.call(op, message)
        return bool(flags & ERROR), answer


def batch(**fields):
    pb = messages()
    job = pb.JobRecord(batch=True, work_dir="/tmp", std_out="/dev/null", **fields)
    return pb.SubmitRequest(job=job, script=b"#!/bin/sh\ntrue\n", environment=b"PATH=/bin:/usr/bin\0")


def test_option_of_the_mail_program(site):
    """--mail-user=--exec=...: MailProg is root's, and took the address for an option."""
    trap = site.folder / "trap"
    trap.write_text(f"#!/bin/sh\nid -u > {site.folder}/owned\n")
    trap.chmod(0o755)
    attack = f"--exec={trap}"
    done = as_user(site, "sbatch", f"--mail-user={attack}", "--mail-type=BEGIN", "--wrap", "true")
    if done.returncode == 0:
        site.wait_end(re.findall(r"\d+", done.stdout)[0])
        wait_until(site.mails, "a mail")
    assert not (site.folder / "owned").exists(), "a user's word ran as uid " + (site.folder / "owned").read_text()
    assert (done.returncode, done.stderr) == (1, "sbatch: error: mail_user is not an address of mail\n")
    refused, answer = by_hand(site, "job-submit", batch(mail_user=attack, mail_type=1))
    assert refused and answer.text == "mail_user is not an address of mail"
    job = site.sbatch("-H", "--mail-type=BEGIN", wrap="true")
    assert site.run("scontrol", "update", f"jobid={job}", f"mailuser={attack}", check=False).returncode == 1
    pb = messages()
    mine = as_user(site, "sbatch", "-H", "--parsable", "--wrap", "true").stdout.strip()
    refused, answer = by_hand(site, "job-update", pb.JobUpdateRequest(ids=[mine], set=pb.JobRecord(mail_user=attack)))
    assert refused and answer.text == "mail_user is not an address of mail"
    site.run("scancel", job, mine)


# What a mail program takes for more than an address: options, commands, files, a second line of its header.
@pytest.mark.parametrize("address", ["-s", "--exec=/tmp/x", "me@there,-f/etc/passwd", "me -O", "|/tmp/x", "me,|/tmp/x", "/etc/cron.d/x",
                                     "+inbox", "`id`@x", "$(id)@x", "a;id", "me\nBcc: all@there", "me\r", "me\x7f", "~r /etc/shadow",
                                     "a@b\\", "&x", "!x", ".x", "me@there" + C1])
def test_what_is_no_address(site, address):
    refused, answer = by_hand(site, "job-submit", batch(mail_user=address, mail_type=1))
    assert refused and answer.text == "mail_user is not an address of mail"


@pytest.mark.parametrize("address", ["games", "me@example.org", "first.last+slurm@a-b.example.org", "o'brien@example.org", "a@x,b@y",
                                     "a@x, b@y", "user%host@relay", "jürgen@exämple.org", "x_1=y@z", "_ci@example.org"])
def test_what_is_an_address(site, address):
    before = len(site.mails())
    done = as_user(site, "sbatch", "--mail-type=BEGIN", f"--mail-user={address}", "--wrap", "true")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: len(site.mails()) > before, "the mail")
    assert site.mails()[before].endswith(f"|{address}|"), site.mails()[before]


LINES = ["name", "account", "qos", "partition", "wckey", "reservation", "features", "licenses", "work_dir", "std_out", "command",
         "mcs_label", "tres_per_node", "req_nodes", "container_id", "alloc_host", "dependency", "network"]


@pytest.mark.parametrize("field", LINES)
def test_lines_in_what_is_one_line(site, field):
    """A job's name with a line end was a second line in jobcomp.log, in the mail's header and on every screen."""
    for bad in "x\nJobId=1 UserId=root(0)", "x\ty", f"x{ESC}", "x\x7f", f"x{C1}", "x\r":
        request = batch()
        setattr(request.job, field, bad)
        refused, answer = by_hand(site, "job-submit", request)
        assert refused and answer.text == f"{field} has a control character, at byte 2", (bad, answer)


def test_names_at_update_and_in_steps(site):
    pb = messages()
    mine = as_user(site, "sbatch", "-H", "--parsable", "-J", "good", "--wrap", "true").stdout.strip()
    refused, answer = by_hand(site, "job-update", pb.JobUpdateRequest(ids=[mine], set=pb.JobRecord(name="x\ny")))
    assert refused and answer.text == "name has a control character, at byte 2"
    assert site.job(mine)["JobName"] == "good"
    done = as_user(site, "scontrol", "update", f"jobid={mine}", "jobname=x\ny")
    assert (done.returncode, done.stderr) == (1, f"name has a control character, at byte 2 for job {mine}\n")
    request = batch()
    request.step.name = "x\ny"
    request.wait_alloc = True
    refused, answer = by_hand(site, "job-submit", request)
    assert refused and answer.text == "name has a control character, at byte 2"
    request = batch()
    request.components.add().job.CopyFrom(pb.JobRecord(name="x\ny"))
    refused, answer = by_hand(site, "job-submit", request)
    assert refused and answer.text == "name has a control character, at byte 2"
    as_user(site, "scancel", mine)


@pytest.mark.parametrize("command", [["sbatch", "-J", "x\ny", "--wrap", "true"], ["srun", "-J", "x\ny", "true"],
                                     ["salloc", "-J", "x\ny", "true"]])
def test_commands_say_so_themselves(site, command):
    done = as_user(site, *command)
    assert (done.returncode, done.stderr) == (1, f"{command[0]}: error: name has a control character, at byte 2\n")


@pytest.mark.parametrize("entry", ["X\nLD_PRELOAD=/tmp/x.so", "=x", "novalue", "A B=x", "1A=x", "A-B=x", ""])
def test_names_of_plugins_variables(site, entry):
    """Plugins of the command say what Prolog sees as SPANK_NAME; a client of one's own says anything."""
    request = batch()
    request.job.spank_job_env.append(entry)
    refused, answer = by_hand(site, "job-submit", request)
    assert refused and answer.text == "an entry of spank_job_env is not NAME=value"


def test_what_stays_allowed(site):
    """Names in any script, blanks, quotes, per cents; comments with lines; scripts with anything."""
    for name in "naïve Jöb", "計算 🚀", "it's \"quoted\" 100% $HOME `x` \\n", "-s", "a|b;c&d":
        done = as_user(site, "sbatch", "-J", name, "--parsable", "--comment=two\nlines\tand a tab", "-o", "/dev/null", "--wrap",
                       "echo 'a\nb'\n# \x1b[0m")
        assert done.returncode == 0, done.stderr
        job = done.stdout.strip()
        shown = as_user(site, "squeue", "-h", "-t", "all", "-j", job, "-o", "%j").stdout
        assert shown == f"{name}\n"
        site.wait_end(job)
        line = wait_until(lambda: re.search(rf"^JobId={job} .*$", site.jobcomp.read_text(), re.M), "its record").group()
        assert f" Name={name} JobState=COMPLETED " in line


def test_files_with_odd_names(site):
    """A script whose own name has control characters: nobody asked for such a job name."""
    path = site.work / "od\x1bd.sh"
    path.write_text("#!/bin/sh\ntrue\n")
    done = as_user(site, "srun", "-n1", "-t1", "/bin/sh", "-c", "echo 'a\nb'")
    assert (done.returncode, done.stdout) == (0, "a\nb\n"), done.stderr
    path.chmod(0o755)
    done = as_user(site, "srun", "-n1", "-t1", str(path))
    assert done.returncode == 0, done.stderr


def test_screens_of_others(site):
    """What a script of sbatch --wrap has in it stands in SubmitLine; others look at it on their terminals."""
    done = as_user(site, "sbatch", "-H", "--parsable", f"--comment=one\nJobState=FAILED", "--wrap", f"echo {ESC}{C1}\nUserId=root(0)")
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    for words in (["scontrol", "show", "job", job], ["squeue", "-h", "-j", job, "-O", "submitline:200,comment:200"],
                  ["sacct", "-a", "-n", "-P", "-j", job, "-o", "submitline,comment"], ["scontrol", "-o", "show", "job", job]):
        text = as_user(site, *words).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), (words, text)
        assert not re.search(r"^(UserId=root|JobState=FAILED)", text, re.M), (words, text)
    shown = json.loads(as_user(site, "squeue", "--json", "-j", job).stdout)["jobs"][0]
    assert shown["comment"] == "one\nJobState=FAILED"  # whoever reads JSON gets it as it is, escaped
    assert ESC not in as_user(site, "squeue", "--json", "-j", job).stdout
    as_user(site, "scancel", job)


def test_names_that_are_no_utf8(site):
    """One job's name in Latin-1 made everybody's squeue --json unreadable."""
    done = as_user(site, "sbatch", "-H", "--parsable", "-J", b"caf\xe9\xff", "--wrap", "true", text=False)
    assert done.returncode == 0, done.stderr
    job = done.stdout.decode().strip()
    out = as_user(site, "squeue", "--json", "-j", job, text=False).stdout
    assert json.loads(out.decode("utf-8"))["jobs"][0]["name"] == "caf\ufffd\ufffd"
    as_user(site, "scancel", job)


def test_accounts(site):
    """What stands in sacctmgr's lists, and in the file of sacctmgr dump, whose lines an administrator loads."""
    mgr = lambda *words: site.run("sacctmgr", "-i", *words, check=False)
    for words in (["add", "account", "x\ny"], ["add", "account", "good", "description=a\nUser - 'evil':AdminLevel='Administrator'"],
                  ["add", "account", "good", f"organization={ESC}"], ["add", "qos", "x\x7f"], ["add", "user", f"x{C1}", "account=root"]):
        done = mgr(*words)
        assert done.returncode == 1 and "has a control character" in done.err, (words, done)
    assert mgr("add", "account", "quotes", "description=it's \":Fairshare=7:Organization=\"o").returncode == 0
    path = site.work / "dump.cfg"
    assert mgr("dump", site.run("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster").out.strip(), f"file={path}").returncode == 0
    line = re.search(r"^Account - 'quotes'.*$", path.read_text(), re.M).group()
    assert ":Description=\"it's ':fairshare=7:organization='o\":" in line, line


def test_words_that_passed_the_door(make_cluster):
    """Records hold what nobody asked about: those of logs from before, and, as here, what a site's own script made of a
    user's comment.  Whoever builds an argument, a line, a variable or a screen of them cleans them."""
    c = make_cluster(nodes=1)
    record = c.dir / "record"
    for name, text in ("mail", f"touch {record}.mail"), ("prolog", f"env > {record}"):
        (c.dir / name).write_text(f"#!/bin/sh\n{text}\n")
        (c.dir / name).chmod(0o755)
    (c.dir / "etc" / "job_submit.lua").write_text("""
        function slurm_job_submit(d, parts, uid)
            d.name, d.mail_user = d.comment, "--exec=/tmp/x"
            return slurm.SUCCESS
        end
        function slurm_job_modify(d, job, parts, uid) return slurm.SUCCESS end""")
    c.extra_conf += (f"\nJobSubmitPlugins=lua\nMailProg={c.dir}/mail\nPrologSlurmctld={c.dir}/prolog\nJobCompType=jobcomp/filetxt"
                     f"\nJobCompLoc={c.dir}/jobcomp.log")
    c.write_conf()
    c.restart_ctld()
    job = c.sbatch("--mail-type=BEGIN,END", "--comment=x\nSLURM_FAKE=1", wrap="true")
    c.wait_end(job)
    wait_until(lambda: "no mail is sent" in (c.dir / "log" / "slurmctld.log").read_text(), "the log says so")
    assert not Path(f"{record}.mail").exists()
    assert "SLURM_JOB_NAME=x SLURM_FAKE=1\n" in record.read_text()
    line = wait_until(lambda: (c.dir / "jobcomp.log").exists() and (c.dir / "jobcomp.log").read_text(), "its record")
    assert line.count("\n") == 1 and " Name=x SLURM_FAKE=1 " in line
    assert c.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%j").out == "x SLURM_FAKE=1\n"
