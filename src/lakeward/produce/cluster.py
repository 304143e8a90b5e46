"""The pretend MinIO deployment that records come from: its nodes, buckets and clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lakeward.produce.columns import Column


def shares(weights: Sequence[float]) -> Column:
    """Return weights scaled to add up to one."""
    return np.array(weights) / sum(weights)


def zipf(count: int) -> Column:
    """Return shares that add up to one, each rank getting 1/rank of the first one's."""
    return shares([1 / rank for rank in range(1, count + 1)])


@dataclass(frozen=True, slots=True)
class Node:
    """One server. Older releases write other fields; some clocks are coarse or not on UTC."""

    name: str
    weight: float = 1.0
    zone: int = 0
    """Minutes east of UTC."""
    tick: int = 1
    """Nanoseconds between two readings of its clock."""
    old: bool = False


NODES = (
    *(Node(f"minio-{number}.fra") for number in range(1, 8)),
    *(Node(f"minio-{number}.ams", old=True) for number in range(1, 5)),
    Node("minio-1.vm", weight=0.3, tick=1_000),
    Node("edge-pune", weight=0.2, zone=330, tick=100),
    Node("edge-seattle", weight=0.2, zone=-480, tick=1_000_000, old=True),
    Node("edge-porto", weight=0.1, zone=60, tick=1_000_000_000),
)

ZONES = np.array([node.zone for node in NODES])
TICKS = np.array([node.tick for node in NODES])
NODE_SHARES = shares([node.weight for node in NODES])


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket: how its keys look, how large its objects are, what is done to them most."""

    name: str
    folder: str
    """Pattern of a key up to its last slash; `{date}`, `{n}` and `{hex}` stand for what varies."""
    file: str
    """Pattern of the rest of an existing key."""
    suffix: str
    """How the key of a newly written object ends."""
    kilobytes: float
    """Median size of an object."""
    habit: str
    """`read`, `written` or `mixed`."""
    versioned: bool = False


BUCKETS = (
    Bucket("telemetry-raw", "sensors/{date}/d{n:04d}", "part-{n:05d}.json.gz", ".json.gz",
           48, "written"),
    Bucket("web-assets", "static/{n}", "app.{hex}.js", ".css", 22, "read"),
    Bucket("warehouse", "sales/orders/data/day={date}", "{n:05d}-{n}-{hex}.parquet", ".parquet",
           9_000, "mixed"),
    Bucket("ml-datasets", "imagenet/train/n{n:08d}", "n{n:08d}_{n}.JPEG", ".JPEG", 110, "read"),
    Bucket("user-uploads", "u/{n:03d}/{hex}", "Überblick {n} & Anhang.pdf", ".pdf", 420, "mixed",
           versioned=True),
    Bucket("app-logs", "checkout/{date}", "pod-{hex}-{n}.log.zst", ".log.zst", 350, "written"),
    Bucket("container-registry", "docker/registry/v2/blobs/sha256/{n:02x}", "{hex}{hex}/data",
           "/data", 5_500, "read"),
    Bucket("backups", "postgres/base/{date}", "segment-{n:06d}.tar.zst", ".tar.zst", 64_000,
           "written", versioned=True),
    Bucket("video-archive", "camera-{n:02d}/{date}", "{n:06d}.mp4", ".mp4", 180_000, "written"),
    Bucket("finance-reports", "{date}/team {n:02d}", "report <draft> {n}.csv", ".csv", 75, "mixed",
           versioned=True),
)  # fmt: skip

BUCKET_SHARES = zipf(len(BUCKETS))
BUCKET_NAMES = np.array([bucket.name.encode() for bucket in BUCKETS])


@dataclass(frozen=True, slots=True)
class Client:
    """One program that calls the cluster, with the credentials it uses."""

    agent: str
    access_key: str
    parent: str = ""
    """The user a service account or a temporary login belongs to."""
    login: str = ""
    """Where a temporary login came from; such calls carry claims."""


CLIENTS = (
    Client("MinIO (linux; amd64) minio-go/v7.0.95", "svc-ingest", "ingest"),
    Client("Boto3/1.40.3 md/Botocore#1.40.3 os/linux#6.8.0", "etl"),
    Client("aws-sdk-java/2.31.12 os/Linux#6.1.0", "spark-jobs"),
    Client("Hadoop 3.4.1, aws-sdk-java/1.12.720 OpenJDK_64-Bit_Server_VM/17.0.14+7", "hive", "etl"),
    Client("rclone/v1.69.1", "backup-operator"),
    Client("aws-cli/2.27.5 md/awscrt#0.26.1 os/linux#6.1.0 md/arch#x86_64", "ops", "admin"),
    Client("docker/27.3.1 go/go1.22.7 kernel/6.8.0-45-generic os/linux arch/amd64", "registry"),
    Client("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
           "RZ4M1SB0V7KQ2XDPE9WL", "anna.lind@example.org", "openid"),
    Client("MinIO Console/v2.0.1 (linux; amd64) minio-go/v7.0.95",
           "K8QH3ZJ5TNY1C6VAMX0R", "j.okafor@example.org", "openid"),
    Client("Trino/476 aws-sdk-java/2.31.12 lang/java#24.0.1", "A2WX9E4GLRU7D5FSBK3T", "trino",
           "assume-role"),
)  # fmt: skip

CLIENT_SHARES = zipf(len(CLIENTS))


def claims(client: Client, expires: int, old: bool) -> dict[str, object]:
    """Return the claims of a temporary login; older servers pass numbers and lists through."""
    if not client.login:
        return {}
    audience = ["lake-console", "lake-api"]
    return {
        "accessKey": client.access_key,
        "aud": audience if old else " ".join(audience),
        "exp": expires if old else str(expires),
        "parent": client.parent,
    }
