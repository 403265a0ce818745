"""BcastAddr of a node: sbcast and srun --bcast go there, steps to NodeAddr."""

import contextlib
import socket
import threading

SOURCE = b"what is sent\n" * 1000


class Passage:
    """What connects to host:port goes on to the same port of 127.0.0.1; `seen` counts connections."""

    def __init__(self, host, port):
        self.port, self.seen, self.open = port, 0, []
        self.listener = socket.create_server((host, port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                self.seen += 1
                self.open += [near, far]
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        for s in (self.listener, *self.open):
            s.close()


def test_broadcasts_go_there(make_cluster):
    c = make_cluster(start=False, nodes=2, conf="CommunicationParameters=NoInAddrAny\n")
    c.write_conf(c.conf_text().replace("NodeName=node2 ", "NodeName=node2 BcastAddr=127.0.0.7 "))
    c.start()
    source = c.work / "source"
    source.write_bytes(SOURCE)
    job = c.sbatch("-N2", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    assert c.run("srun", f"--jobid={job}", "--overlap", "-N2", "true").rc == 0  # at NodeAddr
    done = c.run("sbcast", "-f", "-j", job, source, c.work / "first", check=False)
    assert done.rc == 1 and "node2" in done.err and "node1" not in done.err
    passage = Passage("127.0.0.7", c.node_ports[1])
    try:
        c.run("sbcast", "-f", "-j", job, source, c.work / "second")
        assert passage.seen == 1 and (c.work / "second").read_bytes() == SOURCE
        c.run("srun", f"--jobid={job}", "--overlap", "-N2", "true")
        assert passage.seen == 1
        c.run("srun", f"--jobid={job}", "--overlap", "-N1", "-w", "node2", f"--bcast={c.work}/third", "/bin/true")
        assert passage.seen == 2
    finally:
        passage.close()
