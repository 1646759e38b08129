#!/usr/bin/env python3
"""A licence server: server.py FILE SEATS [MOST]; it writes its address into FILE.

POST /seats {"id", "seats"} adds seats, once for each id, up to MOST; POST /take {"who"} and /give {"who"}.
"""

import json
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock


class Seats:
    def __init__(self, seats, most):
        self.seats, self.most = seats, most
        self.given, self.taken = set(), set()
        self.lock = Lock()

    def answer(self, path, what):
        """Return the status and what there is now."""
        with self.lock:
            done = {"/seats": self.add, "/take": self.take, "/give": self.give}[path](what)
            return (200 if done else 409), {"seats": self.seats}

    def add(self, what):
        if what["id"] not in self.given:
            if self.seats + what["seats"] > self.most:
                return False
            self.given.add(what["id"])
            self.seats += what["seats"]
        return True

    def take(self, what):
        if what["who"] not in self.taken and len(self.taken) >= self.seats:
            return False
        self.taken.add(what["who"])
        return True

    def give(self, what):
        self.taken.discard(what["who"])
        return True


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        what = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, now = SEATS.answer(self.path, what)
        body = json.dumps(now).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, text, *values):
        print(text % values, flush=True)


SEATS = Seats(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 30)
with ThreadingHTTPServer(("", 0), Handler) as server:
    Path(sys.argv[1]).write_text(f"{socket.gethostname()}:{server.server_port}")
    server.serve_forever()
