"""switch/hpe_slingshot: VNIs of steps and jobs, and services on made-up NICs below a folder that stands for the root."""
import os
import re
import subprocess

import pytest

from conftest import HERE, ROOT, wait_until

PROGRAMS = HERE / "programs"
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the node's services are root's")
LOOK = "echo $SLURM_PROCID vnis=$SLINGSHOT_VNIS devices=$SLINGSHOT_DEVICES ids=$SLINGSHOT_SVC_IDS tcs=$SLINGSHOT_TCS"


def make_machine(root, *flags):
    state = root / "state"
    for path in (root / "usr/lib", root / "sys/class/cxi/cxi0", root / "sys/class/cxi/cxi1", state):
        path.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}/src", f'-DSTATE="{state}"', *flags, "-o", root / "usr/lib/libcxi.so.1",
                    PROGRAMS / "fake_libcxi.c"], check=True)
    return state


@pytest.fixture
def slingshot(make_cluster, tmp_path):
    def make(params="vnis=1024-65535", nodes=2, flags=(), **more):
        state = make_machine(tmp_path, *flags)
        c = make_cluster(nodes=nodes, conf=f"SwitchType=switch/hpe_slingshot\nSwitchParameters={params}\n"
                                           f"SlurmdParameters=config_overrides,devices_root={tmp_path}", **more)
        c.nics = state
        return c
    return make


def services(c):
    """{(NIC, id): text}"""
    return {tuple(p.name.split(".")): p.read_text() for p in c.nics.glob("cxi*.*")}


def test_a_step_has_its_own(slingshot):
    c = slingshot()
    out = sorted(c.run("srun", "-N2", "-n2", "sh", "-c", LOOK).out.splitlines())
    # Both nodes share this test's made-up NICs, so the number of a service is that of whoever came last.
    assert [re.sub(r"ids=\d+,\d+", "ids=", line) for line in out] == [
        f"{rank} vnis=1024 devices=cxi0,cxi1 ids= tcs=0xa" for rank in (0, 1)]
    assert services(c) == {}  # they went with the step
    # Single nodes have none unless they ask.
    assert c.run("srun", "-N1", "sh", "-c", LOOK).out == "0 vnis= devices= ids= tcs=\n"
    assert "vnis=1025 " in c.run("srun", "-N1", "--network=single_node_vni", "sh", "-c", LOOK).out
    assert "vnis= " in c.run("srun", "-N2", "--network=no_vni", "sh", "-c", LOOK).out
    assert "tcs=0x4" in c.run("srun", "-N2", "--network=tcs=bulk_data", "sh", "-c", LOOK).out


def test_a_job_has_one_for_its_steps(slingshot):
    c = slingshot()
    job = c.sbatch("-N2", "--network=job_vni,single_node_vni", wrap=f"srun -n1 -N1 sh -c '{LOOK}'; srun -N2 -n2 sh -c '{LOOK}'")
    c.wait_end(job)
    seen = re.findall(r"^(\d) vnis=(\d+),(\d+) ", c.out(job), re.M)
    assert len(seen) == 3 and len({common for _, _, common in seen}) == 1
    assert len({own for _, own, _ in seen}) == 2
    assert not {own for _, own, _ in seen} & {common for _, _, common in seen}


def test_held_over_a_restart_and_given_back(slingshot):
    c = slingshot("vnis=2000-2001,job_vni=all")
    first = c.sbatch("-N2", "--overcommit", wrap="srun --overlap -N2 -n2 sh -c 'echo up $SLINGSHOT_VNIS; exec sleep 1000'")
    wait_until(lambda: c.out(first).count("up") == 2 if (c.work / f"slurm-{first}.out").exists() else False, "its step runs")
    assert set(re.findall(r"up (\S+)", c.out(first))) == {"2001,2000"}
    c.kill_ctld()
    c.start_ctld()
    # Nothing is left for another step, now or after the restart.
    text = c.refused("srun", f"--jobid={first}", "--overlap", "-N2", "-n2", "true")
    assert "Error configuring interconnect" in text and "All VNIs from 2000 to 2001" in text
    c.run("scancel", first)
    c.wait_end(first)
    wait_until(lambda: services(c) == {}, "the services have gone")
    assert re.findall(r"vnis=(\d+),(\d+)", c.run("srun", "-N2", "sh", "-c", LOOK).out)


def test_limits_of_a_service(slingshot):
    c = slingshot("vnis=1024-65535,single_node_vni,res_txqs=7,max_eqs=3,def_ptes=200,no_adjust_limits", nodes=1, cpus=2)
    (c.nics / "cxi0.2").write_text("enable 1 system 1 uid 0 share 1 vnis 1\n")

    def limits(*options):
        text = c.run("srun", *options, "-n1", "sh", "-c", f"cat {c.nics}/cxi0.5").out
        return re.search(r"enable 1 system 0 uid (\d+) share 1 vnis (\d+) tcs 01010 res (.*)", text).group(3).split()
    # In the order of libcxi: ptes txqs tgqs eqs cts les tles acs; each reserved/most.
    assert limits("-c2") == ["400/2048", "7/1024", "2/512", "3/3", "2/2047", "32/16384", "2/2", "4/1022"]
    # The system's services leave 250 of 400 portal table entries.
    assert limits("-c2", "--network=adjust_limits")[0] == "250/2048"
    assert limits("-c2", "--network=depth=1,max_les=10")[5] == "10/10"
    assert limits("-c2", "--network=max_eqs=2000")[3] == "3/3"  # the site's most stays


def test_more_tasks_than_resource_groups(slingshot):
    c = slingshot("vnis=1024-65535,single_node_vni", nodes=1, cpus=2)
    assert "shared by 2\n" in c.run("srun", "-O", "-n253", "sh", "-c", f"test $SLURM_PROCID != 0 || cat {c.nics}/cxi0.5").out
    assert "shared by" not in c.run("srun", "-O", "-n252", "sh", "-c", f"test $SLURM_PROCID != 0 || cat {c.nics}/cxi0.5").out


def test_an_old_library(slingshot):
    c = slingshot("vnis=1024-65535,single_node_vni", nodes=1, cpus=2, flags=["-DOLD"])
    assert "253 tasks on a node need a newer libcxi" in c.refused("srun", "-O", "-n253", "true")
    assert c.run("srun", "-O", "-n252", "true").out == ""


def test_what_is_busy_and_what_fails(slingshot):
    c = slingshot("vnis=1024-65535,single_node_vni,destroy_retries=2", nodes=1)
    (c.nics / "busy").write_text("2\n")
    c.run("srun", "true")
    assert services(c) == {} and (c.nics / "busy").read_text() == "0\n"
    # What a killed step daemon left goes when its VNI comes again.
    (c.nics / "cxi1.9").write_text("enable 1 system 0 uid 0 share 1 vnis 1025\n")
    c.run("srun", "true")
    assert services(c) == {}
    (c.nics / "full").touch()
    assert "Slingshot: cxi0: no service for VNI 1026: No space left on device" in c.refused("srun", "true")
    (c.nics / "full").unlink()
    (c.nics.parent / "usr/lib/libcxi.so.1").unlink()
    assert "Slingshot: switch/hpe_slingshot needs" in c.refused("srun", "true")


@pytest.mark.parametrize("network, says", [
    ("fast", '"fast" is not known to switch/hpe_slingshot'), ("tcs=gold", "gold is no traffic class"),
    ("def_txqs=many", "def_txqs=many: the number is not one of 0 to 65535"), ("job_vni", "job_vni is switched off here"),
    ("depth", "depth needs a number")], ids=["word", "class", "number", "none", "bare"])
def test_refused_words(slingshot, network, says):
    c = slingshot("vnis=1024-65535,job_vni=none")
    for command in (["sbatch", "--wrap", "true"], ["srun", "-N2", "true"]):
        assert says in c.refused(command[0], f"--network={network}", *command[1:])


def test_the_record_tells(slingshot):
    c = slingshot()
    job = c.sbatch("-N2", wrap="srun --network=job_vni -N2 sleep 1000")
    def step():
        text = c.run("scontrol", "show", "step", f"{job}.0", check=False).out
        return "StepId=" in text and text
    shown = wait_until(step, "its step runs")
    assert " Network=job_vni\n" in shown
    c.run("scancel", job)
