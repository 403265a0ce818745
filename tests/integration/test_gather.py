"""What a node measures of itself: energy; from files of the kernel below a folder that stands for its root."""

import json
import re

from conftest import wait_until


def machine(c, files):
    """Files of the machine that the nodes of c are on."""
    for name, text in files.items():
        path = c.dir / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def rapl(joule):
    """The energy of each package."""
    return {f"sys/class/powercap/intel-rapl:{i}/{name}": text for i, j in enumerate(joule) for name, text in
            (("name", f"package-{i}"), ("energy_uj", int(j * 1e6)), ("max_energy_range_uj", 262143328850))}


def start(make_cluster, conf, files, **options):
    c = make_cluster(start=False, **{"nodes": 1, **options})
    c.write_conf(c.conf_text() + f"SlurmdParameters=devices_root={c.dir}/machine\n" + conf)
    machine(c, files)
    c.start()
    return c


def watts(c):
    return tuple(int(v) for v in re.search(r"CurrentWatts=(\d+) AveWatts=(\d+)", c.run("scontrol", "show", "node", "node1").out).groups())


def energy(c):
    return json.loads(c.run("scontrol", "show", "node", "node1", "--json").out)["nodes"][0]["energy"]


def test_node_energy(make_cluster):
    """AcctGatherNodeFreq: the node's power and energy; two packages, one of which goes round."""
    c = start(make_cluster, "AcctGatherEnergyType=acct_gather_energy/rapl\nAcctGatherNodeFreq=1\n", rapl((1000, 262000)))
    first = wait_until(lambda: (e := energy(c))["last_collected"] and e, "the node is looked at")
    assert (first["base_consumed_energy"], first["consumed_energy"], watts(c)) == (263000, 0, (0, 0))
    machine(c, rapl((5000, 100)))
    now = wait_until(lambda: (e := energy(c))["consumed_energy"] and e, "the use is seen", 60)
    assert now["consumed_energy"] == 4000 + 144 + 99 and now["previous_consumed_energy"] in (0, 4243)
    assert now["base_consumed_energy"] == 263000 and now["average_watts"] > 0
    assert now["current_watts"]["set"] and now["last_collected"] >= first["last_collected"]
    assert watts(c)[1] > 0
    c.run("scontrol", "update", "nodename=node1", "weight=7")  # a record that changes keeps what is volatile
    assert energy(c)["consumed_energy"] == 4243


def test_energy_unreadable(make_cluster):
    """A machine without counters: one sentence, and no figures; jobs run."""
    c = start(make_cluster, "AcctGatherEnergyType=acct_gather_energy/pm_counters\nAcctGatherNodeFreq=1\n", {"sys/x": ""})
    log = c.dir / "log/slurmd-node1.log"
    text = f"AcctGatherEnergyType=acct_gather_energy/pm_counters: no counter below {c.dir}/machine/sys/cray/pm_counters can be " \
           "read (No such file or directory): this node's energy is not known"
    c.wait_end(c.sbatch("-n1", wrap="true"))
    assert log.read_text().count(text) == 1
    assert watts(c) == (0, 0)
    machine(c, {"sys/cray/pm_counters/energy": "70 J 1 us"})
    c.run("scontrol", "reconfigure")
    wait_until(lambda: energy(c)["base_consumed_energy"] == 70, "it is looked at once it is there", 60)


def test_energy_type(make_cluster):
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text() + "AcctGatherEnergyType=acct_gather_energy/ipmi\n")
    done = c.run("slurmctld", "--check", check=False)
    assert done.rc == 1
    assert "AcctGatherEnergyType=acct_gather_energy/ipmi is not available: it is acct_gather_energy/rapl, " \
           "acct_gather_energy/pm_counters or acct_gather_energy/none" in done.out + done.err
