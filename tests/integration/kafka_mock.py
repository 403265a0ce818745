"""A reader of Kafka's topics, and a Kafka of librdkafka's own whose broker goes down and comes back."""

import ctypes
import time

PRODUCER, CONSUMER = 0, 1
OFFSET_BEGINNING = -2


class Message(ctypes.Structure):
    _fields_ = [("err", ctypes.c_int), ("rkt", ctypes.c_void_p), ("partition", ctypes.c_int32),
                ("payload", ctypes.c_void_p), ("len", ctypes.c_size_t), ("key", ctypes.c_void_p),
                ("key_len", ctypes.c_size_t), ("offset", ctypes.c_int64), ("private", ctypes.c_void_p)]


class Reader:
    """Reads topics of one partition from their beginning."""

    def __init__(self, servers=None):
        lib = self.lib = ctypes.CDLL("librdkafka.so.1")
        for name in ("conf_new", "new", "mock_cluster_new", "topic_new", "consume"):
            getattr(lib, f"rd_kafka_{name}").restype = ctypes.c_void_p
        lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        lib.rd_kafka_consume.restype = ctypes.POINTER(Message)
        self.consumers, self.servers = [], servers

    def client(self, kind, **settings):
        conf, why = ctypes.c_void_p(self.lib.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
        for key, value in settings.items():
            assert self.lib.rd_kafka_conf_set(conf, key.replace("_", ".").encode(), value.encode(), why, 512) == 0
        return ctypes.c_void_p(self.lib.rd_kafka_new(kind, conf, why, 512))

    def read(self, topic):
        """A generator: the next message of the topic as text, or None when there is none now."""
        client = self.client(CONSUMER, bootstrap_servers=self.servers)
        handle = ctypes.c_void_p(self.lib.rd_kafka_topic_new(client, topic.encode(), None))
        assert self.lib.rd_kafka_consume_start(handle, 0, ctypes.c_int64(OFFSET_BEGINNING)) == 0
        self.consumers.append((client, handle))
        while True:
            got = self.lib.rd_kafka_consume(handle, 0, 100)
            text = None
            if got:
                if got.contents.err == 0:
                    text = ctypes.string_at(got.contents.payload, got.contents.len).decode()
                self.lib.rd_kafka_message_destroy(got)
            yield text

    def wait(self, topic, count, timeout=30):
        """The first `count` messages."""
        return self.wait_for(topic, lambda found: len(found) >= count, timeout)

    def wait_for(self, topic, enough, timeout=30):
        """The messages until enough(messages) is true, or time is up."""
        found, deadline = [], time.monotonic() + timeout
        for text in self.read(topic):
            found += [text] if text is not None else []
            if enough(found) or time.monotonic() > deadline:
                return found
        return found

    def close(self):
        for client, handle in self.consumers:
            self.lib.rd_kafka_consume_stop(handle, 0)
            self.lib.rd_kafka_topic_destroy(handle)
            self.lib.rd_kafka_destroy(client)
        self.consumers = []


class Kafka(Reader):
    def __init__(self):
        super().__init__()
        self.owner = self.client(PRODUCER)
        self.cluster = ctypes.c_void_p(self.lib.rd_kafka_mock_cluster_new(self.owner, 1))
        self.servers = self.lib.rd_kafka_mock_cluster_bootstraps(self.cluster).decode()

    def create(self, topic):
        self.lib.rd_kafka_mock_topic_create(self.cluster, topic.encode(), 1, 1)

    def down(self):
        self.lib.rd_kafka_mock_broker_set_down(self.cluster, 1)

    def up(self):
        self.lib.rd_kafka_mock_broker_set_up(self.cluster, 1)

    def close(self):
        super().close()
        self.lib.rd_kafka_mock_cluster_destroy(self.cluster)
        self.lib.rd_kafka_destroy(self.owner)
