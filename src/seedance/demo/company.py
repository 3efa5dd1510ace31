"""The company: a shop with a search and a payment service, and the models that it trains.

Two clusters, eight nodes of five types, thirteen namespaces, eight teams. Each team says in its own
way that something is its own: on the pod, the workload or the namespace, by label or annotation;
two namespaces belong to nobody. What goes wrong here goes wrong everywhere: a service that asks
for twenty times what it uses, a search for hyperparameters that keeps its GPUs over night, a node
that promises more than it has, a slow image, a namespace without metrics.
"""

from __future__ import annotations

from seedance.demo.cast import (
    NOT_SUNDAY,
    Agent,
    Batch,
    Box,
    Load,
    Machine,
    Part,
    Service,
    Site,
    Space,
)

_AFTERNOONS = ((1, 14.2), (3, 9.7))
_NIGHTLY, _SIX_HOURLY = (1.5,), (0.4, 6.4, 12.4, 18.4)

_AGENTS = (
    Agent(
        namespace="kube-system",
        name="kube-proxy",
        pool="",
        boxes=(Box("kube-proxy", 0.1, 0.125, Load("steady", (0.01, 0.03), (0.05, 0.07))),),
    ),
    Agent(
        namespace="monitoring",
        name="node-exporter",
        pool="",
        boxes=(Box("node-exporter", 0.1, 0.125, Load("steady", (0.02, 0.05), (0.04, 0.06))),),
    ),
)

_PLATFORM = (
    Service(
        namespace="kube-system",
        name="coredns",
        pool="general",
        replicas=(2, 2),
        boxes=(Box("coredns", 0.2, 0.25, Load("day", (0.04, 0.24), (0.12, 0.18))),),
    ),
    Service(
        namespace="monitoring",
        name="prometheus",
        kind="StatefulSet",
        pool="data",
        disk=200,
        boxes=(
            Box("prometheus", 4, 32, Load("steady", (1.4, 2.2), (22, 29))),
            Box("config-reloader", 0.1, 0.125, Load("steady", (0.002, 0.006), (0.04, 0.06))),
        ),
    ),
    Service(
        namespace="monitoring",
        name="grafana",
        pool="general",
        boxes=(Box("grafana", 1, 2, Load("work", (0.04, 0.4), (0.6, 1))),),
    ),
    Service(
        namespace="ingress",
        name="ingress-nginx",
        pool="general",
        replicas=(2, 2),
        boxes=(Box("controller", 1, 2, Load("day", (0.2, 1.2), (0.6, 1.2))),),
    ),
)

_SHOP = (
    Service(
        namespace="storefront",
        name="web",
        pool="general",
        replicas=(3, 8),
        rolls=((0, 10.1), *_AFTERNOONS),
        labels={"team": "storefront", "env": "prod"},
        boxes=(
            Box("web", 2, 4, Load("day", (0.7, 1.8), (2, 3.4))),
            Box("log-shipper", 0.1, 0.25, Load("day", (0.02, 0.1), (0.1, 0.16))),
        ),
    ),
    Service(
        namespace="storefront",
        name="cart",
        pool="general",
        replicas=(2, 2),
        rolls=((2, 11.5),),
        labels={"team": "team-storefront", "env": "prod"},
        boxes=(Box("cart", 2, 4, Load("day", (0.4, 1.6), (1.8, 3))),),
    ),
    Service(
        namespace="storefront",
        name="thumbnailer",
        pool="spot",
        replicas=(2, 2),
        labels={"team": "storefront", "env": "prod"},
        boxes=(Box("thumbnailer", 4, 6, Load("day", (0.6, 3.8), (2.4, 4.8))),),
    ),
    Service(
        namespace="payments",
        name="payments-api",
        pool="general",
        replicas=(5, 5),
        rolls=((2, 9.2),),
        boxes=(Box("api", 8, 16, Load("day", (0.16, 0.48), (1.4, 1.8))),),
    ),
    Service(
        namespace="payments",
        name="ledger",
        pool="general",
        replicas=(2, 2),
        boxes=(Box("ledger", 2, 4, Load("day", (0.6, 1.4), (2.2, 2.8))),),
    ),
    Batch(
        namespace="payments",
        name="settlement",
        kind="CronJob",
        pool="spot",
        hours=_NIGHTLY,
        parts=(
            Part("", 1, (Box("run", 4, 8, Load("batch", (0.8, 3.8), (1.6, 6.8))),), minutes=38),
        ),
    ),
    Service(
        namespace="legacy-reports",
        name="reports",
        pool="general",
        replicas=(2, 2),
        boxes=(Box("jvm", 1, 4, None, limited=True),),
    ),
    Service(
        namespace="sandbox",
        name="load-generator",
        pool="general",
        crowd=True,
        boxes=(Box("k6", 0, 0, Load("burst", (0.02, 11), (0.2, 2.4))),),
    ),
)

_SEARCH = (
    Service(
        namespace="search",
        name="opensearch",
        kind="StatefulSet",
        pool="data",
        replicas=(2, 2),
        disk=500,
        rolls=((3, 5.5),),
        boxes=(Box("opensearch", 4, 48, Load("day", (1.2, 3.8), (34, 44)), limited=True),),
    ),
    Service(
        namespace="search",
        name="query-api",
        pool="general",
        replicas=(2, 5),
        rolls=_AFTERNOONS,
        boxes=(Box("query", 2, 4, Load("day", (0.8, 2.2), (1.6, 2.8))),),
    ),
    Service(
        namespace="recommendations",
        name="recs-api",
        pool="general",
        replicas=(2, 2),
        rolls=((4, 13.0),),
        pod_labels={"app.kubernetes.io/team": "recommendations"},
        boxes=(Box("recs", 4, 12, Load("day", (1, 3.4), (7, 10.4))),),
    ),
)

_DATA = (
    Service(
        namespace="data",
        name="postgres",
        kind="StatefulSet",
        pool="data",
        replicas=(2, 2),
        disk=400,
        annotations={"example.com/owner": "data-platform"},
        boxes=(Box("postgres", 4, 32, Load("day", (0.8, 3), (24, 28)), limited=True),),
    ),
    Service(
        namespace="data",
        name="argo-controller",
        pool="general",
        labels={"team": "platform"},
        boxes=(Box("controller", 0.5, 1, Load("steady", (0.04, 0.2), (0.4, 0.6))),),
    ),
    Batch(
        namespace="data",
        name="sales-etl",
        kind="Workflow",
        pool="spot",
        hours=(3.1, 15.1),
        pod_labels={"team": "data-platform"},
        parts=(
            Part(
                "extract", 3, (Box("main", 6, 10, Load("batch", (2, 5.8), (2, 8.8))),), minutes=41
            ),
            Part(
                "transform",
                2,
                (Box("main", 8, 16, Load("batch", (3.6, 7.8), (6, 14.4))),),
                after=42,
                minutes=55,
            ),
            Part(
                "load",
                1,
                (Box("main", 2, 4, Load("batch", (0.4, 1.6), (1, 3))),),
                after=98,
                minutes=17,
            ),
        ),
    ),
    Batch(
        namespace="data",
        name="compaction",
        kind="CronJob",
        pool="spot",
        hours=_SIX_HOURLY,
        labels={"team": "data-platform"},
        parts=(Part("", 1, (Box("compact", 4, 8, Load("batch", (2, 4), (2, 7.6))),), minutes=52),),
    ),
)

PROD = Site(
    name="prod",
    region="us-east-1",
    machines=(
        Machine("ip-10-0-1-11.ec2.internal", "general", "m5.8xlarge", 32, 128, "us-east-1a"),
        Machine("ip-10-0-2-24.ec2.internal", "general", "m5.8xlarge", 32, 128, "us-east-1b"),
        Machine("ip-10-0-3-57.ec2.internal", "general", "m5.8xlarge", 32, 128, "us-east-1c"),
        Machine("ip-10-0-1-80.ec2.internal", "data", "r5.8xlarge", 32, 256, "us-east-1a"),
        Machine("ip-10-0-4-15.ec2.internal", "spot", "c5.9xlarge", 36, 72, "us-east-1b", spot=True),
        Machine(
            "ip-10-0-4-92.ec2.internal", "spot", "c5.9xlarge", 36, 72, "us-east-1c", spot=True,
            until=0.63,
        ),
        Machine(
            "ip-10-0-5-33.ec2.internal", "spot", "c5.9xlarge", 36, 72, "us-east-1a", spot=True,
            since=0.63,
        ),
    ),
    spaces=(
        Space("kube-system", labels={"team": "platform"}),
        Space("monitoring", annotations={"example.com/owner": "platform"}),
        Space("ingress", labels={"team": "platform"}),
        Space("storefront", labels={"example.com/domain": "shop"}),
        Space("payments", labels={"team": "payments", "example.com/domain": "shop"}),
        Space("search", labels={"team": "team-search", "example.com/domain": "discovery"}),
        Space("recommendations", labels={"example.com/domain": "discovery"}),
        Space("data", annotations={"example.com/domain": "data"}),
        Space("legacy-reports"),
        Space("sandbox", labels={"env": "development"}),
    ),
    programs=(*_AGENTS, *_PLATFORM, *_SHOP, *_SEARCH, *_DATA),
)  # fmt: skip

_TRAINER = Load("train", (4, 10.2), (40, 66))

_TRAINING = (
    Batch(
        namespace="ml-vision",
        name="detector",
        kind="PyTorchJob",
        pool="gpu",
        hours=(7.5,),
        days=NOT_SUNDAY,
        slow_pull=3,
        pod_annotations={"example.com/owner": "vision-research"},
        parts=(
            Part("master", 1, (Box("pytorch", 11, 72, _TRAINER, 1, limited=True),), minutes=570),
            Part("worker", 3, (Box("pytorch", 11, 72, _TRAINER, 1, limited=True),), minutes=570),
        ),
    ),
    Service(
        namespace="ml-language",
        name="retriever-sweep",
        kind="PyTorchJob",
        pool="gpu",
        replicas=(3, 3),
        pod_labels={"team": "language"},
        boxes=(
            Box("pytorch", 6, 48, Load("hoard", (0.02, 5.4), (38, 44)), 1, limited=True),
        ),
    ),
    Batch(
        namespace="ml-recommendations",
        name="embeddings",
        kind="RayCluster",
        pool="gpu",
        hours=(19.2,),
        pod_labels={"app.kubernetes.io/team": "recommendations"},
        parts=(
            Part(
                "head",
                1,
                (Box("ray-head", 2, 8, Load("steady", (0.3, 0.9), (4, 6)), limited=True),),
                minutes=200,
            ),
            Part(
                "worker", 2, (Box("ray-worker", 8, 64, Load("train", (4, 7.6), (30, 58)), 1,
                                  limited=True),), minutes=195
            ),
        ),
    ),
    Service(
        namespace="ml-vision",
        name="jupyter-annotation",
        kind="StatefulSet",
        pool="gpu",
        disk=100,
        annotations={"example.com/owner": "ds"},
        boxes=(Box("notebook", 4, 24, Load("work", (0.15, 2.5), (6, 16)), 1, limited=True),),
    ),
    Service(
        namespace="kube-system",
        name="training-operator",
        pool="system",
        boxes=(Box("operator", 0.5, 1, Load("steady", (0.02, 0.08), (0.2, 0.3))),),
    ),
    Service(
        namespace="kube-system",
        name="coredns",
        pool="system",
        replicas=(2, 2),
        boxes=(Box("coredns", 0.1, 0.125, Load("day", (0.01, 0.06), (0.06, 0.08))),),
    ),
    Service(
        namespace="ml-language",
        name="label-store",
        kind="StatefulSet",
        pool="system",
        disk=50,
        pod_labels={"team": "language"},
        boxes=(Box("mongo", 2, 8, Load("work", (0.1, 1.4), (4, 6.5))),),
    ),
)  # fmt: skip

TRAINING = Site(
    name="gpu-training",
    region="us-west-2",
    machines=(
        Machine("ip-10-8-0-10.us-west-2.compute.internal", "gpu", "p4d.24xlarge", 96, 1152,
                "us-west-2b", gpus=8),
        Machine("ip-10-8-0-21.us-west-2.compute.internal", "system", "m5.xlarge", 4, 16,
                "us-west-2b"),
    ),
    spaces=(
        Space("kube-system", labels={"team": "platform"}),
        Space("monitoring", annotations={"example.com/owner": "platform"}),
        Space("ml-vision", labels={"example.com/domain": "research"}),
        Space("ml-language", labels={"example.com/domain": "research"}),
        Space("ml-recommendations", labels={"example.com/domain": "discovery"}),
    ),
    programs=(*_AGENTS, *_TRAINING),
)  # fmt: skip

COMPANY = (PROD, TRAINING)
"""Everything there is."""
