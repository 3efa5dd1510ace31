-- CURRENT_HOURS and CURRENT_DAYS: ids of the sets that count in a window; readers say
-- `settle_id IN (…)`. `cluster` "" means every cluster.
-- name: current_hours
SELECT max(settle_id) FROM settles
WHERE seconds = 3600 AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
GROUP BY cluster, start

-- name: current_days
SELECT max(settle_id) FROM settles
WHERE seconds = 86400 AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
GROUP BY cluster, start

-- name: current_settles
SELECT cluster, start, seconds, settle_id, provisional, began, ended, rows, node_cost, row_cost,
       violations, violation_text
FROM settles
WHERE seconds = {seconds:UInt32} AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
ORDER BY cluster, start, settle_id DESC
LIMIT 1 BY cluster, start

-- name: dirty_hours
SELECT hour FROM (
    SELECT start AS hour, toDateTime64('1970-01-01 00:00:00', 6, 'UTC') AS marked,
           argMax(began, settle_id) AS settled, argMax(provisional, settle_id) AS open
    FROM settles
    WHERE cluster = {cluster:String} AND seconds = 3600 AND start < {before:DateTime('UTC')}
    GROUP BY start
    UNION ALL
    SELECT hour, max(at) AS marked, toDateTime64('1970-01-01 00:00:00', 6, 'UTC') AS settled,
           toUInt8(0) AS open
    FROM dirty
    WHERE cluster = {cluster:String} AND hour < {before:DateTime('UTC')}
    GROUP BY hour)
GROUP BY hour
HAVING max(marked) > max(settled)
    OR (max(open) = 1 AND hour + INTERVAL 1 HOUR <= {before:DateTime('UTC')})
ORDER BY hour

-- name: put_settle
INSERT INTO settles (cluster, start, seconds, settle_id, provisional, began, ended, rows,
                     node_cost, row_cost, violations, violation_text)
VALUES ({cluster:String}, {start:DateTime('UTC')}, {seconds:UInt32}, {settle_id:UInt64},
        {provisional:UInt8}, {began:DateTime64(6, 'UTC')}, {ended:DateTime64(6, 'UTC')},
        {rows:UInt64}, {node_cost:Decimal(38, 12)}, {row_cost:Decimal(38, 12)},
        {violations:UInt32}, {violation_text:String})

-- The day's figures as its hours gave them; a day without settled hours has none.
-- name: day_of_hours
SELECT count() AS hours, max(provisional) AS provisional, sum(node_cost) AS node_cost,
       sum(violations) AS violations, max(settle_id) AS newest
FROM (SELECT start, settle_id, provisional, node_cost, violations FROM settles
      WHERE cluster = {cluster:String} AND seconds = 3600
        AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
      ORDER BY start, settle_id DESC LIMIT 1 BY start)

-- name: set_of_days
SELECT count() AS rows, sum(cost) AS cost FROM cost_days WHERE settle_id = {settle_id:UInt64}

-- name: superseded
SELECT seconds, start, settle_id, ended FROM (
    SELECT seconds, start, settle_id, ended,
           max(settle_id) OVER (PARTITION BY cluster, start, seconds) AS current,
           argMax(ended, settle_id) OVER (PARTITION BY cluster, start, seconds) AS replaced
    FROM settles)
WHERE settle_id < current AND replaced < {before:DateTime64(6, 'UTC')}

-- Sets that were written and never became current, since their writer died on the way. `since`
-- keeps the daily round to what is new: settle_id leads the order of these tables.
-- name: orphan_sets
SELECT DISTINCT 3600 AS seconds, toStartOfDay(hour) AS start, settle_id FROM cost_hours
WHERE settle_id >= {since:UInt64} AND settle_id < {before:UInt64}
  AND settle_id NOT IN (SELECT settle_id FROM settles)
UNION ALL
SELECT DISTINCT 3600 AS seconds, toStartOfDay(hour) AS start, settle_id FROM usage_minutes
WHERE settle_id >= {since:UInt64} AND settle_id < {before:UInt64}
  AND settle_id NOT IN (SELECT settle_id FROM settles)
UNION ALL
SELECT DISTINCT 86400 AS seconds, toDateTime(day, 'UTC') AS start, settle_id FROM cost_days
WHERE settle_id >= {since:UInt64} AND settle_id < {before:UInt64}
  AND settle_id NOT IN (SELECT settle_id FROM settles)

-- Deletes name their partition: without it every part of the table would be rewritten.
-- name: delete_cost_hours
DELETE FROM cost_hours IN PARTITION {partition:String} WHERE settle_id IN {ids:Array(UInt64)}

-- name: delete_usage_minutes
DELETE FROM usage_minutes IN PARTITION {partition:String} WHERE settle_id IN {ids:Array(UInt64)}

-- name: delete_cost_days
DELETE FROM cost_days IN PARTITION {partition:String} WHERE settle_id IN {ids:Array(UInt64)}

-- name: delete_settles
DELETE FROM settles IN PARTITION {partition:String} WHERE settle_id IN {ids:Array(UInt64)}

-- What earlier settles knew of the use of containers: for hours whose samples have expired.
-- name: minutes_of_use
SELECT e.pod_uid AS pod_uid, e.container AS container, m.resource AS resource,
       toUnixTimestamp(m.hour) AS hour, m.used AS used, m.covered AS covered
FROM usage_minutes AS m
INNER JOIN (
    SELECT entity, any(pod_uid) AS pod_uid, any(container) AS container
    FROM entities WHERE kind = 'container' AND cluster = {cluster:String} GROUP BY entity) AS e
    ON e.entity = m.entity
WHERE m.hour >= {start:DateTime('UTC')} AND m.hour < {end:DateTime('UTC')}
  AND m.resource IN {resources:Array(String)}
  AND m.settle_id IN (
    SELECT max(settle_id) FROM settles
    WHERE seconds = 3600 AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
      AND cluster = {cluster:String}
    GROUP BY cluster, start)
