-- Schema version 1. One statement per `;` at the end of a line; each may run again after a crash.
-- Times are UTC. How long rows stay is in `retention.sql`. Settle ids are microseconds since the
-- epoch at which a settle began, made unique.

CREATE TABLE IF NOT EXISTS meta (key String, value String, at DateTime64(6, 'UTC') DEFAULT now64(6))
ENGINE = ReplacingMergeTree(at) ORDER BY key;

CREATE TABLE IF NOT EXISTS clusters (
    cluster String, name String, first_seen DateTime64(3, 'UTC'), at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY cluster;

-- One row per version of an object; a newer row of the same key (with valid_to set) replaces it.
-- Read with FINAL. An open version has valid_to = 2100-01-01.
CREATE TABLE IF NOT EXISTS objects (
    cluster LowCardinality(String), kind LowCardinality(String), uid String,
    namespace LowCardinality(String), name String,
    valid_from DateTime64(3, 'UTC'), valid_to DateTime64(3, 'UTC'),
    ended LowCardinality(String), doc String CODEC(ZSTD(3)), at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY (cluster, kind, uid, valid_from);

-- `cluster` is what the token or the cluster label said ("" = nothing); matched to a cluster id
-- when settling.
CREATE TABLE IF NOT EXISTS series (
    sid UInt64, metric LowCardinality(String), cluster LowCardinality(String),
    door LowCardinality(String), namespace LowCardinality(String), pod String,
    container LowCardinality(String), labels Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY (metric, cluster, namespace, pod, container, sid);

CREATE TABLE IF NOT EXISTS metrics (metric_id UInt32, metric String, at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY metric;

-- The window of remembered tokens covers a replay whose batches span many hours each.
CREATE TABLE IF NOT EXISTS samples (
    metric_id UInt32, sid UInt64,
    ts DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)), value Float64 CODEC(Gorilla, ZSTD(1)))
ENGINE = MergeTree PARTITION BY toStartOfHour(ts) ORDER BY (metric_id, sid, ts)
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;

-- A window is dirty when a fact about it arrived after the current settle of it began.
CREATE TABLE IF NOT EXISTS dirty (
    cluster LowCardinality(String), hour DateTime('UTC'), reason LowCardinality(String),
    at DateTime64(6, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY (cluster, hour, reason);

-- Who and what a cost row is about, as it stood then; the number is a hash of all other columns
-- but `at`. *_origin is `pod:label team`, `namespace:annotation owner`, `default` … or, where the
-- value is "", the reason (`no-owner-key`, `no-rules`).
CREATE TABLE IF NOT EXISTS entities (
    entity UInt64, cluster LowCardinality(String), kind LowCardinality(String),
    node String, node_uid String, instance_type LowCardinality(String),
    zone LowCardinality(String), capacity_type LowCardinality(String),
    namespace LowCardinality(String), workload_kind LowCardinality(String), workload String,
    workload_uid String, pod String, pod_uid String, container LowCardinality(String),
    labels Map(LowCardinality(String), String),
    label_origins Map(LowCardinality(String), LowCardinality(String)),
    annotations Map(LowCardinality(String), String),
    annotation_origins Map(LowCardinality(String), LowCardinality(String)),
    domain LowCardinality(String), domain_origin LowCardinality(String),
    environment LowCardinality(String), environment_origin LowCardinality(String),
    team LowCardinality(String), team_origin LowCardinality(String),
    at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY entity;

-- Where a price stood: cost rows point here.
CREATE TABLE IF NOT EXISTS prices (
    price_id UInt64, currency LowCardinality(String), book String, entry String, source String,
    estimate UInt8, per_hour Map(LowCardinality(String), Decimal(38, 12)),
    reason LowCardinality(String), at DateTime64(3, 'UTC'))
ENGINE = ReplacingMergeTree(at) ORDER BY price_id;

-- One row makes a settled set current: the largest settle_id of (cluster, start, seconds) counts.
-- seconds is 3600 or 86400.
CREATE TABLE IF NOT EXISTS settles (
    cluster LowCardinality(String), start DateTime('UTC'), seconds UInt32, settle_id UInt64,
    provisional UInt8, began DateTime64(6, 'UTC'), ended DateTime64(6, 'UTC'),
    rows UInt64, node_cost Decimal(38, 12), row_cost Decimal(38, 12), violations UInt32,
    violation_text String)
ENGINE = MergeTree PARTITION BY toYYYYMM(start) ORDER BY (cluster, start, seconds, settle_id);

-- Quantities are resource-hours (core-hours, GiB-hours, GPU-hours …). covered and alive are hours.
-- cost is NULL where unpriced. Partitions are days, so that removing a replaced set of the running
-- hour rewrites the masks of one day only.
CREATE TABLE IF NOT EXISTS cost_hours (
    settle_id UInt64, hour DateTime('UTC'), entity UInt64, resource LowCardinality(String),
    price_id UInt64, requested Float64, used Float64, charged Float64, unused Float64,
    covered Float64, alive Float64, cost Nullable(Decimal(38, 12)),
    unused_cost Nullable(Decimal(38, 12)), overcommit Float32, flags UInt32,
    reason LowCardinality(String))
ENGINE = MergeTree PARTITION BY toDate(hour) ORDER BY settle_id
SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS cost_days (
    settle_id UInt64, day Date, entity UInt64, resource LowCardinality(String), price_id UInt64,
    requested Float64, used Float64, charged Float64, unused Float64, covered Float64,
    alive Float64, cost Nullable(Decimal(38, 12)), unused_cost Nullable(Decimal(38, 12)),
    overcommit Float32, flags UInt32, reason LowCardinality(String))
ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY settle_id;

-- The minute grain: 60 slots an hour. Unit-minutes are resource-seconds / 60 (mean cores, mean GiB
-- …); covered is seconds known (0–60). One row for each row of `cost_hours`, joined on settle_id,
-- entity, resource and price_id: a row has one unit price, so its cost is spread as `charged` is.
CREATE TABLE IF NOT EXISTS usage_minutes (
    settle_id UInt64, hour DateTime('UTC'), entity UInt64, resource LowCardinality(String),
    price_id UInt64, requested Array(Float32) CODEC(ZSTD(1)), used Array(Float32) CODEC(ZSTD(1)),
    charged Array(Float32) CODEC(ZSTD(1)), covered Array(UInt8) CODEC(ZSTD(1)))
ENGINE = MergeTree PARTITION BY toDate(hour) ORDER BY settle_id
SETTINGS ttl_only_drop_parts = 1;
