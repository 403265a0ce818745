#!/usr/bin/python3
"""A rank that speaks PMI by hand: pmi_client.py 1|2 ROUNDS.  Prints what the others have put.

Interface: the simple PMI of MPICH, versions 1 and 2, over the descriptor PMI_FD."""

import os
import socket
import sys

VERSION, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
RANK, SIZE = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
wire = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rwb", buffering=0)


def line(text):
    wire.write(text.encode() + b"\n")
    return dict(word.partition("=")[::2] for word in wire.readline().decode().split())


def frame(**fields):
    body = "".join(f"{k.replace('_', '-') if k != 'cmd' else k}={v.replace(';', ';;')};" for k, v in fields.items())
    wire.write(f"{len(body):6}{body}".encode())
    size = int(wire.read(6))
    data = b""
    while len(data) < size:
        data += wire.read(size - len(data))
    fields, at = {}, data.decode().replace(";;", "\0")
    for item in at.rstrip(";").split(";"):
        name, _, value = item.partition("=")
        fields[name] = value.replace("\0", ";")
    return fields


def put(key, value):
    if VERSION == 1:
        assert line(f"cmd=put kvsname={name} key={key} value={value}")["rc"] == "0"
    else:
        assert frame(cmd="kvs-put", key=key, value=value)["rc"] == "0"


def get(key):
    if VERSION == 1:
        answer = line(f"cmd=get kvsname={name} key={key}")
        return answer["value"] if answer["rc"] == "0" else None
    answer = frame(cmd="kvs-get", jobid="", srcid="-1", key=key)
    return answer["value"] if answer["found"] == "TRUE" else None


def fence():
    if VERSION == 1:
        assert line("cmd=barrier_in")["cmd"] == "barrier_out"
    else:
        answer = frame(cmd="kvs-fence", thrid="me")
        assert answer["rc"] == "0" and answer["thrid"] == "me"


hello = line(f"cmd=init pmi_version={VERSION} pmi_subversion=1")
assert hello["rc"] == "0" and hello["pmi_version"] == str(VERSION), hello
if VERSION == 1:
    assert line("cmd=get_maxes")["vallen_max"] == "1024"
    name = line("cmd=get_my_kvsname")["kvsname"]
    mapping = get("PMI_process_mapping")
else:
    full = frame(cmd="fullinit", pmijobid=os.environ["PMI_JOBID"], pmirank=str(RANK), threaded="FALSE")
    assert (full["rank"], full["size"]) == (str(RANK), str(SIZE)), full
    name = frame(cmd="job-getid")["jobid"]
    mapping = frame(cmd="info-getjobattr", key="PMI_process_mapping")["value"]
    if int(os.environ["SLURM_LOCALID"]) == 0:
        assert frame(cmd="info-putnodeattr", key="lead", value=f"{RANK};")["rc"] == "0"
    lead = frame(cmd="info-getnodeattr", key="lead", wait="TRUE")["value"]
    assert lead == os.environ["SLURM_GTIDS"].split(",")[0] + ";", lead
assert name == os.environ["PMI_JOBID"]
for turn in range(ROUNDS):
    put(f"r{turn}-{RANK}", f"from-{RANK}-{turn}" + ";" * (VERSION - 1))
    fence()
    for other in range(SIZE):
        assert get(f"r{turn}-{other}") == f"from-{other}-{turn}" + ";" * (VERSION - 1), (turn, other)
if VERSION == 1:
    assert line("cmd=finalize")["cmd"] == "finalize_ack"
else:
    assert frame(cmd="finalize")["rc"] == "0"
print(f"rank {RANK} of {SIZE} met {ROUNDS} times, {mapping}")
