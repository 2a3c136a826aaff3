"""A stand-in for dynolog's daemon: the trigger on TCP, and the socket on which PyTorch asks it, as both are published."""

from __future__ import annotations

import json
import socket
import struct
import threading

_LENGTH = struct.Struct("=i")
_HEADER = struct.Struct("=Q32s")  # size and kind of what follows


class Daemon:
    """Answers the trigger, and where `folder` is given, hands the configuration to the PyTorch processes that ask there."""

    def __init__(self, pids=(), folder=None, answer=None):
        self.requests = []
        self.known = list(pids)
        self._pending = {}
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()
        if folder is not None:
            self._fabric = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._fabric.bind(f"{folder}/dynolog\0")
            threading.Thread(target=self._serve_programs, daemon=True).start()

    def close(self):
        self._server.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                (size,) = _LENGTH.unpack(connection.recv(_LENGTH.size, socket.MSG_WAITALL))
                self.requests.append(json.loads(connection.recv(size, socket.MSG_WAITALL)))
                answer = (
                    self._answer if self._answer is not None else json.dumps(self._trigger(self.requests[-1])).encode()
                )
                connection.sendall(_LENGTH.pack(len(answer)) + answer)

    def _trigger(self, request):
        matched = [pid for pid in self.known if not request["pids"] or pid in request["pids"]]
        self._pending |= dict.fromkeys(matched, request["config"])
        return {
            "processesMatched": matched,
            "eventProfilersTriggered": [],
            "activityProfilersTriggered": matched,
            "eventProfilersBusy": 0,
            "activityProfilersBusy": 0,
        }

    def _serve_programs(self):
        while True:
            message, sender = self._fabric.recvfrom(1 << 16)
            kind = _HEADER.unpack_from(message)[1].rstrip(b"\0").split(b"\0")[0]
            body = message[_HEADER.size :]
            if kind == b"ctxt":  # gpu, pid, job
                self._reply(sender, kind, struct.pack("=i", 1))
            else:  # type, number of pids, job, pids from the program's own on
                count = struct.unpack_from("=ii", body)[1]
                (pid, *_) = struct.unpack_from(f"={count}i", body, len(body) - 4 * count)
                if pid not in self.known:
                    self.known.append(pid)
                self._reply(sender, kind, self._pending.pop(pid, "").encode())

    def _reply(self, sender, kind, body):
        self._fabric.sendto(_HEADER.pack(len(body), kind) + body, sender)
