"""Words of scontrol that change a reservation, and which of them counts when two say the same (reservations.md 2)."""

import pytest

CLUSTER = {"nodes": 4, "cpus": 4, "conf": "Licenses=lic:5\nAccountingStorageTRES=license/lic"}


@pytest.fixture
def resv(c):
    """make(words) makes the reservation r, change(words) changes it; both give its record, or why not."""
    def ask(*words):
        done = c.run("scontrol", *words, check=False)
        if done.rc:
            return done.err.strip()
        return dict(word.split("=", 1) for word in c.run("scontrol", "-o", "show", "reservation", "r").out.split())
    yield (lambda *words: ask("create", "reservation=r", "starttime=now", "duration=60", "users=root", *words),
           lambda *words: ask("update", "reservation=r", *words))
    c.run("scontrol", "delete", "reservation=r", check=False)


def test_tres_counts_before_other_words(resv):
    make, change = resv
    made = make("nodecnt=1", "corecnt=4", "licenses=lic:1", "tres=cpu=2,license/lic=3")
    assert (made["NodeCnt"], made["CoreCnt"], made["Licenses"], made["TRES"]) == ("1", "2", "lic:3", "cpu=2,license/lic=3")
    # cores of a reservation of cores stay, by whichever word
    for word in ("corecnt=3", "tres=cpu=3"):
        assert change(word) == "slurm_update error: Core-based reservation can not be updated"
    assert change("comment=x")["CoreCnt"] == "2"


def test_cores_of_a_reservation_of_nodes(resv):
    make, change = resv
    assert make("nodecnt=2")["CoreCnt"] == "8"
    made = change("tres=cpu=2")
    assert (made["NodeCnt"], made["CoreCnt"]) == ("2", "2")


def test_nodes_come_and_go_by_one_word(resv):
    make, change = resv
    make("nodes=node[1-2]")
    assert change("nodes=+node[3-4],-node2")["Nodes"] == "node[1,3-4]"
    assert change("nodes=-node1,node3,+node2")["Nodes"] == "node[2,4]"  # without a sign: as the word before
    assert change("nodes=-node[2,4],+node1")["Nodes"] == "node1"
    assert change("nodes=+node2")["Nodes"] == "node[1-2]" and change("nodes=-node1")["Nodes"] == "node2"
    for words in ("nodes=+node3,-nosuch", "nodes=-node2", "nodes=+node9,-node2", "nodes=+node[3,-node2"):
        assert "Invalid node name specified" in change(words), words
    assert change("comment=x")["Nodes"] == "node2"


@pytest.mark.parametrize("text, shown", [("5", "00:05:00"), ("1:30", "00:01:30"), ("0:10", "00:00:10"), ("1-0", "1-00:00:00"),
                                         ("0", "(null)")])
def test_the_longest_delay_to_the_second(resv, text, shown):
    make, change = resv
    make("nodecnt=1")
    assert change(f"maxstartdelay={text}")["MaxStartDelay"] == shown
