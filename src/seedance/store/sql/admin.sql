-- Current sets whose settle row and cost rows disagree. The first two days of the retention are
-- left out: there the one may have expired before the other.
-- name: check_hour_sets
SELECT cluster, start, settle_id, settles.rows AS told_rows, found.rows AS found_rows,
       row_cost, node_cost, found.cost AS found_cost
FROM (SELECT cluster, start, settle_id, rows, row_cost, node_cost FROM settles
      WHERE seconds = 3600 AND start >= {since:DateTime('UTC')}
      ORDER BY cluster, start, settle_id DESC LIMIT 1 BY cluster, start) AS settles
LEFT JOIN (SELECT settle_id, count() AS rows, coalesce(sum(cost), toDecimal128(0, 12)) AS cost
           FROM cost_hours GROUP BY settle_id) AS found USING settle_id
WHERE told_rows != found_rows OR row_cost != found_cost OR row_cost != node_cost
ORDER BY start, cluster LIMIT 100

-- name: check_day_sets
SELECT cluster, start, settle_id, settles.rows AS told_rows, found.rows AS found_rows,
       row_cost, node_cost, found.cost AS found_cost
FROM (SELECT cluster, start, settle_id, rows, row_cost, node_cost FROM settles
      WHERE seconds = 86400 AND start >= {since:DateTime('UTC')}
      ORDER BY cluster, start, settle_id DESC LIMIT 1 BY cluster, start) AS settles
LEFT JOIN (SELECT settle_id, count() AS rows, coalesce(sum(cost), toDecimal128(0, 12)) AS cost
           FROM cost_days GROUP BY settle_id) AS found USING settle_id
WHERE told_rows != found_rows OR row_cost != found_cost OR row_cost != node_cost
ORDER BY start, cluster LIMIT 100

-- name: check_samples_without_series
SELECT uniqExact(sid) AS found FROM samples WHERE sid NOT IN (SELECT sid FROM series)

-- name: check_samples_without_metric
SELECT uniqExact(metric_id) AS found FROM samples
WHERE metric_id NOT IN (SELECT metric_id FROM metrics)

-- name: check_costs_without_entity
SELECT uniqExact(entity) AS found
FROM (SELECT entity FROM cost_hours UNION ALL SELECT entity FROM cost_days)
WHERE entity NOT IN (SELECT entity FROM entities)

-- name: check_costs_without_price
SELECT uniqExact(price_id) AS found
FROM (SELECT price_id FROM cost_hours UNION ALL SELECT price_id FROM cost_days)
WHERE price_id NOT IN (SELECT price_id FROM prices)

-- name: check_objects_twice_open
SELECT count() AS found FROM (
    SELECT cluster, kind, uid FROM objects FINAL
    WHERE valid_to >= toDateTime64('2099-01-01 00:00:00', 3, 'UTC')
    GROUP BY cluster, kind, uid HAVING count() > 1)

-- name: check_table
CHECK TABLE {table:Identifier} SETTINGS check_query_single_value_result = 0
