"""A proxy in front of moto's server, with the rules and the faults of a real cloud."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import threading
import time
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree

from moto.server import ThreadedMotoServer

from tests.equipment.strictcloud.guests import Guests

_XML = "text/xml;charset=UTF-8"
_OF_S3 = ("BadDigest", "AccessDenied")
_IGNORED = ("Action", "Version")


class Reply(NamedTuple):
    """An HTTP reply; None for a body means that the connection is closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes | None


class StrictCloud:
    """A context manager: moto's server behind a proxy that adds what moto leaves out.

    A client token starts one instance, and is refused with other parameters. There is room for ``capacity``
    instances and ``spot_capacity`` spot ones. Guests run their user data and may shut down, which ends
    or only stops the instance as RunInstances said. Checksums of S3 are compared.

    ``lose``: how many replies are not sent after the call was done, by action (``RunInstances``, ``PUT``).
    ``refuse``: the error code that an action gets. ``delay``: seconds before each reply. ``hidden``:
    seconds for which a new instance is not shown. ``spoil``: how many bodies of PUT are damaged on their
    way; ``rot``: where they are stored. ``quotas``: of the account, by their codes.
    """

    def __init__(self, directory: Path) -> None:
        self.lose: Counter[str] = Counter()
        self.refuse: dict[str, str] = {}
        self.forgive()
        self.calls: Counter[str] = Counter()
        self._tokens: dict[str, tuple[dict[str, str], Reply]] = {}
        self._behaviour: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._born: dict[str, float] = {}
        self._spot: set[str] = set()
        self._lock = threading.RLock()
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._guests = Guests(directory, self.endpoint)

    def __enter__(self) -> StrictCloud:
        self._moto.start()
        self._port = self._moto.get_host_and_port()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._guests.end_all()
        self._server.shutdown()
        self._server.server_close()
        self._moto.stop()

    def forgive(self) -> None:
        """Take all faults back, and have room for many instances."""
        self.capacity = self.spot_capacity = 1000
        self.delay = self.hidden = 0.0
        self.spoil = self.rot = 0
        self.quotas: dict[str, float] = {}
        self.lose.clear()
        self.refuse.clear()

    def revoke(self, known_as: str) -> None:
        """Take a spot instance away."""
        self._end(known_as, "Server.SpotInstanceTermination")

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Return the reply to a call."""
        if path.startswith("/guest/"):
            return self._shut_down(path.split("/")[2])
        form = dict(parse_qsl(body.decode(errors="replace"))) if b"Action=" in body[:4096] else {}
        action = form.get("Action", method)
        self.calls[action] += 1
        if self.delay:
            time.sleep(self.delay)
        if code := self.refuse.get(action):
            status = 503 if code in ("ServiceUnavailable", "InternalError") else 400
            return _error(code, "refused by the test", status)
        target = next((value for name, value in headers.items() if name.lower() == "x-amz-target"), "")
        if target.endswith("GetServiceQuota"):
            return self._quota(json.loads(body)["QuotaCode"])
        if action == "RunInstances":
            reply = self._run(form, path, headers, body)
        elif action == "DescribeInstances":
            reply = self._described(self._forward(method, path, headers, self._by_token(form, body)))
        elif action == "TerminateInstances":
            reply = self._forward(method, path, headers, body)
            for name, value in form.items():
                if name.startswith("InstanceId.") and reply.status == 200:
                    self._reasons.setdefault(value, "Client.UserInitiatedShutdown")
                    self._guests.end(value)
        elif method == "PUT":
            reply = self._stored(path, headers, body)
        else:
            reply = self._forward(method, path, headers, body)
        with self._lock:
            if self.lose[action] > 0:
                self.lose[action] -= 1
                return Reply(0, {}, None)
        return reply

    def _quota(self, code: str) -> Reply:
        kind = {"Content-Type": "application/x-amz-json-1.1"}
        if code not in self.quotas:
            return Reply(400, kind, b'{"__type": "NoSuchResourceException", "Message": "no such quota"}')
        return Reply(200, kind, json.dumps({"Quota": {"Value": self.quotas[code]}}).encode())

    def _run(self, form: dict[str, str], path: str, headers: dict[str, str], body: bytes) -> Reply:
        token = form.get("ClientToken", "")
        asked = {name: value for name, value in form.items() if name not in _IGNORED}
        spot = form.get("InstanceMarketOptions.MarketType") == "spot"
        with self._lock:
            if token in self._tokens:
                before, reply = self._tokens[token]
                if before != asked:
                    return _error("IdempotentParameterMismatch", "the token was used for another request")
                return reply
            alive = [one for one in self._born if one not in self._reasons]
            room = self.spot_capacity if spot else self.capacity
            if sum((one in self._spot) is spot for one in alive) >= room:
                return _error("InsufficientInstanceCapacity", "there is no capacity now", 500)
            reply = self._forward("POST", path, headers, body)
            if reply.status != 200 or reply.body is None:
                return reply
            for known_as in re.findall(rb"<instanceId>(i-[0-9a-f]+)</instanceId>", reply.body):
                name = known_as.decode()
                self._born[name] = time.monotonic()
                self._behaviour[name] = form.get("InstanceInitiatedShutdownBehavior", "stop")
                if spot:
                    self._spot.add(name)
                if form.get("UserData"):
                    self._guests.boot(name, form["UserData"])
            if token:
                self._tokens[token] = (asked, reply)
        return reply

    def _by_token(self, form: dict[str, str], body: bytes) -> bytes:
        """Have the filter by client token, which moto does not have, ask for the instance."""
        names = [name for name, value in form.items() if value == "client-token" and name.endswith(".Name")]
        if not names:
            return body
        value = f"{names[0].removesuffix('.Name')}.Value.1"
        _, reply = self._tokens.get(form.get(value, ""), ({}, Reply(0, {}, b"")))
        found = re.search(rb"<instanceId>(i-[0-9a-f]+)</instanceId>", reply.body or b"")
        known_as = found[1].decode() if found else "i-00000000000000000"
        return urlencode({**form, names[0]: "instance-id", value: known_as}).encode()

    def _described(self, reply: Reply) -> Reply:
        """Leave out what is not shown yet, and say why what has ended did."""
        if reply.status != 200 or reply.body is None:
            return reply
        root = ElementTree.fromstring(reply.body)
        space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
        reservations = root.find(f"{space}reservationSet")
        now = time.monotonic()
        for reservation in list(reservations if reservations is not None else ()):
            for instance in reservation.iterfind(f"{space}instancesSet/{space}item"):
                name = instance.findtext(f"{space}instanceId", "")
                if reservations is not None and now - self._born.get(name, 0.0) < self.hidden:
                    reservations.remove(reservation)
                    break
                if name in self._reasons:
                    for old in instance.findall(f"{space}stateReason"):
                        instance.remove(old)
                    said = ElementTree.SubElement(instance, f"{space}stateReason")
                    ElementTree.SubElement(said, f"{space}code").text = self._reasons[name]
        return Reply(reply.status, reply.headers, ElementTree.tostring(root))

    def _stored(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        with self._lock:
            if self.spoil > 0 and body:
                self.spoil -= 1
                body = bytes([body[0] ^ 1]) + body[1:]
        low = {name.lower(): value for name, value in headers.items()}
        sums = {
            "x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(body).digest()).decode(),
            "x-amz-checksum-crc32": base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode(),
            "content-md5": base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode(),
        }
        for name, found in sums.items():
            if name in low and low[name] != found:
                return _error("BadDigest", f"{name} does not match what was received")
        with self._lock:
            if self.rot > 0 and body:
                self.rot -= 1
                body = bytes([body[0] ^ 1]) + body[1:]
                headers = {name: value for name, value in headers.items() if name.lower() not in sums}
        return self._forward("PUT", path, headers, body)

    def _shut_down(self, known_as: str) -> Reply:
        self._end(known_as, "Client.InstanceInitiatedShutdown")
        return Reply(200, {}, b"")

    def _end(self, known_as: str, reason: str) -> None:
        """End an instance from inside; whose RunInstances did not say so is only stopped, and is paid for."""
        stop = reason == "Client.InstanceInitiatedShutdown" and self._behaviour.get(known_as) != "terminate"
        action = "StopInstances" if stop else "TerminateInstances"
        self._reasons.setdefault(known_as, reason)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, "
            "SignedHeaders=host, Signature=0",
        }
        body = f"Action={action}&Version=2016-11-15&InstanceId.1={known_as}".encode()
        self._forward("POST", "/", headers, body)
        threading.Thread(target=self._guests.end, args=(known_as,), daemon=True).start()

    def _forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        skipped = ("connection", "transfer-encoding", "content-length", "expect")
        sent = {name: value for name, value in headers.items() if name.lower() not in skipped}
        connection.request(
            method, path, body=body or None, headers={**sent, "Content-Length": str(len(body))}
        )
        answer = connection.getresponse()
        content = answer.read()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in skipped}
        if method == "HEAD":
            kept["Content-Length"] = answer.getheader("Content-Length") or "0"
        connection.close()
        return Reply(answer.status, kept, content)


def _error(code: str, message: str, status: int = 400) -> Reply:
    body = (
        f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        f"<RequestID>0</RequestID></Response>"
    )
    if code in _OF_S3:
        body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Reply(status, {"Content-Type": _XML}, body.encode())


def _handler(cloud: StrictCloud) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            if self.headers.get("Transfer-Encoding", "") == "chunked":
                self.close_connection = True
                return
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = cloud.answer(self.command, self.path, dict(self.headers.items()), body)
            if reply.body is None:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                if name.lower() not in ("date", "server"):
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _serve  # noqa: N815 - http.server's names

        def handle_expect_100(self) -> bool:
            return True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
