"""GET /penstock/v1/topology: which nodes are near each other."""

from restd import Restd

TREE = "SwitchName=rack1 Nodes=node[1-2]\nSwitchName=rack2 Nodes=node3\nSwitchName=spine Switches=rack[1-2]\n"
BLOCKS = "BlockName=b1 Nodes=node[1-2]\nBlockName=b2 Nodes=node[3-4]\nBlockSizes=2,4\n"


def units(answer):
    return {u["name"]: (u["node_list"], u["nodes"]) for u in answer["topology"]["units"]}


def ask(make_cluster, kind, text, nodes):
    c = make_cluster(start=False, nodes=nodes, conf=f"AuthAltTypes=auth/jwt\nTopologyPlugin=topology/{kind}")
    if text:
        (c.dir / "etc" / "topology.conf").write_text(text)
    c.start()
    with Restd(c) as rest:
        status, answer = rest.get("/penstock/v1/topology", user="bin")
        assert status == 200 and answer["errors"] == []
        status, refused = rest.get("/penstock/v1/topology?name=nosuch")
        assert status != 200 and refused["errors"] and "topology" not in refused
        assert rest.raw("GET", "/penstock/v1/topology")[0] == 401
        assert rest.get("/penstock/v1/topology?name=" + answer["topology"]["name"])[1]["topology"] == answer["topology"]
    return answer


def test_leaves_of_a_tree(make_cluster):
    answer = ask(make_cluster, "tree", TREE, 3)
    assert answer["topology"]["kind"] == "tree"
    assert units(answer) == {"rack1": ("node[1-2]", ["node1", "node2"]), "rack2": ("node3", ["node3"])}


def test_blocks_without_their_aggregates(make_cluster):
    answer = ask(make_cluster, "block", BLOCKS, 4)
    assert answer["topology"]["kind"] == "block"
    assert units(answer) == {"b1": ("node[1-2]", ["node1", "node2"]), "b2": ("node[3-4]", ["node3", "node4"])}


def test_flat(make_cluster):
    answer = ask(make_cluster, "flat", "", 1)
    assert answer["topology"]["kind"] == "flat" and answer["topology"]["units"] == []
