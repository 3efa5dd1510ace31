-- Which settled sets a report may read: one row per cluster and UTC day. `hours` is left out where
-- the day set is fresh (no hour of the day was settled after it) and the day lies in [whole_start,
-- whole_end), since then the day set stands for them.
-- name: report_sets
SELECT cluster, day,
       maxIf(settle_id, seconds = 86400) AS day_id,
       maxIf(settle_id, seconds = 3600) AS last_hour_id,
       day_id > 0 AND day_id >= last_hour_id
           AND day >= {whole_start:DateTime('UTC')} AND day < {whole_end:DateTime('UTC')} AS fresh,
       toUInt8(if(fresh, maxIf(open, seconds = 86400), maxIf(open, seconds = 3600))) AS provisional,
       if(fresh, maxIf(done, seconds = 86400), maxIf(done, seconds = 3600)) AS ended,
       if(fresh, [], arraySort(groupArrayIf((toUnixTimestamp(start), settle_id, open, toUnixTimestamp64Micro(begun)), seconds = 3600))) AS hours
FROM (
    SELECT cluster, start, seconds, toStartOfDay(start) AS day, max(settles.settle_id) AS settle_id,
           argMax(provisional, settles.settle_id) AS open, argMax(ended, settles.settle_id) AS done,
           argMax(began, settles.settle_id) AS begun
    FROM settles
    WHERE start >= toStartOfDay({start:DateTime('UTC')}) AND start < {end:DateTime('UTC')}
      AND (empty({clusters:Array(String)}) OR has({clusters:Array(String)}, cluster))
    GROUP BY cluster, start, seconds)
GROUP BY cluster, day
ORDER BY cluster, day

-- name: report_extent
SELECT min(start) AS first, max(start + toIntervalSecond(seconds)) AS last, count() AS sets FROM settles
WHERE empty({clusters:Array(String)}) OR has({clusters:Array(String)}, cluster)

-- name: report_clusters
SELECT cluster, argMax(name, at) AS name FROM clusters GROUP BY cluster ORDER BY cluster
