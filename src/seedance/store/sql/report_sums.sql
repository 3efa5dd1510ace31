-- Parts that a question has left, for the next one of the same shape. In memory only: they can be
-- made anew at any time. `shape` is a hash of what was asked, `settle_id` the set that was summed.
-- Each table has a name of its own (`/*SUMS*/`), so that a reader of one that is gone fails loudly.
-- name: report_sums_table
CREATE TABLE /*SUMS*/ (
    shape UInt64, settle_id UInt64, keys Array(String), resource LowCardinality(String), shown UInt8,
    pool String, is_idle UInt8, bears UInt8, p_why Array(String), p_requested Float64, p_used Float64,
    p_charged Float64, p_idle Float64, p_unused Float64, p_covered Float64, p_alive Float64,
    p_known Float64, p_used_known Float64, p_picos Int128, p_priced UInt64, p_unpriced Float64,
    p_unused_picos Int128, p_overcommit Float32, p_flags UInt32, p_prices Array(UInt64),
    p_reasons Array(String), p_clusters Array(String), p_strangers UInt64,
    p_left AggregateFunction(uniqExact, UInt64))
ENGINE = Memory

-- name: report_sums_forget
DROP TABLE IF EXISTS /*SUMS*/ SYNC

-- name: report_sums_tables
SELECT name FROM system.tables WHERE database = currentDatabase() AND startsWith(name, 'report_sums') ORDER BY name

-- How many parts a day would leave: too many are not worth keeping.
-- name: report_sums_width
SELECT uniqExact(keys, pool) AS width FROM (
    SELECT /*POOL*/ AS pool, /*KEYS*/ AS keys
    FROM (SELECT entity, '' AS resource, toString(kind) AS kind, toString(cluster) AS cluster, node/*COLUMNS*/
          FROM entities))

-- name: report_keep
INSERT INTO /*SUMS*/
SELECT {shape:UInt64}, {keep_ids:Array(UInt64)}[bucket + 1], * EXCEPT (bucket) FROM (/*PARTS*/)

-- name: report_kept_days
SELECT toUInt32(transform(settle_id, {kept_days:Array(UInt64)}, {kept_day_buckets:Array(UInt32)}, 0)) AS bucket,
       * EXCEPT (shape, settle_id)
FROM /*SUMS*/ WHERE shape = {day_shape:UInt64} AND settle_id IN {kept_days:Array(UInt64)}

-- name: report_kept_hours
SELECT toUInt32(transform(settle_id, {kept_hours:Array(UInt64)}, {kept_hour_buckets:Array(UInt32)}, 0)) AS bucket,
       * EXCEPT (shape, settle_id)
FROM /*SUMS*/ WHERE shape = {hour_shape:UInt64} AND settle_id IN {kept_hours:Array(UInt64)}
