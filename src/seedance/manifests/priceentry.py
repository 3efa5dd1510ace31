"""An entry of a price book: which nodes it is for and what they cost.

The figures may depend on the GPU's model (`PerModel`); a whole-node price is split by weights
(`SplitWeights`, else `DEFAULT_WEIGHTS`). The arithmetic is specified in `docs/explain/prices.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache, cached_property
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from seedance.manifests.objects import (
    Amount,
    Model,
    Name,
    Text,
    TypeWords,
    Validity,
    check_order,
    refusal,
)

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu")
"""Extended resources that `gpuHour` prices: whole GPUs."""

MAX_PRIORITY = 1000


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _by_model(value: object) -> object:
    return value if isinstance(value, dict) else {"default": value}


OneOf = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_listed),
    TypeWords("text or list of texts"),
]
"""One value, or several of which any will do."""


CapacityTypes = Annotated[
    tuple[Literal["on-demand", "spot", "reserved"], ...],
    BeforeValidator(_listed),
    TypeWords("on-demand, spot or reserved, or a list of them"),
]


def words_of(model: str) -> frozenset[str]:
    """The words of a GPU model: what stands between hyphens, in lower case."""
    return frozenset(model.lower().replace(" ", "-").split("-")) - {""}


class PerModel(Model):
    """A figure per GPU, by the GPU's model."""

    default: Amount | None = Field(
        default=None,
        description="For every model that `byModel` does not name. Without it, those have none.",
    )
    by_model: Mapping[str, Amount] = Field(
        default_factory=dict,
        description="By model, as the node's GPU product label has it, or by words of it: H100 "
        "stands for NVIDIA-H100-80GB-HBM3 too.",
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        seen: dict[str, str] = {}
        for model in self.by_model:
            other = seen.setdefault(model.lower(), model)
            if other != model or not words_of(model):
                raise refusal(
                    f"{model!r} names no model, or the same as {other!r}",
                    hint="case does not count; keep one of them",
                    at=("byModel", model),
                )
        if self.default is None and not self.by_model:
            raise refusal("neither default nor byModel is set", hint="set one of them")
        return self

    @cached_property
    def _ranked(self) -> tuple[tuple[frozenset[str], Decimal], ...]:
        ranked = sorted(
            self.by_model.items(), key=lambda item: (-len(words_of(item[0])), -len(item[0]), item)
        )
        return tuple((words_of(model), amount) for model, amount in ranked)

    @cached_property
    def _exact(self) -> dict[str, Decimal]:
        return {model.lower(): amount for model, amount in self.by_model.items()}

    def of(self, model: str) -> Decimal | None:
        """The figure for a GPU of `model` ("" where the node does not say), or None."""
        if not model:
            return self.default
        exact = self._exact.get(model.lower())
        if exact is not None:
            return exact
        words = words_of(model)
        return next((amount for key, amount in self._ranked if key <= words), self.default)


GpuFigure = Annotated[PerModel, BeforeValidator(_by_model), TypeWords("amount or")]


class NodeSelector(Model):
    """Which nodes an entry is for: all that is named must fit; nothing named fits every node."""

    instance_type: OneOf = Field(
        default=(), description="Instance type (label node.kubernetes.io/instance-type)."
    )
    capacity_type: CapacityTypes = Field(default=(), description="How it was bought.")
    zone: OneOf = Field(default=(), description="Zone (label topology.kubernetes.io/zone).")
    region: OneOf = Field(default=(), description="Region (label topology.kubernetes.io/region).")
    pool: OneOf = Field(default=(), description="Node pool or node group.")
    labels: Mapping[str, str] = Field(
        default_factory=dict, description="Labels that the node must have, with these values."
    )

    def wants(self) -> Mapping[str, frozenset[str]]:
        """Each thing that is named, with the values that will do; labels as `label:KEY`."""
        fields = ("instance_type", "capacity_type", "zone", "region", "pool")
        wants = {name: frozenset(getattr(self, name)) for name in fields if getattr(self, name)}
        return wants | {f"label:{key}": frozenset({value}) for key, value in self.labels.items()}


class ResourcePrices(Model):
    """Prices per unit of each resource and hour."""

    cpu_core_hour: Amount | None = Field(default=None, description="One core for one hour.")
    memory_gib_hour: Amount | None = Field(
        default=None,
        alias="memoryGiBHour",
        description="One GiB (2^30 bytes) of memory for one hour.",
    )
    gpu_hour: GpuFigure | None = Field(
        default=None,
        description="One whole GPU for one hour: an amount, or default and byModel.",
    )
    resources: Mapping[str, Amount] = Field(
        default_factory=dict,
        description="Any other resource by its name, per unit and hour: GiB for "
        "ephemeral-storage and hugepages-*, one of it for everything else.",
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        for name, instead in (("cpu", "cpuCoreHour"), ("memory", "memoryGiBHour")):
            if name in self.resources:
                raise refusal(
                    f"{name} has a field of its own", hint=f"use {instead}", at=("resources", name)
                )
        if not self.model_fields_set:
            raise refusal("no price at all", hint="set cpuCoreHour, memoryGiBHour or gpuHour")
        return self


class SplitWeights(Model):
    """Relative price of one core, one GiB and one GPU, by which a whole-node price is split."""

    cpu: Amount = Field(description="Weight of one core.")
    memory: Amount = Field(description="Weight of one GiB of memory.")
    gpu: GpuFigure = Field(
        description="Weight of one GPU: a number, or default and byModel. 0 where there are none."
    )
    resources: Mapping[str, Amount] = Field(
        default_factory=dict, description="Weight of one unit of any other resource, by its name."
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if not self.cpu and not self.memory:
            raise refusal(
                "cpu and memory have no weight, so a node without GPUs could not be split",
                hint="give one of them a weight above 0",
            )
        return self


class Discount(Model):
    """What is taken off every price, in per cent."""

    percent: Amount = Field(description="Taken off every resource, GPUs included.", le=Decimal(100))
    gpu_percent: Amount | None = Field(
        default=None, description="Taken off accelerators instead of percent.", le=Decimal(100)
    )


class PriceEntry(Validity):
    """What some nodes cost: `nodeHour` or `perResource`."""

    name: Name = Field(description="Name of the entry, unique in the book; cost rows point to it.")
    node: NodeSelector = Field(
        default_factory=NodeSelector,
        description="Which nodes this entry is for. Without it: all.",
    )
    node_hour: Amount | None = Field(
        default=None,
        description="Price of the whole node for one hour, accelerators included.",
    )
    per_resource: ResourcePrices | None = Field(
        default=None, description="Prices per unit of each resource; instead of nodeHour."
    )
    split_weights: SplitWeights | None = Field(
        default=None, description="How nodeHour is split over the resources; else the book's."
    )
    discount: Discount | None = Field(
        default=None, description="Taken off the prices of this entry; else the book's."
    )
    priority: int | None = Field(
        default=None,
        ge=-MAX_PRIORITY,
        le=MAX_PRIORITY,
        description="The entry of the higher priority wins; else the book's.",
    )
    source: Text | None = Field(
        default=None, description="Where the figures come from; else the book's."
    )
    unusual: Text | None = Field(
        default=None,
        description="Why figures outside the plausible bounds are right; shown with each price.",
    )

    @model_validator(mode="after")
    def _checked(self) -> Self:
        check_order(self)
        if (self.node_hour is None) == (self.per_resource is None):
            raise refusal(
                "an entry has either nodeHour or perResource",
                hint="nodeHour is the price of the whole node, accelerators included",
            )
        if self.split_weights and self.node_hour is None:
            raise refusal(
                "splitWeights split a nodeHour, and there is none",
                hint="remove it, perResource prices need no split",
                at=("splitWeights",),
            )
        return self


_DEFAULT_WEIGHTS = {
    "cpu": "7.46",
    "memory": "1",
    "gpu": {
        "default": "224",
        "byModel": {
            "T4": "83",
            "L4": "132",
            "V100": "585",
            "A10G": "190",
            "A10": "190",
            "A100": "690",
            "A100-80GB": "930",
            "L40S": "375",
            "H100": "2300",
            "H200": "2200",
            "B200": "2900",
        },
    },
}


@cache
def default_weights() -> SplitWeights:
    """Weights where neither entry nor book has any; see "Default weights" in the explanation."""
    return SplitWeights.model_validate(_DEFAULT_WEIGHTS)
