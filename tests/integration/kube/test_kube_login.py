"""LoginSets: pods with sshd, SSSD and sackd, made by penstock-operator; host keys as OpenSSH reads them."""

import base64
import os
import subprocess

from conftest import wait_until

from manifests import documents
from operated import CLUSTER, op, rest  # noqa: F401  the cluster that the fixtures are given

TYPES = {"rsa": "4096", "ed25519": "256", "ecdsa": "256"}


def login(op, name="l", **spec):
    op.api.create("secrets", {"metadata": {"name": "sssd", "namespace": "default"},
                              "data": {"sssd.conf": base64.b64encode(b"[sssd]\n").decode()}})
    return op.make("loginsets", "LoginSet", name, **{"controllerRef": {"name": "c"}, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"},
                                                     **spec})


def made(op, plural, name):
    return wait_until(lambda: op.api.get(plural, name), f"{plural} {name} is made: {op.log()}", 60)


def test_host_keys_are_openssh_keys(op, tmp_path):
    login(op)
    secret = made(op, "secrets", "l-ssh-host-keys")
    assert secret["immutable"] is True and len(secret["data"]) == 6
    for kind, bits in TYPES.items():
        file = tmp_path / kind
        file.write_bytes(base64.b64decode(secret["data"][f"ssh_host_{kind}_key"]))
        file.chmod(0o600)
        public = subprocess.run(["ssh-keygen", "-y", "-P", "", "-f", file], check=True, capture_output=True, text=True).stdout.split()[:2]
        assert public == base64.b64decode(secret["data"][f"ssh_host_{kind}_key.pub"]).decode().split()
        shown = subprocess.run(["ssh-keygen", "-l", "-f", file], check=True, capture_output=True, text=True).stdout.split()
        assert (shown[0], shown[-1]) == (bits, f"({kind.upper()})")
        # What one signs the other believes: the secret numbers belong together.
        (tmp_path / "text").write_text("text")
        subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-f", file, "-n", "test", tmp_path / "text"], check=True)
        (tmp_path / "who").write_text("me " + " ".join(public) + "\n")
        with open(tmp_path / "text", encoding="utf-8") as text:
            subprocess.run(["ssh-keygen", "-Y", "verify", "-f", tmp_path / "who", "-I", "me", "-n", "test", "-s", tmp_path / "text.sig"],
                           check=True, stdin=text, capture_output=True)
        os.unlink(tmp_path / "text.sig")


def test_life_of_a_set(op):
    login(op, replicas=2, extraSshdConfig="PermitRootLogin no", rootSshAuthorizedKeys="ssh-ed25519 AAAA me")
    pods = made(op, "deployments", "l")
    annotations = pods["spec"]["template"]["metadata"]["annotations"]
    assert (pods["spec"]["replicas"], pods["metadata"]["generation"]) == (2, 1)  # its files were there before it
    assert all(len(annotations[f"slinky.slurm.net/{key}-hash"]) == 64 for key in ("ssh-host-keys", "sshd-conf", "sssd-conf", "slurm-key"))
    config = made(op, "configmaps", "l-ssh-config")["data"]
    assert config["sshd_config"].endswith("Subsystem sftp internal-sftp\nPermitRootLogin no\n")
    assert config["authorized_keys"] == "ssh-ed25519 AAAA me\n"
    assert made(op, "services", "l")["spec"]["ports"][0]["port"] == 22
    assert op.condition("Ready", "loginsets", "l")["reason"] == "PodsNotReady"
    op.api.patch("deployments", "l", {"status": {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "observedGeneration": 9}}, sub="status")
    wait_until(lambda: op.condition("Ready", "loginsets", "l")["status"] == "True", "it is ready")
    assert op.status("loginsets", "l")["replicas"] == 2
    assert op.status("loginsets", "l")["selector"] == "app.kubernetes.io/name=login,app.kubernetes.io/instance=l"
    keys = op.api.get("secrets", "l-ssh-host-keys")["data"]
    op.api.patch("loginsets", "l", {"spec": {"replicas": 3, "extraSshdConfig": "PermitRootLogin yes"}})
    wait_until(lambda: op.api.get("deployments", "l")["spec"]["replicas"] == 3, "it is scaled")
    now = op.api.get("deployments", "l")["spec"]["template"]["metadata"]["annotations"]
    assert {key for key in now if now[key] != annotations.get(key)} == {"slinky.slurm.net/sshd-conf-hash"}  # so pods are replaced
    op.kill()
    op.start()
    op.api.patch("loginsets", "l", {"spec": {"replicas": 1}})
    wait_until(lambda: op.api.get("deployments", "l")["spec"]["replicas"] == 1, "another operator goes on")
    assert op.api.get("secrets", "l-ssh-host-keys")["data"] == keys


def test_what_is_missing_is_said(op):
    def reason():
        return op.condition("Ready", "loginsets", "l").get("message")
    op.make("loginsets", "LoginSet", "l", controllerRef={"name": "no"}, sssdConfRef={"name": "sssd", "key": "sssd.conf"})
    wait_until(lambda: reason() == "spec.controllerRef: there is no such Controller", reason)
    op.api.patch("loginsets", "l", {"spec": {"controllerRef": {"name": "c"}}})
    wait_until(lambda: reason() == "spec.sssdConfRef: there is no such Secret and key", reason)
    made(op, "secrets", "l-ssh-host-keys")
    assert made(op, "services", "l") and not op.api.get("deployments", "l")
    op.api.create("secrets", {"metadata": {"name": "sssd", "namespace": "default"}, "data": {"sssd.conf": "YQ=="}})
    made(op, "deployments", "l")
    op.api.patch("loginsets", "l", {"spec": {"strategy": {"type": "Fast"}}})
    wait_until(lambda: op.condition("Degraded", "loginsets", "l").get("message", "").startswith("spec.strategy.type: 'Fast'"), "it is said")


def test_host_keys_of_the_user_are_kept(op):
    op.api.create("secrets", {"metadata": {"name": "l-ssh-host-keys", "namespace": "default"}, "data": {"ssh_host_rsa_key": "YQ=="}})
    login(op)
    wait_until(lambda: "has not every" in op.condition("Ready", "loginsets", "l").get("message", ""), "half a set is refused")
    mine = {f"ssh_host_{kind}_key{end}": "YQ==" for kind in TYPES for end in ("", ".pub")}
    op.api.patch("secrets", "l-ssh-host-keys", {"data": mine})
    made(op, "deployments", "l")
    assert op.api.get("secrets", "l-ssh-host-keys")["data"] == mine


def test_example(op):
    secret, login_set = documents("login.yaml")
    secret["data"] = {key: base64.b64encode(text.encode()).decode() for key, text in secret.pop("stringData").items()}
    login_set["spec"]["controllerRef"]["name"] = "c"
    for plural, one in (("secrets", secret), ("loginsets", login_set)):
        one["metadata"]["namespace"] = "default"
        op.api.create(plural, one)
    assert made(op, "deployments", "login")["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/login"
    assert made(op, "services", "login")["spec"]["type"] == "LoadBalancer"


def test_files_are_copied_for_sackd(op, tmp_path):
    """The script of the init container, in folders of this test."""
    login(op)
    script = made(op, "deployments", "l")["spec"]["template"]["spec"]["initContainers"][0]["command"][2]
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm" / "slurm.key").write_text("k")
    (tmp_path / "slurm" / "a b.conf").write_text("c")
    subprocess.run(["sh", "-c", script.replace("/mnt", str(tmp_path))], check=True)
    found = {p.name: (oct(p.stat().st_mode)[-3:], p.stat().st_uid) for p in (tmp_path / "etc" / "slurm").iterdir()}
    assert found == {"slurm.key": ("600", 401), "a b.conf": ("644", 401)}
