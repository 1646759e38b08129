"""Instances of AWS EC2, by boto3.

RunInstances is called with the request's token, which the journal already has: a repeated call returns the
same instance for as long as EC2 remembers the token. The call also sets the instance's end: its user data
shuts it down at its end time, and shutdown terminates it (``InstanceInitiatedShutdownBehavior``).

Sources: EC2 API reference, "Ensuring idempotency in Amazon EC2 API requests", "RunInstances", "Error codes".
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from whesl.cloud.providers.port import (
    Ec2Settings,
    EndReason,
    Instance,
    InstanceRequest,
    InstanceState,
    Market,
    NoCapacityError,
    Offer,
    Provider,
    TellsLimits,
    TokenMismatchError,
)
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError, WheslError

TAG_WORKFLOW, TAG_TOKEN, TAG_ENDS = "whesl:workflow", "whesl:token", "whesl:ends"
_NO_CAPACITY = frozenset(
    {
        "InsufficientInstanceCapacity",
        "InsufficientHostCapacity",
        "InstanceLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "SpotMaxPriceTooLow",
        "Unsupported",
        "VcpuLimitExceeded",
    }
)
_PASSING = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "Unavailable",
    }
)
_STATES = {
    "pending": InstanceState.PENDING,
    "running": InstanceState.RUNNING,
    "shutting-down": InstanceState.ENDING,
    "terminated": InstanceState.ENDED,
    "stopping": InstanceState.STOPPED,
    "stopped": InstanceState.STOPPED,
}
_REASONS = {
    "Client.InstanceInitiatedShutdown": EndReason.END_TIME,
    "Client.UserInitiatedShutdown": EndReason.REQUESTED,
    "Server.SpotInstanceTermination": EndReason.REVOKED,
    "Server.SpotInstanceShutdown": EndReason.REVOKED,
    "Server.InternalError": EndReason.LOST,
    "Server.ScheduledStop": EndReason.LOST,
}
# The command cannot prevent the end: the watchdog starts before the command, as a child of init.
_USER_DATA = """\
#!/bin/sh
# The end time of this instance, which shutting it down terminates.
ENDS={ends}
cat > /run/whesl-watchdog <<'WATCHDOG'
#!/bin/sh
while [ "$(date +%s)" -lt "$1" ]; do sleep 1; done
shutdown -P now || poweroff -f
WATCHDOG
systemd-run --unit=whesl-watchdog --property=OOMScoreAdjust=-1000 --property=Restart=on-failure \\
    /bin/sh /run/whesl-watchdog "$ENDS" ||
    setsid /bin/sh /run/whesl-watchdog "$ENDS" </dev/null >/dev/null 2>&1 &
{command}
"""


# Codes of the quotas of running vCPUs, by the families of instance types: standard families and graphics
# families (EC2 user guide, "Amazon EC2 instance type quotas"). Other families have separate quotas.
_STANDARD, _GRAPHICS = ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"), ("g", "gr", "vt")
_QUOTAS = {
    Market.ON_DEMAND: {_STANDARD: "L-1216C47A", _GRAPHICS: "L-DB2E81BA"},
    Market.SPOT: {_STANDARD: "L-34B43A08", _GRAPHICS: "L-3819A6DF"},
}


class Ec2Provider(TellsLimits, Provider):
    """EC2 in one region.

    Args:
        settings: the account's settings.
        client: a boto3 client for EC2; None for a new one with the default credentials.

    Raises RefusedError when there are no credentials.
    """

    name = "ec2"

    def __init__(self, settings: Ec2Settings, client: Any = None) -> None:
        self._settings = settings
        self._client = client or client_of("ec2", settings.region, settings.endpoint)

    def start(self, request: InstanceRequest) -> Instance:
        with _explained("the instance was not started", starting=True):
            answer = self._client.run_instances(**self._arguments(request))
        started = self._instance(answer["Instances"][0])
        try:
            # A repeated call gets the first call's reply, whose state may be out of date.
            seen = self._described(Filters=[{"Name": "instance-id", "Values": [started.id]}])
        except WheslError:
            seen = []
        return seen[0] if seen else started

    def instances(self, workflow: str) -> list[Instance]:
        return self._described(Filters=[{"Name": f"tag:{TAG_WORKFLOW}", "Values": [workflow]}])

    def find(self, token: str) -> Instance | None:
        """Return the instance of a token, found by EC2's client token or by its tag."""
        for name in ("client-token", f"tag:{TAG_TOKEN}"):
            found = self._described(Filters=[{"Name": name, "Values": [token]}])
            if found:
                return found[0]
        return None

    def terminate(self, ids: Sequence[str]) -> None:
        """End instances, with one call for each, so that an id unknown to EC2 does not block the others."""
        for known_as in ids:
            try:
                with _explained(f"{known_as} was not terminated"):
                    self._client.terminate_instances(InstanceIds=[known_as])
            except _UnknownInstanceError:
                continue

    def close(self) -> None:
        self._client.close()

    def prices(self, kinds: Sequence[str]) -> list[Offer]:
        """Return today's spot prices; EC2 does not report on-demand prices."""
        if not kinds:
            return []
        with _explained("spot prices are not known"):
            answer = self._client.describe_spot_price_history(
                InstanceTypes=list(kinds),
                ProductDescriptions=["Linux/UNIX"],
                StartTime=datetime.now().astimezone(),
            )
        least: dict[str, float] = {}
        for entry in answer.get("SpotPriceHistory", ()):
            price = float(entry["SpotPrice"])
            least[entry["InstanceType"]] = min(price, least.get(entry["InstanceType"], price))
        return [Offer(kind=kind, market=Market.SPOT, hourly=least[kind]) for kind in kinds if kind in least]

    def most(self, kinds: Sequence[str], market: Market) -> dict[str, int]:
        # A quota of vCPUs covers all kinds of its families together, and all instances of the account.
        codes = {
            kind: code
            for kind in kinds
            for families, code in _QUOTAS[market].items()
            if kind.split(".")[0].rstrip("abcdefghijklmnopqrstuvwxyz-").rstrip("0123456789") in families
        }
        if not codes:
            return {}
        client = client_of("service-quotas", self._settings.region, self._settings.endpoint)
        with _explained("the quotas of vCPUs are not known"):
            quotas = {
                code: client.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"]
                for code in set(codes.values())
            }
            pages = self._client.get_paginator("describe_instance_types").paginate(InstanceTypes=list(codes))
            processors = {
                one["InstanceType"]: one["VCpuInfo"]["DefaultVCpus"]
                for page in pages
                for one in page["InstanceTypes"]
            }
        return {
            kind: int(quotas[code] // processors[kind]) for kind, code in codes.items() if kind in processors
        }

    def _arguments(self, request: InstanceRequest) -> dict[str, Any]:
        """Return RunInstances' arguments, from the request alone, since a token requires equal arguments."""
        if request.ends <= time.time() and not self._known(request.token):
            raise RefusedError("the end time of the instance has passed")
        tags = {TAG_WORKFLOW: request.workflow, TAG_TOKEN: request.token, TAG_ENDS: f"{request.ends:.0f}"}
        settings = self._settings
        arguments: dict[str, Any] = {
            "ImageId": settings.image,
            "InstanceType": request.kind,
            "MinCount": 1,
            "MaxCount": 1,
            "ClientToken": _client_token(request.token),
            "InstanceInitiatedShutdownBehavior": "terminate",
            "UserData": user_data(request),
            "TagSpecifications": [
                {"ResourceType": "instance", "Tags": [{"Key": key, "Value": tags[key]} for key in tags]}
            ],
            "MetadataOptions": {"HttpTokens": "required"},
        }
        if request.market is Market.SPOT:
            arguments["InstanceMarketOptions"] = {
                "MarketType": "spot",
                "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
            }
        if settings.subnet:
            arguments["SubnetId"] = settings.subnet
        if settings.security_groups:
            arguments["SecurityGroupIds"] = list(settings.security_groups)
        if settings.key_name:
            arguments["KeyName"] = settings.key_name
        if settings.profile:
            arguments["IamInstanceProfile"] = {"Name": settings.profile}
        if settings.disk:
            disk = {"VolumeSize": settings.disk, "DeleteOnTermination": True, "Encrypted": True}
            arguments["BlockDeviceMappings"] = [{"DeviceName": "/dev/xvda", "Ebs": disk}]
        return arguments

    def _known(self, token: str) -> bool:
        return self.find(token) is not None

    def _described(self, **arguments: Any) -> list[Instance]:
        with _explained("instances cannot be listed"):
            pages = self._client.get_paginator("describe_instances").paginate(**arguments)
            return [
                self._instance(found)
                for page in pages
                for reservation in page.get("Reservations", ())
                for found in reservation["Instances"]
            ]

    def _instance(self, found: dict[str, Any]) -> Instance:
        tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", ())}
        state = _STATES.get(found.get("State", {}).get("Name", ""), InstanceState.PENDING)
        code = found.get("StateReason", {}).get("Code", "")
        asked = found.get("LaunchTime")
        return Instance(
            id=found["InstanceId"],
            token=tags.get(TAG_TOKEN, ""),
            workflow=tags.get(TAG_WORKFLOW, ""),
            kind=found.get("InstanceType", ""),
            market=Market.SPOT if found.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND,
            state=state,
            reason=_REASONS.get(code, EndReason.UNKNOWN) if state in _OVER else EndReason.UNKNOWN,
            asked=asked.timestamp() if isinstance(asked, datetime) else 0.0,
            ends=float(tags.get(TAG_ENDS) or 0.0),
            address=found.get("PublicDnsName") or found.get("PrivateIpAddress", ""),
        )


_OVER = (InstanceState.ENDING, InstanceState.STOPPED, InstanceState.ENDED)


class _UnknownInstanceError(WheslError):
    """EC2 has no such instance."""


def client_of(service: str, region: str, endpoint: str = "") -> Any:
    """Return a boto3 client with bounded waits, which repeats the calls that are safe to repeat.

    Args:
        service: ``ec2``, ``s3`` or ``service-quotas``.
        region: the AWS region.
        endpoint: the service's address; '' for AWS's own.
    """
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=5,
        read_timeout=30,
        retries={"mode": "standard", "total_max_attempts": 3},
        request_checksum_calculation="when_required",
        s3={"addressing_style": "path"} if endpoint else {},
    )
    return boto3.client(service, region_name=region, endpoint_url=endpoint or None, config=config)


def user_data(request: InstanceRequest) -> str:
    """Return the script of a starting instance: first the watchdog of its end time, then its command."""
    command = ""
    if request.command:
        command = f"(/bin/sh -c {shlex.quote(request.command)}; shutdown -P now) </dev/null &"
    return _USER_DATA.format(ends=int(request.ends), command=command)


def _client_token(token: str) -> str:
    if not token.isascii() or not 0 < len(token) <= 64:  # RunInstances: at most 64 ASCII characters
        raise UsageError(f"not a client token: {token!r}")
    return token


@contextmanager
def _explained(what: str, *, starting: bool = False) -> Iterator[None]:
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError) as error:
        hint = "aws configure, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise RefusedError(f"{what}: {error}", hint=hint) from None
    except ClientError as error:
        raise _translated(error, what, starting=starting) from None
    except (BotoCoreError, OSError) as error:
        raise _unanswered(what, str(error), starting=starting) from None


def _translated(error: ClientError, what: str, *, starting: bool) -> WheslError:
    told = error.response.get("Error", {})
    code, message = str(told.get("Code", "")), str(told.get("Message", ""))
    said = f"{what}: {message or code} ({code})"
    if code in _NO_CAPACITY:
        return NoCapacityError(said)
    if code in ("IdempotentParameterMismatch", "IdempotentInstanceTerminated"):
        return TokenMismatchError(said)
    if code.startswith("InvalidInstanceID"):
        return _UnknownInstanceError(said)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _PASSING or status >= 500:
        return _unanswered(what, f"{message or code} ({code})", starting=starting)
    refused = (
        "AuthFailure",
        "UnauthorizedOperation",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "OptInRequired",
    )
    hint = "check the access key and its policy: aws sts get-caller-identity" if code in refused else ""
    return RefusedError(said, hint=hint)


def _unanswered(what: str, why: str, *, starting: bool) -> WheslError:
    if starting:
        return TransientError(f"{what}, as far as is known: {why}", hint="the same call may be repeated")
    return CouldNotObserveError(f"{what}: {why}")
