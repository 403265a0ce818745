"""deploy/images: the entry script is run, the bill of materials is made, and the Dockerfile names what the programs need.

No image is built here: `make images` does that, with packages of Debian's mirror."""

import gzip
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT, SANITIZED, program

IMAGES = ROOT / "deploy/images"
DAEMONS = ("slurmctld", "slurmdbd", "slurmrestd", "slurmd", "sackd", "sshd", "sssd", "ssh-keygen")
USERS = {"slurmctld": "401:401", "slurmd": "0:0", "slurmdbd": "401:401", "slurmrestd": "65534:65534", "sackd": "401:401", "login": "0:0",
         "penstock": "65532:65532"}
PROGRAMS = {"slurmctld": ["slurmctld", "scontrol"], "slurmdbd": ["slurmdbd", "sacctmgr", "penstock-fetch"],
            "slurmrestd": ["slurmrestd"], "sackd": ["sackd"],
            "slurmd": ["slurmd", "penstock-fetch", "slurmstepd", "srun", "scontrol", "sacctmgr", "penstock"],
            "login": ["sackd", "penstock-fetch", "srun", "sbatch", "penstock", "sacctmgr"],
            "penstock": ["penstock-operator", "penstock-webhook", "penstock-bridge", "penstock-kube"]}
BASE = {"libc6", "libgcc-s1", "zlib1g", "libpam0g", "libcrypt1", "libtinfo6"}  # Debian's base has them
HARDWARE = "NodeName=n CPUs=16 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000\nUpTime=1\n"


@pytest.fixture
def run(tmp_path):
    """Run the entry where every daemon only writes its arguments; lines of `NAME|ARGUMENT|...`."""
    stands = tmp_path / "bin"
    stands.mkdir()
    for name in DAEMONS:
        path = stands / name
        path.write_text('#!/bin/sh\n' + (f'[ "$1" != -C ] || {{ printf "{HARDWARE}"; exit; }}\n' if name == "slurmd" else "") +
                        f'printf "{name}"; [ $# -eq 0 ] || printf "|%s" "$@"; echo\n')
        path.chmod(0o755)
    (tmp_path / "etc/pam.d").mkdir(parents=True)

    def call(*argv, **env):
        done = subprocess.run(["/bin/sh", IMAGES / "entry", *argv], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                              env={"PATH": f"{stands}:/usr/bin:/bin", "ENTRY_ROOT": str(tmp_path), **env})
        call.status, call.error = done.returncode, done.stderr
        return done.stdout.splitlines()
    call.root = tmp_path
    return call


@pytest.mark.parametrize("argv,env,want", [
    (["slurmctld"], {}, "slurmctld|--systemd"),
    (["slurmctld", "-vv"], {"SLURMCTLD_OPTIONS": "-i -f '/a b/c'"}, "slurmctld|--systemd|-i|-f|/a b/c|-vv"),
    (["slurmdbd", "-v"], {}, "slurmdbd|-D|-v"),
    (["slurmrestd"], {}, "slurmrestd|0.0.0.0:6820"),
    (["slurmrestd", "-s", "openapi/slurmctld", "0.0.0.0:6820"], {}, "slurmrestd|-s|openapi/slurmctld|0.0.0.0:6820"),
    (["sackd"], {"SACKD_OPTIONS": "--conf-server c:6817"}, "sackd|--systemd|--conf-server|c:6817"),
    (["sackd"], {"SACKD_OPTIONS": "$(touch x) `y` ;z"}, "sackd|--systemd|$(touch|x)|`y`|;z"),
])
def test_daemons_get_their_words(run, argv, env, want):
    assert run(*argv, **env) == [want], run.error


@pytest.mark.parametrize("conf,env,want", [
    ("'Features=a,b Gres=gpu:8'", {}, "Features=a,b Gres=gpu:8"),
    ("'Features=a Topology=\"$SLINKY_TOPOLOGY\"'", {"SLINKY_TOPOLOGY": "t:s1,b:b2"}, "Features=a Topology=t:s1,b:b2"),
    ("'Topology=$SLINKY_TOPOLOGY Features=a'", {}, "Features=a"),
    ("'Features=a'", {"POD_CPUS": "4", "POD_MEMORY": "0"}, "Features=a CoreSpecCount=6"),
    ("'Topology=${SLINKY_TOPOLOGY}'", {"POD_CPUS": "4", "POD_MEMORY": "16000"}, "CoreSpecCount=6 MemSpecLimit=48000"),
    ("Features=a", {"POD_CPUS": "1"}, "Features=a CoreSpecCount=7"),
    ("Features=a", {"POD_CPUS": "16", "POD_MEMORY": "64000"}, "Features=a"),
    ("Features=a", {"POD_CPUS": "99", "POD_MEMORY": "99999"}, "Features=a"),
])
def test_a_worker_offers_its_share(run, conf, env, want):
    lines = run("slurmd", "-Z", "--conf-server", "c:6817", "--conf", conf, **env)
    assert lines[-1] == f"slurmd|--systemd|-Z|--conf-server|c:6817|--conf|{want}", run.error
    assert lines[:-1] == ["sshd"], "the keys of sshd are made, and it begins"


def test_a_worker_without_conf(run):
    assert run("slurmd", "-Z")[-1] == "slurmd|--systemd|-Z"
    assert run("slurmd", "-Z", POD_CPUS="4")[-1] == "slurmd|--systemd|-Z|--conf|CoreSpecCount=6"
    assert run("slurmd", SLURMD_OPTIONS="-Z --conf 'Features=a Gres=gpu:1'")[-1] == "slurmd|--systemd|-Z|--conf|Features=a Gres=gpu:1"


@pytest.mark.parametrize("argv,env,text", [
    ([], {}, "a program is wanted"),
    (["bash"], {}, "bash: slurmctld, slurmd"),
    (["slurmctld"], {"SLURMCTLD_OPTIONS": "'a"}, "quotes do not match"),
    (["slurmd"], {"POD_CPUS": "x"}, "POD_CPUS is no number: x"),
    (["slurmd", "--conf"], {}, "--conf: a value is wanted"),
    (["slurmd", "--conf", "Topology=$SLINKY_TOPOLOGY"], {"SLINKY_TOPOLOGY": "a b"}, "SLINKY_TOPOLOGY is no specification"),
    (["slurmd", "--conf", "Topology=$SLINKY_TOPOLOGY"], {"SLINKY_TOPOLOGY": "$SLINKY_TOPOLOGY"}, "is no specification"),
])
def test_what_is_wrong_is_said(run, argv, env, text):
    assert run(*argv, **env) == [] and run.status == 2 and text in run.error


def test_logins_of_workers_are_adopted_once(run):
    pam = run.root / "etc/pam.d/sshd"
    pam.write_text("auth required x\n@include common-account\nsession required y\n")
    for _ in range(2):
        run("slurmd")
        assert pam.read_text().splitlines() == [
            "auth required x", "account required pam_slurm_adopt.so action_adopt_failure=deny action_generic_failure=deny",
            "@include common-account", "session required y"]


def test_login(run):
    (run.root / "etc/sssd").mkdir()
    (run.root / "etc/sssd/sssd.conf").write_text("[sssd]\n")
    (run.root / "bin/ssh-keygen").write_text("#!/bin/sh\necho made >&2\n")
    assert run("login", SACKD_OPTIONS="--conf-server c:6817") == ["sackd|--conf-server|c:6817", "sssd|-D", "sshd|-D|-e"]
    assert run.error == "made\n", "without the Secret's keys sshd would end at once"
    (run.root / "etc/ssh").mkdir()
    (run.root / "etc/ssh/ssh_host_ed25519_key").write_text("of the Secret\n")
    run("login")
    assert run.error == "", "no key that only this replica has"


def test_a_worker_without_logins_is_one(run):
    """Port 22 may be taken by the host's sshd."""
    (run.root / "bin/sshd").write_text("#!/bin/sh\nexit 255\n")
    assert run("slurmd", "-Z") == ["slurmd|--systemd|-Z"] and "sshd does not start" in run.error and run.status == 0


def test_the_real_hardware_is_read(run):
    """As above, with slurmd -C of this build: a pod of one CPU leaves the others of the host."""
    stand = run.root / "bin/slurmd"
    stand.write_text(f'#!/bin/sh\n[ "$1" != -C ] || exec {program("slurmd")} -C\nprintf "slurmd"; printf "|%s" "$@"; echo\n')
    shown = subprocess.run([program("slurmd"), "-C"], capture_output=True, text=True, timeout=30).stdout.splitlines()[0]
    hardware = dict(word.split("=") for word in shown.split())
    cores = int(hardware["SocketsPerBoard"]) * int(hardware["CoresPerSocket"])
    want = f"|--conf|MemSpecLimit={int(hardware['RealMemory']) - 100}" if cores == 1 else \
        f"|--conf|CoreSpecCount={cores - 1} MemSpecLimit={int(hardware['RealMemory']) - 100}"
    assert run("slurmd", POD_CPUS="1", POD_MEMORY="100")[-1] == "slurmd|--systemd" + want


# ---- the Dockerfile


def stages():
    """Name to (the stage it stands on, its instructions), with lines that go on joined."""
    text = re.sub(r"\\\n\s*", " ", (IMAGES / "Dockerfile").read_text())
    found, name = {}, None
    for line in text.splitlines():
        if match := re.match(r"FROM (\S+) AS (\S+)$", line):
            base, name = match.groups()
            found[name] = (base, [])
        elif name and line and not line.startswith("#"):
            found[name][1].append(line)
    return found


def packages(name):
    base, lines = stages()[name]
    own = {word for line in lines if "apt-get install" in line
           for word in line.split("--no-install-recommends", 1)[1].split("&&")[0].split()}
    return own | (packages(base) if base in stages() else set())


@pytest.mark.parametrize("name", USERS)
def test_each_image(name):
    base, lines = stages()[name]
    assert base == "common"
    assert [line for line in lines if line.startswith("USER")] == [f"USER {USERS[name]}"]
    entry = json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).split(" ", 1)[1])
    assert entry == (["tini", "--"] if name == "penstock" else ["tini", "--", "entry", name])
    assert any(line.startswith(f"RUN sbom {name} ") for line in lines)


def test_nothing_is_fetched_or_left():
    for name, (_, lines) in stages().items():
        for line in lines:
            assert not re.search(r"^ADD |https?://|:latest|curl |wget ", line), (name, line)
            if "apt-get install" in line:
                assert "--no-install-recommends" in line and "rm -rf /var/lib/apt/lists/*" in line, (name, line)
                assert name == "build" or "/var/cache/ldconfig/aux-cache" in line, "it has the times of files: two builds would differ"
    assert os.access(IMAGES / "entry", os.X_OK) and os.access(IMAGES / "sbom", os.X_OK)


def test_what_is_copied_is_installed():
    plan = json.loads(subprocess.run(["meson", "introspect", "--installed", BUILD], capture_output=True, text=True, check=True).stdout)
    names = {"/".join(path.split("/")[-2:]) for path in plan.values()}
    for name, (_, lines) in stages().items():
        for source in re.findall(r"/dest/usr/(\S+)", " ".join(line for line in lines if line.startswith("COPY --from=build"))):
            assert source == "bin/" or "/".join(source.split("/")[-2:]) in names, (name, source)


def copied(name):
    lines = " ".join(line for line in stages()[name][1] if line.startswith("COPY --from=build"))
    return {source for source in lines.split() if "/" in source}


def test_a_worker_has_what_steps_start():
    """A program of steps that is missing shows when a user asks for it: srun --mpi=pmix."""
    plan = json.loads(subprocess.run(["meson", "introspect", "--installed", BUILD], capture_output=True, text=True, check=True).stdout)
    names = {os.path.basename(path) for path in plan.values() if "/sbin/slurmstepd" in path}
    assert names and {f"/dest/usr/sbin/{name}" for name in names} <= copied("slurmd")
    assert {"/dest/usr/bin/", "/dest/usr/sbin/penstock-fetch"} <= copied("slurmd") & copied("login") and "/dest/usr/bin/" in copied("slurmctld")


def test_programs_raise_nobody_where_nobody_logs_in():
    for name in USERS:
        stripped = any("-perm /6000 -exec chmod a-s" in line for line in stages()[name][1])
        assert stripped == (name not in ("slurmd", "login")), name


def test_only_what_is_needed_goes_to_a_builder():
    """.dockerignore lets in what the Dockerfile copies, and nothing else: no build folder, no .git."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    wanted = {word for _, lines in stages().values() for line in lines if line.startswith("COPY ") and "--from=" not in line
              for word in line.split()[1:-1] if not word.startswith("--")}
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines() and let_in == wanted and all((ROOT / path).exists() for path in wanted)


def test_versions_and_names_agree():
    """One version in meson.build, bills and charts; manifests and values name images that the Dockerfile makes."""
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    said = set(re.findall(r"RUN sbom \S+ (\S+)", (IMAGES / "Dockerfile").read_text()))
    charts = [line.split(":")[1].strip() for path in ROOT.glob("deploy/charts/*/Chart.yaml") for line in path.read_text().splitlines()
              if line.startswith("appVersion:")]
    assert said == {version} == set(charts) and len(charts) == 3
    named = {}
    for path in [*ROOT.glob("deploy/kubernetes/*.yaml"), *ROOT.glob("deploy/charts/*/values.yaml")]:
        for name in re.findall(r"registry\.example/([a-z0-9-]+)", path.read_text()):
            named.setdefault(name, path.name)
    assert set(named) - {"etcd"} <= set(USERS) and {"slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login", "penstock"} <= set(named)


@pytest.mark.skipif(not shutil.which("dpkg-query") or "VERSION_ID=\"12\"" not in open("/etc/os-release").read(),
                    reason="the packages are those of Debian 12")
@pytest.mark.parametrize("name", PROGRAMS)
def test_libraries_are_in_the_image(name):
    """Each library that a program names is in a package of the image, or comes with Debian's base."""
    have, missing = packages(name), []
    for one in PROGRAMS[name]:
        dump = subprocess.run(["objdump", "-p", program(one)], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"NEEDED\s+(\S+)", dump):
            found = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True).stdout
            owners = {line.split(":")[0] for line in found.splitlines()}
            if owners and not owners & (have | BASE) and not (SANITIZED and re.match(r"lib(asan|ubsan|tsan)\.", library)):
                missing.append((one, library, owners))
    assert not missing


# ---- deploy/images/make


@pytest.fixture(scope="module")
def maker():
    loader = importlib.machinery.SourceFileLoader("makeimages", str(IMAGES / "make"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("makeimages", loader))
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = keep
    return module


def test_the_script_reads_the_dockerfile(maker):
    found = maker.read_stages()
    assert set(found) == set(USERS)
    for name, stage in found.items():
        assert set(stage.packages) == packages(name) and stage.config["User"] == USERS[name]
        assert stage.config["Entrypoint"][:2] == ["tini", "--"]
    assert found["slurmd"].config["ExposedPorts"] == {"6818/tcp": {}, "22/tcp": {}}
    assert found["penstock"].config["Cmd"] == ["penstock-operator"]


def test_every_package_is_pinned(maker):
    pins = maker.read_pins()
    assert all(packages(name) <= set(pins) for name in USERS) and "libc6" in pins
    maker.check_pins({"libc6": pins["libc6"]})
    with pytest.raises(maker.Problem, match="libc6 is 1, and deploy/images/packages has"):
        maker.check_pins({"libc6": "1"})
    with pytest.raises(maker.Problem, match="has none"):
        maker.check_pins({"left-pad": "1"})


def test_a_layout_of_images(maker, tmp_path):
    """The same tar is the same image; one made anew takes the other's place, and its blobs go."""
    oci, tar = tmp_path / "oci", tmp_path / "x.tar"

    def make(name, text):
        tar.write_bytes(text)
        entry = maker.write_image(oci, name, maker.read_stages()[name], tar)
        maker.write_index(oci, entry)
        return entry
    first = make("slurmctld", b"one")
    assert make("slurmctld", b"one") == first and make("slurmd", b"one")["digest"] != first["digest"]
    second = make("slurmctld", b"two")
    index = json.loads((oci / "index.json").read_text())["manifests"]
    assert [e["annotations"]["org.opencontainers.image.ref.name"] for e in index] == ["slurmctld", "slurmd"] and second in index
    blobs = {p.name for p in (oci / "blobs/sha256").iterdir()}
    manifest = json.loads((oci / "blobs/sha256" / second["digest"][7:]).read_text())
    layer = (oci / "blobs/sha256" / manifest["layers"][0]["digest"][7:]).read_bytes()
    assert gzip.decompress(layer) == b"two" and len(blobs) == 6 and first["digest"][7:] not in blobs
    config = json.loads((oci / "blobs/sha256" / manifest["config"]["digest"][7:]).read_text())
    assert config["config"]["User"] == "401:401" and config["created"] == "1970-01-01T00:00:00Z"


def test_a_builder_that_is_missing_is_said(tmp_path):
    def run(**env):
        return subprocess.run([IMAGES / "build", tmp_path], capture_output=True, text=True, timeout=60, env={"PATH": "/nowhere", **env})
    done = run()
    assert done.returncode == 0 and done.stdout.endswith("0 passed, 0 failed, 7 skipped\n"), done.stderr
    assert "there is no builder: buildah is not installed; podman is not installed; docker is not installed" in done.stdout
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2; exit 1\n")
    (tmp_path / "docker").chmod(0o755)
    assert "builder: docker: Cannot connect to the daemon\n" in run(BUILDER="docker", PATH=f"{tmp_path}:/bin").stdout


def test_a_builder_gets_its_words(tmp_path):
    """A builder is asked for each image by the name of its stage, with one time for all files; docker knows no such word."""
    stand = '#!/bin/sh\necho "${0##*/} $*" >> ' + str(tmp_path / "said") + \
        '\ncase "$*" in *inspect*) echo "[{\\"RootFS\\": {\\"Layers\\": [\\"sha256:00\\"]}}]";; esac\n'
    for name in ("podman", "docker"):
        (tmp_path / name).write_text(stand)
        (tmp_path / name).chmod(0o755)
        done = subprocess.run([IMAGES / "build", tmp_path, "sackd"], capture_output=True, text=True, timeout=60,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin", "BUILDER": name, "PREFIX": "r.example/x", "BASE": "b@sha256:1"})
        assert done.returncode == 0 and done.stdout.startswith("ok sackd: r.example/x/sackd:0.1.0, 1 layers"), done.stdout + done.stderr
    podman, docker = [line for line in (tmp_path / "said").read_text().splitlines() if " build " in line]
    for words in (podman, docker):
        assert "--target sackd" in words and "-t r.example/x/sackd:0.1.0 -t r.example/x/sackd:latest" in words
        assert "BASE=b@sha256:1" in words
        assert words.endswith(f" {ROOT}") and "--build-arg SOURCE_DATE_EPOCH=0" in words
    assert "--timestamp 0" in podman and "--timestamp" not in docker


def test_what_is_missing_is_said(tmp_path):
    def run(*argv):
        return subprocess.run([IMAGES / "make", tmp_path, *argv], capture_output=True, text=True, timeout=60, env={"PATH": "/nowhere"})
    done = run()
    assert done.returncode == 0 and done.stdout.startswith("images: skipped: ")
    assert done.stdout.endswith("0 passed, 0 failed, 7 skipped\n")
    assert run("slurmctld").stdout.endswith("1 skipped\n")
    done = run("slurm")
    assert done.returncode == 2 and "slurm: the images are login, penstock, sackd" in done.stderr


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(f"images_{name}", str(IMAGES / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_programs_look_where_the_operator_puts_files():
    """Volumes of pods are at /etc/slurm: the Dockerfile says it, and meson obeys."""
    assert re.search(r"meson setup .* --sysconfdir=/etc/slurm ", (IMAGES / "Dockerfile").read_text())
    assert "get_option('prefix') / get_option('sysconfdir')" in (ROOT / "meson.build").read_text()


@pytest.mark.skipif(not shutil.which("dpkg"), reason="there are no packages of Debian")
def test_what_is_loaded_is_in_the_image(tmp_path):
    """The check finds libraries that programs load by their names, and packages and programs that are none."""
    check = load_script("check")
    assert check.why_no_lists() or check.find_strangers(["tini", "no-such-package-1", "-x"]) == ["-x", "no-such-package-1"]
    stage = check.make.read_stages()["slurmctld"]
    assert check.find_missing(stage, tmp_path) == check.copied(stage) != []
    found = dict(check.loaded_libraries(pathlib.Path(program("slurmctld"))))
    assert found.get("libsodium.so.23") == {"libsodium23"} and "libsodium23" in stage.packages


def test_what_cannot_be_checked_is_said(tmp_path):
    done = subprocess.run([IMAGES / "check", tmp_path], capture_output=True, text=True, timeout=60, env={"PATH": "/nowhere"})
    assert done.returncode == 0 and done.stdout.endswith("0 passed, 0 failed, 30 skipped\n"), done.stdout + done.stderr
    assert done.stdout.count("skipped ") == 30 and "skipped PID 1 of slurmctld: apt-cache and dpkg are needed" in done.stdout


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="there are no packages of Debian")
def test_bill_of_materials():
    def make():
        done = subprocess.run([IMAGES / "sbom", "slurmd", "0.1.0"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
        assert done.returncode == 0, done.stderr
        return done.stdout
    text = make()
    bill = json.loads(text)
    ids = [p["SPDXID"] for p in bill["packages"]]
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["creationInfo"]["created"] == "1970-01-02T00:00:00Z" and len(ids) == len(set(ids))
    assert any(p["name"] == "libc6" and p["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/debian/libc6@") for p in bill["packages"])
    assert {r["relatedSpdxElement"] for r in bill["relationships"]} == set(ids)
    assert make() == text, "the same packages are the same bytes"
    assert subprocess.run([IMAGES / "sbom"], capture_output=True, timeout=20).returncode == 2
