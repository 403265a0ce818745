"""The images of deploy/images/Dockerfile as containers of podman: what is in them, and a cluster out of them.

`make test-images` builds the images and runs this; PREFIX and VERSION name others.  Mounts, users and arguments are those that
penstock-operator gives to pods (src/kube/make), and the database stands outside, as the operator wants it."""

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "integration")]
from accounting import MariaDB  # noqa: E402
from box import Host, image_of, wait_until  # noqa: E402

USERS = {"slurmctld": "401:401", "slurmd": "0:0", "slurmdbd": "401:401", "slurmrestd": "65534:65534", "sackd": "401:401", "login": "0:0",
         "penstock": "65532:65532"}
WITH_USERS = ("slurmd", "login")  # people log in there
# What is started with more rights than its user has, of Debian's own packages, where people log in.
RAISED = {"chage", "chfn", "chsh", "expiry", "gpasswd", "mount", "newgrp", "passwd", "ssh-agent", "ssh-keysign", "su", "umount", "unix_chkpwd",
          "ldap_child", "krb5_child", "proxy_child", "selinux_child", "sssd_pam", "p11_child"}
# The least that each daemon needs of a pod of its own: as the operator's pods have it.
LEAST = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
SLURM_CONF = """ClusterName=images
SlurmUser=slurm
SlurmctldHost=ctl
SlurmctldPort=6817
StateSaveLocation=/var/spool/slurmctld/images
SlurmdUser=root
SlurmdPort=6818
SlurmdSpoolDir=/var/spool/slurmd
MaxNodeCount=1024
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldParameters=enable_configless,reconfig_on_restart
PrologFlags=Contain
ProctrackType=proctrack/pgid
TaskPlugin=task/none
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
AuthInfo=use_client_ids
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=dbd
AccountingStoragePort=6819
NodeSet=workers Feature=workers
PartitionName=p Nodes=ALL Default=YES
"""
LOGFILE = 'rm -f "$SOCKET"; mkfifo -m 666 "$SOCKET"; exec 3<>"$SOCKET"; exec cat <&3'  # mkbase_logfile()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = Host(tmp_path_factory.mktemp("images"))
    if host.why:
        pytest.skip(host.why)
    yield host
    host.close()


def inside(host, name, script):
    """What root sees in an image that has not begun."""
    return host.podman("run", "--rm", "--pull=never", "--network=none", "--user=0", "--entrypoint=sh", *host.limits, image_of(name),
                       "-c", script).stdout


# ---- what is in them


@pytest.mark.parametrize("name", USERS)
def test_config(host, name):
    found = json.loads(host.podman("image", "inspect", image_of(name)).stdout)[0]
    assert found["Config"]["User"] == USERS[name]
    assert not [env for env in found["Config"]["Env"] if not env.startswith("PATH=")], "builds leave nothing in a program's environment"


@pytest.mark.parametrize("name", USERS)
def test_nothing_is_left_of_the_build(host, name):
    left = inside(host, name, "find / -xdev '(' -path '/var/lib/apt/lists/*' -o -path '/var/cache/apt/*' -o -name '*.deb' -o -name '*-old' -o "
                  "-path '/var/log/*' -o -name 'ssh_host_*' -o -name '.ash_history' -o -name '.bash_history' -o -path '/src*' -o -path '/tmp/*' ')' "
                  "-type f -size +0; find /etc/machine-id /var/lib/dbus/machine-id -size +0 2> /dev/null; ls /usr/bin/gcc /usr/bin/curl 2> /dev/null; true")
    left = [path for path in left.splitlines() if path not in ("/var/log/lastlog", "/var/log/faillog")]
    assert not left


@pytest.mark.parametrize("name", USERS)
def test_rights(host, name):
    raised = {os.path.basename(path) for path in inside(host, name, "find / -xdev -type f -perm /6000").splitlines()}
    assert raised <= (RAISED if name in WITH_USERS else set())
    assert ("su" in raised) == (name in WITH_USERS)
    open_to_all = set(inside(host, name, "find / -xdev ! -type l -perm -0002 ! '(' -type d -perm -1000 ')'").splitlines())
    assert not {path for path in open_to_all if not re.match("/(proc|sys|dev)(/|$)", path)}
    capable = inside(host, name, "command -v getcap > /dev/null && getcap -r / 2> /dev/null; true").split()
    assert not capable
    keys = inside(host, name, "grep -rlE 'BEGIN [A-Z ]*PRIVATE KEY' /etc /root /home /opt /srv /var 2> /dev/null; true").split()
    assert not keys


@pytest.mark.parametrize("name", USERS)
def test_the_bill_is_what_is_there(host, name):
    have = set(inside(host, name, "dpkg-query -W -f '${Package} ${Version} ${Architecture} ${db:Status-Abbrev}\\n'").splitlines())
    have = {line.rsplit(" ", 1)[0].replace(" ii", "").strip() for line in have if line.strip().endswith("ii")}
    bill = json.loads(inside(host, name, "cat /usr/share/sbom.spdx.json"))
    rows = [p for p in bill["packages"] if "externalRefs" in p]
    said = {f"{p['name']} {p['versionInfo']} {p['externalRefs'][0]['referenceLocator'].rsplit('arch=', 1)[1]}" for p in rows}
    assert said == have and len(rows) == len(have) > 50
    assert bill["packages"][0]["name"] == name


@pytest.mark.parametrize("name", USERS)
def test_every_library_is_there(host, name):
    lacking = inside(host, name, "for f in /usr/bin/* /usr/sbin/* /usr/lib/security/*.so /usr/lib/*.so*; do [ -f $f ] && ldd $f 2> /dev/null | "
                     "sed -n \"s|not found|not found for $f|p\"; done; true")
    assert not lacking


# ---- a cluster


class Cluster:
    """slurmctld, slurmdbd, two workers, slurmrestd, a login node and sackd, each in a box."""

    def __init__(self, host, folder, database):
        self.host, self.dir, self.db = host, folder, database
        host.open_network()
        names = ("ctl", "dbd", "rest", "login", "sack", "w-0", "w-1")
        self.ip = {name: f"{host.base}.{20 + i}" for i, name in enumerate(names)}
        self.ip["db"] = host.gateway
        self.boxes = {}

    def files(self, name, owner, mode, **texts):
        """A projected volume: files of root that the pod's group may read."""
        folder = self.dir / name
        folder.mkdir(mode=0o755)
        for file, text in texts.items():
            path = folder / file.replace("_", ".", 1)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            os.chown(path, 0, owner)
            path.chmod(mode)
        return folder

    def empty(self, name, group, mode=0o2777):
        folder = self.dir / name
        folder.mkdir()
        os.chown(folder, 0, group)
        folder.chmod(mode)
        return folder

    def start(self, name, image, *args, options=(), command=None):
        hosts = [f"--add-host={other}:{ip}" for other, ip in self.ip.items()]
        box = self.host.start(name, image, *args, command=command,
                              options=[f"--network={self.host.net}", f"--ip={self.ip[name]}", *hosts, *options]
                              if name in self.ip else ["--network=none", *options])
        self.boxes[name] = box
        return box

    def logfile(self, name, image, folder, file, user):
        """The container that writes a daemon's log to its standard output."""
        box = self.start(f"{name}-log", image, "-c", LOGFILE, command=["sh"],
                         options=[*LEAST, f"--user={user}", f"--volume={folder}:/var/log/slurm", f"--env=SOCKET=/var/log/slurm/{file}"])
        wait_until(lambda: (folder / file).is_fifo(), f"the log of {name} is read")
        return box

    def up(self):
        self.keys = {"slurm_key": secrets.token_bytes(1024), "jwt_key": secrets.token_bytes(1024)}
        self.conf = self.files("ctl-etc", 401, 0o650, slurm_conf=SLURM_CONF, **self.keys)
        self.up_dbd()
        self.up_ctl()
        self.up_workers()
        self.up_rest()
        self.up_login()
        return self

    def up_dbd(self):
        conf = (f"DbdHost=dbd\nDbdPort=6819\nSlurmUser=slurm\nAuthType=auth/slurm\nAuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt.key\n"
                f"AuthInfo=use_client_ids\nStorageType=accounting_storage/mysql\nStorageHost=db\nStoragePort={self.db.port}\nStorageUser=slurm\n"
                "StorageLoc=slurm_acct_db\nStoragePass=\"p w#d\"\nLogFile=/dev/null\n".replace("#", "\\#"))
        etc = self.files("dbd-etc", 401, 0o640, slurmdbd_conf=conf, **self.keys)
        self.start("dbd", "slurmdbd", options=[*LEAST, "--user=401:401", f"--volume={etc}:/etc/slurm:ro",
                                               f"--volume={self.empty('dbd-run', 401)}:/run"])

    def up_ctl(self):
        log, run = self.empty("ctl-log", 401), self.empty("ctl-auth", 401)
        self.ctl_log = self.logfile("ctl", "slurmctld", log, "slurmctld.log", "401:401")
        self.start("ctl", "slurmctld", options=[
            *LEAST, "--user=401:401", f"--volume={self.conf}:/etc/slurm:ro", f"--volume={self.empty('ctl-run', 401)}:/run",
            f"--volume={run}:/run/slurmctld", f"--volume={self.empty('ctl-state', 401)}:/var/spool/slurmctld/images", f"--volume={log}:/var/log/slurm"])

    def up_workers(self):
        for i, name in enumerate(("w-0", "w-1")):
            log = self.empty(f"{name}-log-dir", 0)
            self.logfile(name, "slurmd", log, "slurmd.log", "0:0")
            etc = self.files(f"{name}-etc", 0, 0o600, slurm_key=self.keys["slurm_key"])
            self.start(name, "slurmd", "-Z", "--conf-server", "ctl:6817", "--conf", "'Features=workers Topology=\"$SLINKY_TOPOLOGY\"'",
                       options=["--privileged", f"--env=POD_CPUS={i}", "--env=POD_MEMORY=200", f"--volume={etc}:/etc/slurm:ro",
                                f"--volume={log}:/var/log/slurm"])

    def up_rest(self):
        etc = self.files("rest-etc", 65534, 0o640, slurm_conf=SLURM_CONF, slurm_key=self.keys["slurm_key"])
        self.start("rest", "slurmrestd", "0.0.0.0:6820", options=[
            *LEAST, "--user=65534:65534", "--env=SLURM_JWT=daemon", "--env=SLURMRESTD_SECURITY=disable_unshare_files,disable_unshare_sysv",
            f"--volume={etc}:/etc/slurm:ro"])

    def up_login(self):
        for name, image, user in (("login", "login", "0:0"), ("sack", "sackd", "401:401")):
            etc, run = self.empty(f"{name}-etc", 401), self.empty(f"{name}-run", 401)
            (etc / "slurm.key").write_bytes(self.keys["slurm_key"])
            os.chown(etc / "slurm.key", 401, 401)
            (etc / "slurm.key").chmod(0o600)
            more = LEAST if name == "sack" else []
            self.start(name, image, options=[*more, f"--user={user}", "--env=SACKD_OPTIONS=--conf-server ctl:6817", f"--volume={etc}:/etc/slurm",
                                             f"--volume={run}:/run/slurm"])

    def login(self, *argv, user="65534:65534", **kw):
        return self.boxes["login"].exec(*argv, options=[f"--user={user}"], **kw)

    def tell(self):
        """Every log, for a test that fails."""
        return "\n".join(f"---- {name}\n{box.logs()[-3000:]}" for name, box in self.boxes.items())


class Database(MariaDB):
    def open(self, address):
        """A port on the network of the boxes, beside the socket."""
        self.port = 20000 + os.getpid() % 10000
        self.start("--skip-skip-networking", "--skip-name-resolve", f"--bind-address={address}", f"--port={self.port}")
        self.sql("CREATE DATABASE slurm_acct_db; CREATE USER slurm@'%' IDENTIFIED BY 'p w#d'; GRANT ALL ON slurm_acct_db.* TO slurm@'%'", "mysql")
        return self


@pytest.fixture(scope="module")
def cluster(host, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    folder.chmod(0o755)
    for above in folder.parents:
        if above != Path("/tmp") and str(above).startswith("/tmp/"):
            above.chmod(0o755)
    database = Database(folder / "db")
    cluster = Cluster(host, folder, database)
    try:
        database.open(host.gateway)
        cluster.up()
        wait_until(lambda: cluster.login("sinfo", "-hN", "-o", "%N %t", check=False).stdout.count(" idle") == 2, "two workers are idle", 60)
    except AssertionError as e:
        database.stop()
        raise AssertionError(f"{e}\n{cluster.tell()}") from None
    yield cluster
    database.stop()


def test_jobs_run(cluster):
    done = cluster.login("srun", "-N2", "-n2", "hostname")
    assert sorted(done.stdout.split()) == ["w-0", "w-1"], done.stderr
    assert cluster.login("srun", "-n1", "id", "-u", user="12345:12345", check=False).stdout.strip() in ("", "12345")


def test_jobs_are_in_the_accounts(cluster):
    wait_until(lambda: "COMPLETED" in cluster.login("sacct", "-nPa", "-o", "State", check=False).stdout, "slurmdbd knows an ended job", 60)
    assert cluster.db.sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='slurm_acct_db'", "mysql") != [["0"]]


def test_a_share_of_the_host_is_offered(cluster):
    """w-1 has one CPU of the pod, and 200 MiB."""
    shown = cluster.login("scontrol", "show", "node", "w-1").stdout
    real = int(re.search(r"RealMemory=(\d+)", shown).group(1))
    assert int(re.search(r"MemSpecLimit=(\d+)", shown).group(1)) == real - 200
    assert os.cpu_count() == 1 or re.search(r"CoreSpecCount=\d+", shown)
    assert "Features" in shown and "INVAL" not in shown


def test_rest_answers(cluster):
    token = cluster.boxes["ctl"].exec("scontrol", "token", "username=root", "lifespan=600").stdout.strip().removeprefix("SLURM_JWT=")
    url = "http://rest:6820/slurm/v0.0.44/nodes"
    script = (f"exec 3<>/dev/tcp/rest/6820; printf 'GET {url[16:]} HTTP/1.0\\r\\nX-SLURM-USER-TOKEN: {token}\\r\\n\\r\\n' >&3; cat <&3")
    text = cluster.boxes["login"].exec("bash", "-c", script).stdout
    assert " 200 " in text.splitlines()[0] and '"w-0"' in text and '"w-1"' in text


def test_sackd_serves(cluster):
    assert cluster.boxes["sack"].exec("test", "-S", "/run/slurm/sack.socket").returncode == 0
    assert cluster.boxes["login"].exec("test", "-S", "/run/slurm/sack.socket").returncode == 0


def test_a_login_by_ssh_listens(cluster):
    text = cluster.boxes["sack"].exec("bash", "-c", "exec 3<>/dev/tcp/login/22; head -c 4 <&3").stdout
    assert text == "SSH-"
    text = cluster.boxes["sack"].exec("bash", "-c", "exec 3<>/dev/tcp/w-0/22; head -c 4 <&3").stdout
    assert text == "SSH-"


@pytest.fixture(scope="module")
def person(cluster):
    """A user of the login node and of the workers, who may go from one to the other by ssh."""
    for name in ("login", "w-0", "w-1"):
        cluster.boxes[name].exec("useradd", "-u", "5001", "-m", "-s", "/bin/bash", "ada")
    cluster.login("sh", "-c", "mkdir -m 700 ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519", user="ada")
    key = cluster.login("cat", "/home/ada/.ssh/id_ed25519.pub", user="ada").stdout.strip()
    for name in ("w-0", "w-1"):
        cluster.boxes[name].exec("sh", "-c", f"mkdir -m 700 ~/.ssh && echo '{key}' > ~/.ssh/authorized_keys", options=["--user=ada"])

    def ssh(node, *words):
        return cluster.login("ssh", "-oBatchMode=yes", "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", node, *words, user="ada",
                             check=False)
    return ssh


def test_a_worker_lets_in_who_has_a_job_there(cluster, person):
    """pam_slurm_adopt of the image, in the stack of its sshd."""
    refused = person("w-0", "true")
    assert refused.returncode == 255 and "denied" in refused.stderr.lower(), refused
    job = cluster.login("sbatch", "--parsable", "-w", "w-0", "-o", "/dev/null", "--wrap=sleep 300", user="ada").stdout.strip()
    wait_until(lambda: cluster.login("squeue", "-hj", job, "-o", "%t", check=False).stdout.strip() == "R", "the job runs", 60)
    done = person("w-0", "echo $SLURM_JOB_ID; id -un")
    assert done.returncode == 0 and "ada" in done.stdout.split(), f"{done}\n{cluster.boxes['w-0'].logs()[-2000:]}"
    assert person("w-1", "true").returncode == 255
    cluster.login("scancel", job, user="ada")


@pytest.mark.parametrize("name,daemon", [("ctl", "slurmctld"), ("dbd", "slurmdbd"), ("rest", "slurmrestd"), ("sack", "sackd"), ("w-0", "slurmd"),
                                         ("login", "sshd")])
def test_one_child_of_the_first_process(cluster, name, daemon):
    """PID 1 reaps; nothing supervises: no shell is left between."""
    found = cluster.boxes[name].processes()
    assert found[1] == "tini" and daemon in found.values()
    assert "entry" not in found.values()
    assert cluster.boxes[name].logs().strip() or name in ("ctl", "w-0"), "a daemon says what it does"


def test_hup_reads_the_configuration_again(cluster):
    """The daemon keeps its PID."""
    box = cluster.boxes["ctl"]
    before = [pid for pid, comm in box.processes().items() if comm == "slurmctld"]
    conf = cluster.conf / "slurm.conf"
    conf.write_text(conf.read_text() + "PartitionName=q Nodes=ALL\n")
    cluster.host.podman("kill", "--signal=HUP", box.id)
    wait_until(lambda: "q" in cluster.login("sinfo", "-ho", "%R", check=False).stdout.split(), "the new partition is there", 30)
    assert before and before == [pid for pid, comm in box.processes().items() if comm == "slurmctld"]
    assert sorted(cluster.login("srun", "-pq", "-N2", "-n2", "hostname").stdout.split()) == ["w-0", "w-1"]


def test_the_log_is_the_side_container_s(cluster):
    assert "slurmctld" in cluster.ctl_log.logs()
    assert re.search("images|slurmctld", cluster.boxes["w-0-log"].logs())


def test_a_worker_says_that_it_goes(cluster):
    """What the operator has the kubelet do before the end."""
    cluster.boxes["w-1"].exec("sh", "-c", "scontrol update nodename=$(hostname) state=down reason='pod ended'")
    assert "down" in cluster.login("sinfo", "-hNn", "w-1", "-o", "%t").stdout


@pytest.mark.parametrize("name", ["login", "sack", "rest", "w-0", "ctl", "dbd"])
def test_they_end_when_they_are_told_to(cluster, name):
    """The last tests of this file: each box ends, quickly and well."""
    assert cluster.boxes[name].stop() == 0, cluster.boxes[name].logs()[-2000:]


# ---- beside Kubernetes


@pytest.mark.parametrize("program", ["penstock-operator", "penstock-webhook", "penstock-bridge", "penstock-kube"])
def test_programs_of_kubernetes(host, program):
    done = host.podman("run", "--rm", "--pull=never", "--network=none", *LEAST, *host.limits, f"--entrypoint={program}",
                       image_of("penstock"), "-V", check=False)
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout), done.stderr


def test_no_server(host):
    """Without an API server a program says so, and ends with a status."""
    done = subprocess.run(["podman", *host.words, "run", "--rm", "--pull=never", "--network=none", *LEAST, *host.limits, image_of("penstock")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode not in (0, 125, 126, 127) and "KUBERNETES" in done.stderr.upper() + done.stdout.upper(), done
