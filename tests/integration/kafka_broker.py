"""Apache Kafka itself for tests: one broker without ZooKeeper on loopback, in a folder of the test's own.

Its jars come from the Maven repository once a build folder (tests/kafka/pom.xml); without mvn, Java or the
repository the tests that ask for it are skipped, and say why."""

import ctypes
import shutil
import signal
import subprocess

import pytest

from conftest import BUILD, ROOT, SLOW, free_ports, wait_until
from kafka_mock import PRODUCER, Reader

FETCH_LIMIT_S = 900
CLUSTER_ID = "cGVuc3RvY2sta2Fma2EtMQ"  # 16 bytes, as Kafka writes them


def jars():
    """The folder with Kafka's jars."""
    for name in ("java", "mvn"):
        if not shutil.which(name):
            pytest.skip(f"Apache Kafka needs {name}, which is not installed (packages maven, default-jre-headless)")
    home = BUILD / "kafka"
    home.mkdir(exist_ok=True)
    pom, done, log = ROOT / "tests" / "kafka" / "pom.xml", home / "fetched.xml", home / "mvn.log"
    if done.exists() and done.read_bytes() == pom.read_bytes():
        return home / "jars"
    shutil.rmtree(home / "jars", ignore_errors=True)
    with open(log, "wb") as out:
        rc = subprocess.run(["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime",
                             f"-DoutputDirectory={home}/jars"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                            timeout=FETCH_LIMIT_S).returncode
    if rc:
        pytest.skip(f"Apache Kafka could not be fetched with mvn; {log} says why")
    shutil.copy(pom, done)
    return home / "jars"


class Broker(Reader):
    def __init__(self, folder, settings=""):
        self.jars, self.dir, self.process = jars(), folder / "kafka", None
        self.dir.mkdir()
        port, own = free_ports(2)
        super().__init__(f"127.0.0.1:{port}")
        self.conf, self.log = self.dir / "server.properties", self.dir / "log"
        self.base = "\n".join([
            "process.roles=broker,controller", "node.id=1", f"controller.quorum.voters=1@127.0.0.1:{own}",
            f"listeners=PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{own}",
            f"advertised.listeners=PLAINTEXT://{self.servers}", "controller.listener.names=CONTROLLER",
            f"log.dirs={self.dir}/data", "num.partitions=1", "offsets.topic.replication.factor=1"])
        self.set(settings)
        done = subprocess.run(self.java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self.conf)),
                              capture_output=True, text=True, timeout=120 * SLOW)
        assert done.returncode == 0, done.stdout + done.stderr
        self.start()

    def set(self, settings):
        """Lines of server.properties more, from the next start on."""
        self.conf.write_text(f"{self.base}\n{settings}\n")

    def java(self, *words):
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={self.dir}", "-cp",
                f"{self.jars}/*", *words]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.java("kafka.Kafka", str(self.conf)), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, cwd="/")
        wait_until(self.answers, "Kafka answers", 120)
        return self

    def answers(self):
        """It tells of itself, not only listens."""
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        client, answer = self.client(PRODUCER, bootstrap_servers=self.servers), ctypes.c_void_p()
        told = self.lib.rd_kafka_metadata(client, 1, None, ctypes.byref(answer), 1000) == 0
        if told:
            self.lib.rd_kafka_metadata_destroy(answer)
        self.lib.rd_kafka_destroy(client)
        return told

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self):
        """As its administrator would."""
        self.process.terminate()
        self.process.wait(60 * SLOW)
        self.process = None

    def close(self):
        super().close()
        if self.process:
            self.kill()
