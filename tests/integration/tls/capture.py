"""Every byte that goes over the loopback between some ports while a test runs.

A raw packet socket, which root may have; no program is needed for it."""

import socket
import struct
import threading

ETH_P_ALL = 3
OUTGOING = 4  # on the loopback each packet is seen twice


class Capture:
    def __init__(self, ports):
        self.ports, self.bytes, self.by_port = set(ports), bytearray(), {}
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: none is lost
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.1)
        self.ending = False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while True:
            try:
                packet, address = self.socket.recvfrom(1 << 17)
            except TimeoutError:
                if self.ending:
                    return
                continue
            if address[2] != OUTGOING:
                self.take(packet[14:], packet[12:14])

    def take(self, packet, kind):
        if kind == b"\x08\x00" and packet[9] == socket.IPPROTO_TCP:
            tcp = packet[(packet[0] & 15) * 4:struct.unpack(">H", packet[2:4])[0]]
        elif kind == b"\x86\xdd" and packet[6] == socket.IPPROTO_TCP:
            tcp = packet[40:]
        else:
            return
        port = self.ports & set(struct.unpack(">HH", tcp[:4]))
        data = tcp[(tcp[12] >> 4) * 4:]
        for p in port:
            self.by_port[p] = self.by_port.get(p, 0) + len(data)
        if port:
            self.bytes += data

    def stop(self):
        self.ending = True
        self.thread.join()
        self.socket.close()
        return bytes(self.bytes)
