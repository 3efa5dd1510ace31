-- name: all_series
SELECT sid, metric, cluster, door, labels
FROM series FINAL
WHERE sid > {after:UInt64}
ORDER BY sid
LIMIT {limit:UInt64}

-- name: series_of
SELECT sid, metric, cluster, door, namespace, pod, container
FROM series FINAL
WHERE metric IN {metrics:Array(String)}
ORDER BY sid

-- name: series_labels
SELECT sid, labels
FROM series FINAL
WHERE metric IN {metrics:Array(String)}
ORDER BY sid

-- name: metric_ids
SELECT metric, metric_id FROM metrics FINAL ORDER BY metric_id

-- name: read_samples
SELECT sid, ts, value
FROM samples
WHERE metric_id = {metric_id:UInt32} AND sid BETWEEN {first_sid:UInt64} AND {last_sid:UInt64}
  AND ts >= {start:DateTime64(3, 'UTC')} AND ts < {end:DateTime64(3, 'UTC')}
ORDER BY sid, ts

-- name: series_seen
SELECT sid FROM samples
WHERE metric_id = {metric_id:UInt32}
  AND ts >= {start:DateTime64(3, 'UTC')} AND ts < {end:DateTime64(3, 'UTC')}
GROUP BY sid ORDER BY sid

-- name: read_some_samples
SELECT sid, ts, value FROM samples
WHERE metric_id = {metric_id:UInt32} AND sid IN {sids:Array(UInt64)}
  AND ts >= {start:DateTime64(3, 'UTC')} AND ts < {end:DateTime64(3, 'UTC')}
ORDER BY sid, ts

-- name: last_timestamps
SELECT sid, max(samples.ts) AS newest
FROM samples
WHERE samples.ts >= {since:DateTime64(3, 'UTC')}
GROUP BY sid

-- Names of pods travel as `namespace/pod`, which no name can hold by itself.
-- name: last_samples_of_pods
WITH wanted AS (
    SELECT sid, metric, concat(namespace, '/', pod) AS key
    FROM series FINAL
    WHERE cluster IN {clusters:Array(String)} AND concat(namespace, '/', pod) IN {pods:Array(String)})
SELECT wanted.key AS key, max(samples.ts) AS newest
FROM samples
INNER JOIN wanted ON wanted.sid = samples.sid
WHERE samples.metric_id IN (SELECT metric_id FROM metrics FINAL
                            WHERE metric IN (SELECT metric FROM wanted))
  AND samples.sid IN (SELECT sid FROM wanted)
  AND samples.ts >= {since:DateTime64(3, 'UTC')} AND samples.ts < {before:DateTime64(3, 'UTC')}
  AND isFinite(samples.value) -- the stale marker is written a scrape after the end
GROUP BY key

-- name: labels_of_series
SELECT sid, any(door) AS door, any(labels) AS labels
FROM series WHERE sid IN {sids:Array(UInt64)} GROUP BY sid

-- Label sets that were first seen before `before` and have no sample left. The largest number
-- stays, since the next one is counted from it.
-- name: forget_series
DELETE FROM series
WHERE at < {before:DateTime64(3, 'UTC')}
  AND sid < (SELECT max(sid) FROM series)
  AND sid NOT IN (SELECT sid FROM samples)
