"""jobcomp/kafka against Apache Kafka itself: what arrives, and what is left of it when the broker, or the
controller, is killed."""

import json
import os

import pytest

from conftest import wait_until
from kafka_broker import Broker

pytestmark = pytest.mark.skipif(not os.environ.get("PENSTOCK_KAFKA"), reason="part of make test-kafka")


@pytest.fixture
def kafka(folder):
    started = []

    def start(settings=""):
        started.append(Broker(folder, settings))
        return started[-1]
    yield start
    for broker in started:
        broker.close()


def conf_of(folder, kafka, params, more=""):
    path = folder / "kafka.conf"
    path.write_text(f"bootstrap.servers={kafka.servers}\nmessage.timeout.ms=2000\nreconnect.backoff.max.ms=200\n{more}")
    return f"JobCompType=jobcomp/kafka\nJobCompLoc={path}\nJobCompParams={params}"


def logged(c, sentence):
    wait_until(lambda: sentence in (c.dir / "log" / "slurmctld.log").read_text(), f"the log says: {sentence}", 60)


def messages(kafka, topic, count):
    return [json.loads(text) for text in kafka.wait(topic, count, 60)]


def test_starts_and_ends(make_cluster, folder, kafka):
    broker = kafka()
    c = make_cluster(nodes=2, conf=conf_of(folder, broker, "enable_job_start,send_script,send_comment"))
    jobs = [c.sbatch("-n1", "--comment", f"c{i}", script=f"exit {i}") for i in range(5)]
    array = c.sbatch("-a", "0-1", wrap="true")
    ended = messages(broker, "test", 7)
    assert {(m["jobid"], m["state"], m["exit_code"], m["comment"]) for m in ended if m["jobid"] in jobs} == {
        (job, "FAILED" if i else "COMPLETED", f"{i}:0", f"c{i}") for i, job in enumerate(jobs)}
    assert {m["script"] for m in ended if m["jobid"] in jobs} == {f"#!/bin/bash\nexit {i}\n" for i in range(5)}
    assert sorted(m["array_task_id"] for m in ended if m.get("array_job_id") == array) == [0, 1]
    began = messages(broker, "test-job-start", 7)
    assert sorted(m["jobid"] for m in began) == sorted(m["jobid"] for m in ended)
    assert all(m["state"] is None and "@end" not in m and m["@start"] for m in began)


def test_named_topics(make_cluster, folder, kafka):
    broker = kafka()
    c = make_cluster(nodes=1, conf=conf_of(folder, broker, "topic=ends,enable_job_start,topic_job_start=starts"))
    job = c.sbatch(wrap="true")
    assert [m["jobid"] for m in messages(broker, "ends", 1) + messages(broker, "starts", 1)] == [job, job]


@pytest.mark.parametrize("settings", ["", "enable.idempotence=true\n"])
def test_killed(make_cluster, folder, kafka, settings):
    """Everybody is killed once: nothing is lost, and only what was under way may come twice."""
    broker = kafka("log.flush.interval.messages=1")
    c = make_cluster(nodes=2, conf=conf_of(folder, broker, "topic=ends", settings))
    before = [c.sbatch("-n1", wrap="true") for _ in range(20)]
    assert sorted(m["jobid"] for m in messages(broker, "ends", 20)) == before
    broker.kill()
    away = [c.sbatch("-n1", wrap="true") for _ in range(20)]
    for job in away:
        c.wait_end(job)
    logged(c, "did not reach Kafka")
    c.kill_ctld()
    c.start_ctld()
    away += [c.sbatch("-n1", wrap="true") for _ in range(5)]
    broker.start()
    logged(c, "Kafka takes records again")
    after = [c.sbatch("-n1", wrap="true") for _ in range(5)]

    def all_there(found):
        return {json.loads(text)["jobid"] for text in found} >= {*before, *away, *after}
    seen = [json.loads(text)["jobid"] for text in broker.wait_for("ends", all_there, 60)]
    assert set(seen) == {*before, *away, *after}, "nothing is lost"
    assert sorted(seen[:20]) == before and not set(before) & set(seen[20:]), "what had arrived comes once"
    assert not [job for job in after if seen.count(job) > 1], "and so does what nothing happened to"


def test_no_such_topic(make_cluster, folder, kafka):
    """A broker that makes no topics by itself: records wait until there is one."""
    broker = kafka("auto.create.topics.enable=false")
    c = make_cluster(nodes=1, conf=conf_of(folder, broker, "topic=late", "topic.metadata.propagation.max.ms=1000\n"))
    job = c.sbatch(wrap="true")
    logged(c, "did not reach Kafka")
    broker.stop()
    broker.set("auto.create.topics.enable=true")
    broker.start()
    assert [m["jobid"] for m in messages(broker, "late", 1)] == [job]


def test_too_large(make_cluster, folder, kafka):
    """A record that the broker refuses is dropped with a line in the log; the next one arrives."""
    broker = kafka("message.max.bytes=20000")
    c = make_cluster(nodes=1, conf=conf_of(folder, broker, "topic=ends,send_script"))
    large = c.sbatch(script="exit 0\n" + "# " + "x" * 30000)
    logged(c, f"Kafka refuses the record: Broker: Message size too large job={large}")
    small = c.sbatch(script="exit 0")
    assert [m["jobid"] for m in messages(broker, "ends", 1)] == [small]


def test_stopped_while_away(make_cluster, folder, kafka):
    """flush_timeout bounds how long the controller's end waits for a broker; what it did not deliver comes later."""
    broker = kafka()
    c = make_cluster(nodes=1, conf=conf_of(folder, broker, "topic=ends,flush_timeout=200"))
    broker.stop()
    jobs = [c.sbatch("-n1", wrap="true") for _ in range(3)]
    for job in jobs:
        c.wait_end(job)
    c.restart_ctld()
    broker.start()
    assert sorted({m["jobid"] for m in messages(broker, "ends", 3)}) == jobs
