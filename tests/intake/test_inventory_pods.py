"""Pods: containers, effective requests, instants, quality of service, claims."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from seedance.facts.errors import IntakeError
from seedance.facts.inventory import Owner, Pod, Uid
from seedance.intake.inventory import normalise

GIB = 2.0**30
Json = dict[str, Any]


def pod_json(spec: Json | None = None, status: Json | None = None, **metadata: Any) -> Json:
    return {
        "metadata": {
            "uid": "u-1",
            "name": "web-0",
            "namespace": "shop",
            "creationTimestamp": "2026-11-30T10:00:00Z",
            **metadata,
        },
        "spec": {"nodeName": "n0", "containers": [], **(spec or {})},
        "status": {"phase": "Running", **(status or {})},
    }


def container(name: str = "app", **resources: Json) -> Json:
    return {"name": name, "image": f"{name}:1", "resources": resources}


def sidecar(name: str, **resources: Json) -> Json:
    return {**container(name, **resources), "restartPolicy": "Always"}


def read(document: Json) -> Pod:
    pod = normalise("Pod", document)
    assert isinstance(pod, Pod)
    return pod


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-30T{text}").replace(tzinfo=UTC)


# The expected values are worked out by hand from the rule in the Kubernetes documentation of
# sidecar containers: max(sum of containers and sidecars, largest init phase) plus overhead.
EFFECTIVE: list[tuple[str, Json, Json]] = [
    (
        "containers are summed",
        {
            "containers": [
                container("a", requests={"cpu": "100m", "memory": "1Gi"}),
                container("b", requests={"cpu": "400m", "nvidia.com/gpu": "2"}),
            ]
        },
        {"cpu": 0.5, "memory": GIB, "nvidia.com/gpu": 2.0},
    ),
    (
        "a limit alone is a request",
        {"containers": [container(limits={"cpu": "2", "memory": "1Gi"}, requests={"cpu": "1"})]},
        {"cpu": 1.0, "memory": GIB},
    ),
    (
        "a large init container counts alone",
        {
            "initContainers": [container("i", requests={"cpu": "3", "memory": "512Mi"})],
            "containers": [container("a", requests={"cpu": "1", "memory": "1Gi"})],
        },
        {"cpu": 3.0, "memory": GIB},
    ),
    (
        "a sidecar is added to the containers",
        {
            "initContainers": [sidecar("s", requests={"cpu": "500m"})],
            "containers": [container("a", requests={"cpu": "1"})],
        },
        {"cpu": 1.5},
    ),
    (
        "an init container counts with the sidecars started before it, not those after",
        {
            "initContainers": [
                sidecar("s1", requests={"cpu": "1"}),
                container("i", requests={"cpu": "2"}),
                sidecar("s2", requests={"cpu": "4"}),
            ],
            "containers": [container("a", requests={"cpu": "500m"})],
        },
        {"cpu": 5.5},
    ),
    (
        "the phase of an init container after sidecars may be the largest",
        {
            "initContainers": [
                sidecar("s1", requests={"cpu": "1"}),
                container("i", requests={"cpu": "8"}),
            ],
            "containers": [container("a", requests={"cpu": "500m"})],
        },
        {"cpu": 9.0},
    ),
    (
        "overhead comes on top",
        {
            "overhead": {"cpu": "250m", "memory": "120Mi"},
            "containers": [container("a", requests={"cpu": "1"})],
        },
        {"cpu": 1.25, "memory": 120.0 * 2**20},
    ),
    (
        "pod-level requests replace the sum for what they name, devices stay",
        {
            "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "8", "memory": "2Gi"}},
            "containers": [
                container("a", requests={"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"})
            ],
        },
        {"cpu": 4.0, "memory": 2 * GIB, "nvidia.com/gpu": 1.0},
    ),
    (
        "an ephemeral container holds nothing",
        {
            "containers": [container("a", requests={"cpu": "1"})],
            "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
        },
        {"cpu": 1.0},
    ),
]


@pytest.mark.parametrize(
    ("spec", "effective"), [c[1:] for c in EFFECTIVE], ids=[c[0] for c in EFFECTIVE]
)
def test_effective_request(spec: Json, effective: Json) -> None:
    assert read(pod_json(spec)).effective == effective


def resized(spec_cpu: str, status: Json, **more: Any) -> Pod:
    return read(
        pod_json(
            {"containers": [container("a", requests={"cpu": spec_cpu})]},
            {"containerStatuses": [{"name": "a", **status}], **more},
        )
    )


def test_a_resize_under_way_holds_the_largest_of_asked_allocated_and_in_force() -> None:
    shrinking = {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "3"}}}
    pod = resized("1", shrinking)
    assert pod.effective == {"cpu": 3.0}
    assert pod.containers[0].requests == {"cpu": 3.0}
    growing = {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    assert resized("4", growing).effective == {"cpu": 4.0}
    done = {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    assert resized("1", done).effective == {"cpu": 1.0}


def test_a_resize_that_can_never_happen_holds_what_is_allocated() -> None:
    held = {"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    condition = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    assert resized("400", held, conditions=[condition]).effective == {"cpu": 1.0}


def test_every_type_of_container_is_kept_in_order_with_its_runs() -> None:
    pod = read(
        pod_json(
            {
                "initContainers": [container("setup"), sidecar("proxy")],
                "containers": [container("app"), container("crashing")],
                "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
            },
            {
                "initContainerStatuses": [
                    {
                        "name": "setup",
                        "state": {
                            "terminated": {
                                "startedAt": "2026-11-30T10:00:02Z",
                                "finishedAt": "2026-11-30T10:00:05Z",
                                "reason": "Completed",
                            }
                        },
                    },
                    {"name": "proxy", "state": {"running": {"startedAt": "2026-11-30T10:00:06Z"}}},
                ],
                "containerStatuses": [
                    {"name": "app", "state": {"running": {"startedAt": "2026-11-30T10:00:07Z"}}},
                    {
                        "name": "crashing",
                        "restartCount": 3,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {
                            "terminated": {
                                "startedAt": "2026-11-30T10:01:00Z",
                                "finishedAt": "2026-11-30T10:01:01Z",
                            }
                        },
                    },
                ],
            },
        )
    )
    assert [(c.name, c.type, c.state) for c in pod.containers] == [
        ("setup", "init", "terminated"),
        ("proxy", "sidecar", "running"),
        ("app", "app", "running"),
        ("crashing", "app", "waiting"),
        ("debug", "ephemeral", ""),
    ]
    setup, proxy, _, crashing, _ = pod.containers
    assert (setup.started, setup.finished) == (at("10:00:02"), at("10:00:05"))
    assert (proxy.started, proxy.finished) == (at("10:00:06"), None)
    assert (crashing.restarts, crashing.reason) == (3, "CrashLoopBackOff")
    assert crashing.finished == at("10:01:01")


def test_scheduled_is_the_binding_not_the_start() -> None:
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T10:05:00Z"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-30T10:00:03Z"},
    ]
    started = {"startTime": "2026-11-30T10:00:09Z"}
    assert read(pod_json({}, {"conditions": conditions, **started})).scheduled == at("10:00:03")
    assert read(pod_json({}, started)).scheduled == at("10:00:09")
    unscheduled = [{**conditions[1], "status": "False", "reason": "Unschedulable"}]
    assert read(pod_json({}, {"conditions": unscheduled})).scheduled is None


def ended(phase: str, *ends: str | None) -> Pod:
    return read(
        pod_json(
            {},
            {
                "phase": phase,
                "containerStatuses": [
                    {"name": str(i), "state": {"terminated": {"finishedAt": end}}}
                    for i, end in enumerate(ends)
                ],
            },
        )
    )


def test_finished_is_the_last_end_of_a_terminal_pod() -> None:
    times = ("2026-11-30T11:00:00Z", "2026-11-30T12:30:00Z")
    assert ended("Succeeded", *times).finished == at("12:30:00")
    assert ended("Failed", *times).finished == at("12:30:00")
    assert ended("Running", *times).finished is None
    assert ended("Failed").finished is None
    assert ended("Failed", None, "0001-01-01T00:00:00Z").finished is None


def test_deletion_is_taken_as_the_api_gives_it_grace_included() -> None:
    pod = read(pod_json(deletionTimestamp="2026-11-30T12:00:30Z", deletionGracePeriodSeconds=30))
    assert pod.deletion == at("12:00:30")


def test_owner_is_the_controlling_reference_of_any_kind() -> None:
    references = [
        {"kind": "Queue", "name": "q", "uid": "u-q"},
        {"kind": "RayJob", "name": "train", "uid": "u-ray", "controller": True},
    ]
    assert read(pod_json(ownerReferences=references)).owner == Owner(
        "RayJob", "train", Uid("u-ray")
    )
    assert read(pod_json(ownerReferences=references[:1])).owner == Owner("Queue", "q", Uid("u-q"))
    assert read(pod_json()).owner is None


def test_static_pods_are_marked() -> None:
    assert read(pod_json(annotations={"kubernetes.io/config.mirror": "abc"})).mirror
    node = [{"kind": "Node", "name": "n0", "uid": "u-n", "controller": True}]
    assert read(pod_json(ownerReferences=node)).mirror
    assert not read(pod_json()).mirror


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"nvidia.com/gpu": "1"}}], "BestEffort"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        (
            [
                {
                    "requests": {"cpu": "1", "memory": "1Gi"},
                    "limits": {"cpu": "1000m", "memory": "1Gi"},
                }
            ],
            "Guaranteed",
        ),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}], "Burstable"),
    ],
)
def test_quality_of_service_is_computed_where_the_status_has_none(
    resources: list[Json], quality: str
) -> None:
    containers = [container(f"c{i}", **each) for i, each in enumerate(resources)]
    assert read(pod_json({"containers": containers})).qos == quality


def test_the_status_has_the_last_word_on_quality_of_service() -> None:
    assert read(pod_json({}, {"qosClass": "Burstable"})).qos == "Burstable"


def test_claims_include_generic_ephemeral_volumes() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "config", "configMap": {"name": "c"}},
    ]
    assert read(pod_json({"volumes": volumes})).claims == ("data-web-0", "web-0-scratch")


def test_labels_are_raw_and_bulky_annotations_are_left_out() -> None:
    pod = read(
        pod_json(
            labels={"team.io/name": "a", "team-io/name": "b", "empty": ""},
            annotations={
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "long": "x" * 1025,
                "long-in-bytes": "é" * 600,
                "fits": "x" * 1024,
            },
            managedFields=[{"manager": "kubectl"}],
        )
    )
    assert pod.labels == {"team.io/name": "a", "team-io/name": "b", "empty": ""}
    assert set(pod.annotations) == {"fits"}
    doc = pod.to_doc()
    assert "managedFields" not in doc
    assert doc["labels"]["empty"] == ""


def test_facts_survive_the_way_through_the_store() -> None:
    pod = read(
        pod_json(
            {
                "containers": [container("a", requests={"cpu": "1"}, limits={"cpu": "2"})],
                "priority": 7,
                "priorityClassName": "high",
            },
            {"startTime": "2026-11-30T10:00:09Z"},
            ownerReferences=[{"kind": "Job", "name": "j", "uid": "u", "controller": True}],
        )
    )
    assert Pod.from_doc(pod.to_doc()) == pod


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "Pod without metadata"),
        ({"metadata": {"name": "x", "uid": "u"}}, "without metadata.creationTimestamp"),
        (pod_json(creationTimestamp="yesterday"), "Pod shop/web-0: 'yesterday' is no instant"),
        (pod_json({"containers": [container(requests={"cpu": "1 core"})]}), "'1 core' is no"),
        (pod_json({"containers": "all of them"}), "odd shape"),
    ],
)
def test_a_document_that_is_no_pod_is_refused_by_name(document: Json, words: str) -> None:
    with pytest.raises(IntakeError, match=words):
        normalise("Pod", document)
