"""Topologies from files to answers: what show topology and topoconf print, memberships of nodes that change, what is refused.
The expected answers are recordings; no node runs here."""

import json
import subprocess

import pytest

from conftest import BUILD, Cluster, program, wait_until

TREE = """SwitchName=s0 Nodes=node[01-04]
SwitchName=s1 Nodes=node[05-08]
SwitchName=s2 Nodes=node[09-12]
SwitchName=s3 Nodes=node[13-16]
SwitchName=s4 Switches=s[0-1]
SwitchName=s5 Switches=s[2-3]
SwitchName=s6 Switches=s[4-5] LinkSpeed=100
"""
BLOCK = """BlockName=b1 Nodes=node[01-04]
BlockName=b2 Nodes=node[05-08]
BlockName=b3 Nodes=node[09-12]
BlockName=b4 Nodes=node[13-16]
BlockSizes=4,8
"""
SEVERAL = """- topology: T
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: leaf[1-4]
      - switch: leaf1
        nodes: node[01-04]
      - switch: leaf2
        nodes: node[05-08]
      - switch: leaf3
        nodes: node[09-12]
      - switch: leaf4
        nodes: node[13-16]
- topology: B
  block:
    block_sizes: [2, 4, 16]
    blocks:
""" + "".join(f"      - block: b{i}\n        nodes: node[{2 * i - 1:02}-{2 * i:02}]\n" for i in range(1, 9)) + """- topology: F
  flat: true
- topology: R
  ring:
    rings:
      - ring: r0
        nodes: node[01-08]
      - ring: r1
        nodes: node[09-16]
- topology: X
  torus3d:
    toruses:
      - name: pod1
        dims: {x: 4, y: 2, z: 2}
        nodes: node[01-16]
        placements:
          - dims: {x: 1, y: 1, z: 1}
          - dims: {x: 2, y: 1, z: 1}
          - dims: {x: 2, y: 2, z: 1}
          - dims: {x: 2, y: 2, z: 2}
          - dims: {x: 4, y: 2, z: 2}
"""
NONE = "slurm_load_topo error: Requested topology configuration is not available\n"
REFUSED = "slurm_update error: Requested topology configuration is not available\n"


class Controller(Cluster):
    """slurmctld with 16 nodes that never come."""

    def __init__(self, folder, files=(), **options):
        super().__init__(folder, nodes=1, **options)
        self.node_names = [f"node{i:02}" for i in range(1, 17)]
        self.node_ports = [self.node_ports[0]] * 16
        self.write_conf()
        for name, text in files:
            (self.conf.parent / name).write_text(text)

    def run(self, *argv, check=False, **options):
        return super().run(*argv, check=check, **options)


@pytest.fixture
def controller(tmp_path):
    made = []

    def make(*files, **options):
        c = Controller(tmp_path, files, **options)
        made.append(c)
        return c
    yield make
    for c in made:
        c.stop()


def show(c, *words):
    done = c.run("scontrol", "show", "topology", *words)
    assert done.rc == 0, done
    return done.out, done.err


def lines(*text):
    return "".join(f"{line}\n" for line in text)


def test_block(controller):
    c = controller(("topology.conf", BLOCK), conf="TopologyPlugin=topology/block")
    c.start_ctld()
    base = ["BlockName=b1 BlockIndex=0 Nodes=node[01-04] BlockSize=4", "BlockName=b2 BlockIndex=1 Nodes=node[05-08] BlockSize=4",
            "BlockName=b3 BlockIndex=2 Nodes=node[09-12] BlockSize=4", "BlockName=b4 BlockIndex=3 Nodes=node[13-16] BlockSize=4"]
    pairs = ["AggregatedBlock=b[1-2] BlockIndex=4 Nodes=node[01-08] BlockSize=8",
             "AggregatedBlock=b[3-4] BlockIndex=5 Nodes=node[09-16] BlockSize=8"]
    assert show(c) == (lines(*base, *pairs), "") == show(c, "default")
    assert show(c, "b2") == ("", NONE)
    for word in ("block=b2", "unit=b2", "switch=b2", "ring=b2"):
        assert show(c, word) == (lines(base[1]), "")
    assert show(c, "node=node03") == (lines(base[0], pairs[0]), "")
    assert show(c, "node=node[03-06]") == (lines(pairs[0]), "")
    assert show(c, "node=node99") == ("", "scontrol: error: Topology information contains no block with nodes node99\n")
    assert show(c, "block=zz") == ("", "scontrol: error: Topology information contains no block named zz\n")
    assert show(c, "switchname=b1") == ("", "Unknown argument switchname=b1\n")
    assert show(c, "default", "unit=b1") == (lines(base[0]), "")
    assert c.run("scontrol", "show", "topology", "unit=b1", env={"SLURM_TOPO_LEN": "12"}).out == "BlockName=b1\n"
    assert c.run("scontrol", "show", "topoconf").out == lines(
        "%YAML 1.1", "---", "- topology: default", "  cluster_default: false", "  block: {}", "  flat: {}", "  ring: {}",
        "  torus3d: {}", "  tree: {}", "...")
    # A reconfiguration takes the file over; a bad file changes nothing and is told.
    file = c.conf.parent / "topology.conf"
    file.write_text(BLOCK + "BlockName=b5\n")
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: "BlockName=b5 BlockIndex=4 BlockSize=4\n" in show(c)[0], "the gap is there")
    file.write_text(BLOCK + "BlockName=b1\n")
    bad = c.run("scontrol", "reconfigure")
    assert bad.rc == 1 and "topology.conf:6: block b1 is defined already in line 1" in bad.err
    assert "BlockName=b5" in show(c)[0]


def test_tree(controller):
    c = controller(("topology.conf", TREE), conf="TopologyPlugin=topology/tree")
    c.start_ctld()
    rows = ["SwitchName=s0 Level=0 LinkSpeed=1 Nodes=node[01-04]", "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=node[05-08]",
            "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=node[09-12]", "SwitchName=s3 Level=0 LinkSpeed=1 Nodes=node[13-16]",
            "SwitchName=s4 Level=1 LinkSpeed=1 Nodes=node[01-08] Switches=s[0-1]",
            "SwitchName=s5 Level=1 LinkSpeed=1 Nodes=node[09-16] Switches=s[2-3]",
            "SwitchName=s6 Level=2 LinkSpeed=100 Nodes=node[01-16] Switches=s[4-5]"]
    assert show(c) == (lines(*rows), "")
    assert show(c, "node=node03") == (lines(rows[0], rows[4], rows[6]), "")
    assert show(c, "block=s1") == (lines(rows[1]), "")
    assert show(c, "switch=zz") == ("", "scontrol: error: Topology information contains no switch named zz\n")
    assert show(c, "node=node99") == ("", "scontrol: error: Topology information contains no switch with nodes node99\n")
    # The whole path is shown, also of a leaf that is named alone.
    assert c.run("scontrol", "update", "nodename=node01", "topology=default:s3").rc == 0
    assert "   Topology=default:s6:s5:s3\n" in c.run("scontrol", "show", "node", "node01").out
    assert c.run("scontrol", "update", "nodename=node01", "topology=default:s6:s5:new1:new2").rc == 0
    assert "SwitchName=new2 Level=0 LinkSpeed=0 Nodes=node01\n" in show(c)[0]
    for text in ("default:s4", "default:zz:s0", "default:s0:below", "default:s6:s0", "default"):
        assert c.run("scontrol", "update", "nodename=node02", f"topology={text}").err == REFUSED, text


def fabric(*spines):
    """A model of a fabric: each spine has one leaf, and that four nodes."""
    return "".join(["switches:\n", f"  core: {{switches: [{', '.join(spines)}]}}\n",
                    *(f"  {spine}: {{switches: [leaf-{spine}]}}\n" for spine in spines), "blocks:\n",
                    *(f"- {{switch: leaf-{spine}, nodes: ['node[{4 * i + 1:02}-{4 * i + 4:02}]']}}\n" for i, spine in enumerate(spines))])


def test_tg_541_a_fabric_that_changes_inside_needs_no_file(controller, tmp_path):
    """The skeleton names the top switch alone: inner ones come and go with the nodes that name them, without a reconfigure."""
    model, skeleton = tmp_path / "model.yaml", tmp_path / "topology.yaml"

    def topograph(*args):
        env = {**c.env, "PATH": f"{BUILD}/src/cli:/usr/bin:/bin"} if args[0] == "--apply" else None
        done = subprocess.run([program("penstock"), "topograph", "generate", "-p", "model", "-i", model, *args], capture_output=True,
                              text=True, timeout=60, env=env)
        assert done.returncode == 0, done
    model.write_text(fabric("a", "b", "c", "d"))
    topograph("-y", "--skeleton", "-o", skeleton)
    text = skeleton.read_text()
    c = controller(("topology.yaml", text))
    c.start_ctld()
    topograph("--apply")
    assert "   Topology=default:core:b:leaf-b\n" in c.run("scontrol", "show", "node", "node05").out
    assert "SwitchName=a Level=1 LinkSpeed=0 Nodes=node[01-04] Switches=leaf-a\n" in show(c)[0]
    model.write_text(fabric("e", "b", "f", "d"))
    topograph("-y", "--skeleton", "-o", skeleton)
    assert skeleton.read_text() == text, "nothing to reconfigure"
    topograph("--apply")
    assert "   Topology=default:core:e:leaf-e\n" in c.run("scontrol", "show", "node", "node01").out
    assert "   Topology=default:core:f:leaf-f\n" in c.run("scontrol", "show", "node", "node12").out
    assert "SwitchName=core Level=2 LinkSpeed=0 Nodes=node[01-16] Switches=" in show(c)[0]


def test_several(controller):
    c = controller(("topology.yaml", SEVERAL), partition="Topology=B")
    c.start_ctld()
    rows = ["SwitchName=root Level=1 LinkSpeed=0 Nodes=node[01-16] Switches=leaf[1-4]",
            "SwitchName=leaf1 Level=0 LinkSpeed=0 Nodes=node[01-04]", "SwitchName=leaf2 Level=0 LinkSpeed=0 Nodes=node[05-08]",
            "SwitchName=leaf3 Level=0 LinkSpeed=0 Nodes=node[09-12]", "SwitchName=leaf4 Level=0 LinkSpeed=0 Nodes=node[13-16]"]
    assert show(c) == (lines(*rows), "") == show(c, "T")
    blocks = [f"BlockName=b{i + 1} BlockIndex={i} Nodes=node[{2 * i + 1:02}-{2 * i + 2:02}] BlockSize=2" for i in range(8)]
    groups = ["AggregatedBlock=b[1-2] BlockIndex=8 Nodes=node[01-04] BlockSize=4",
              "AggregatedBlock=b[3-4] BlockIndex=10 Nodes=node[05-08] BlockSize=4",
              "AggregatedBlock=b[5-6] BlockIndex=11 Nodes=node[09-12] BlockSize=4",
              "AggregatedBlock=b[7-8] BlockIndex=12 Nodes=node[13-16] BlockSize=4",
              "AggregatedBlock=b[1-8] BlockIndex=9 Nodes=node[01-16] BlockSize=16"]
    assert show(c, "B") == (lines(*blocks, *groups), "")
    assert show(c, "F") == ("", "") and show(c, "Z") == ("", NONE)
    assert show(c, "R") == (lines("RingName=r0 Nodes=node[01-08] RingSize=8", "RingName=r1 Nodes=node[09-16] RingSize=8"), "")
    torus = lines("TorusName=pod1 Dims=4x2x2 Nodes=node[01-16]", "  TorusName=pod1 PlacementDims=1x1x1(1) Anchors=16",
                  "  TorusName=pod1 PlacementDims=2x1x1(2) Anchors=8", "  TorusName=pod1 PlacementDims=2x2x1(4) Anchors=4",
                  "  TorusName=pod1 PlacementDims=2x2x2(8) Anchors=2", "  TorusName=pod1 PlacementDims=4x2x2(16) Anchors=1")
    assert show(c, "X") == show(c, "X", "node=node03") == show(c, "X", "unit=pod1") == (torus, "")
    assert show(c, "R", "node=node03") == (lines("RingName=r0 Nodes=node[01-08] RingSize=8"), "")
    first = c.run("scontrol", "show", "topoconf").out
    assert first.startswith("%YAML 1.1\n---\n- topology: T\n  cluster_default: true\n  block: {}\n  flat: {}\n  ring: {}\n"
                            "  torus3d: {}\n  tree:\n    switches:\n    - switch: root\n      children: leaf[1-4]\n      nodes:\n")
    assert "  flat: true\n" in first and first.endswith("          z: 2\n      regions: []\n  tree: {}\n...\n")
    # Partitions.
    def partition():
        return [w for w in c.run("scontrol", "show", "partition", "main").out.split() if w.startswith("Topology")]
    assert partition() == ["Topology=B"]
    wrong = c.run("scontrol", "update", "partitionname=main", "topology=nosuch")
    assert (wrong.rc, wrong.err) == (1, REFUSED) and partition() == ["Topology=B"]
    assert c.run("scontrol", "update", "partitionname=main", "topology=X").rc == 0 and partition() == ["Topology=X"]
    assert c.run("scontrol", "update", "partitionname=main", "topology=").rc == 0 and partition() == []
    # Nodes: recorded one after the other.
    def node(name="node16"):
        return [w for w in c.run("scontrol", "show", "node", name).out.split() if w.startswith("Topology")]

    def update(text, name="node16"):
        done = c.run("scontrol", "update", f"nodename={name}", f"topology={text}")
        return done.rc, done.err
    assert node() == [] and update("B:b1") == (0, "") and node() == ["Topology=B:b1"]
    moved = show(c, "B")[0].splitlines()
    assert moved[0] == "BlockName=b1 BlockIndex=0 Nodes=node[01-02,16] BlockSize=2"
    assert moved[7] == "BlockName=b8 BlockIndex=7 Nodes=node15 BlockSize=2"
    assert moved[8] == "AggregatedBlock=b[1-2] BlockIndex=8 Nodes=node[01-04,16] BlockSize=4"
    assert moved[-1] == groups[-1] and "node16" not in show(c, "R")[0]
    assert update("B:zz") == update("Z:b1") == update("B") == update("B:b1,B:b2") == update("F:x") == (1, REFUSED)
    assert node() == ["Topology=B:b1"]
    assert update("") == (0, "") and node() == []
    assert update("T:root:leaf9,B:b8") == (0, "") and node() == ["Topology=T:root:leaf9,B:b8"]
    assert show(c, "T")[0] == lines(
        "SwitchName=root Level=1 LinkSpeed=0 Nodes=node[01-16] Switches=leaf[1-4],leaf9", *rows[1:4],
        "SwitchName=leaf4 Level=0 LinkSpeed=0 Nodes=node[13-15]", "SwitchName=leaf9 Level=0 LinkSpeed=0 Nodes=node16")
    assert update("R:r0:3") == (0, "")
    assert show(c, "R")[0] == lines("RingName=r0 Nodes=node[01-03,16,04-08] RingSize=9", "RingName=r1 Nodes=node[09-15] RingSize=7")
    assert update("X:pod1:0:0:0") == update("X:pod1:4:0:0") == update("R:new:1") == (1, REFUSED)
    assert update("X:pod1:3:1:1") == (0, "") and node() == ["Topology=X:pod1:3:1:1"]
    assert json.loads(c.run("scontrol", "show", "node", "node16", "--json").out)["nodes"][0]["topology"] == "X:pod1:3:1:1"
    # A list of nodes goes as one: when the second cannot, the first does not.
    assert update("X:pod1:3:1:1", "node[15-16]") == (1, REFUSED) and node("node15") == []
    assert update("R:r9:0,X:pod1:3:0:0", "node15") == (1, REFUSED)
    assert update("R:r9:0", "node15") == (0, "") and "RingName=r9 Nodes=node15 RingSize=1\n" in show(c, "R")[0]
    # It survives the controller; what show topoconf printed reads back as the same.
    assert update("T:root:leaf1,B:b8,R:r0:7,X:pod1:3:1:1") == (0, "")
    before = {name: show(c, name) for name in "TBRX"}
    config = c.run("scontrol", "show", "topoconf").out
    c.kill_ctld()
    c.start_ctld()
    assert {name: show(c, name) for name in "TBRX"} == before and node() == ["Topology=T:root:leaf1,B:b8,R:r0:7,X:pod1:3:1:1"]
    c.kill_ctld()
    (c.conf.parent / "topology.yaml").write_text(config)
    c.start_ctld("-c")
    assert {name: show(c, name) for name in "TBRX"} == before and c.run("scontrol", "show", "topoconf").out == config
    assert node() == []  # the file says it now


def test_words_of_slurm_conf(controller):
    """Topology= of NodeName lines; a changed line wins over what was said since; mistakes refuse the start."""
    c = controller(("topology.conf", BLOCK), conf="TopologyPlugin=topology/block")
    plain = c.conf_text()
    c.write_conf(plain.replace("NodeName=node01 ", "NodeName=node01 Topology=default:b4 "))
    c.start_ctld()

    def node():
        return [w for w in c.run("scontrol", "show", "node", "node01").out.split() if w.startswith("Topology")]
    assert node() == ["Topology=default:b4"] and "Nodes=node[01,13-16]" in show(c)[0]
    assert c.run("scontrol", "update", "nodename=node01", "topology=default:b2").rc == 0
    assert c.run("scontrol", "reconfigure").rc == 0 and node() == ["Topology=default:b2"]
    c.write_conf(plain.replace("NodeName=node01 ", "NodeName=node01 Topology=default:b3 "))
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: node() == ["Topology=default:b3"], "the file's new word counts")
    c.write_conf(plain)
    assert c.run("scontrol", "reconfigure").rc == 0
    wait_until(lambda: node() == [] and "Nodes=node[01-04]" in show(c)[0], "topology.conf alone counts")
    c.write_conf(plain.replace("NodeName=node01 ", "NodeName=node01 Topology=default:zz "))
    bad = c.run("scontrol", "reconfigure")
    assert bad.rc == 1 and "Topology=default:zz of node node01: there is no block zz" in bad.err
    check = c.run("slurmctld", "--check", "-f", str(c.conf))
    assert check.rc == 1 and "there is no block zz" in check.out
    c.write_conf(plain + "PartitionName=p Nodes=ALL Topology=nosuch\n")
    check = c.run("slurmctld", "--check", "-f", str(c.conf))
    assert check.rc == 1 and "partition p: there is no topology nosuch" in check.out
    c.write_conf(plain)
    (c.conf.parent / "topology.conf").unlink()
    check = c.run("slurmctld", "--check", "-f", str(c.conf))
    assert check.rc == 1 and "topology.conf: error: the file is missing" in check.out


def test_map(controller):
    c = controller(("topology.yaml", SEVERAL))
    c.start_ctld()
    c.run("scontrol", "update", "nodename=node02", "state=down", "reason=x")
    out = c.run("scontrol", "show", "topology", "T", "--map").out.splitlines()
    assert out[0].startswith("topology T (tree)") and [line.split()[0] for line in out[1:]] == ["leaf1", "leaf2", "leaf3", "leaf4"]
    assert out[1].split() == ["leaf1", "?x??"] and all(len(line) <= 80 for line in out)
    assert [line.split()[0] for line in c.run("scontrol", "show", "topology", "B", "--map").out.splitlines()[1:]] == \
        [f"b{i}" for i in range(1, 9)]
