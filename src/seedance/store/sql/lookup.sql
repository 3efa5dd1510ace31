-- name: samples_between
SELECT sid, ts, value
FROM samples
WHERE metric_id IN {metric_ids:Array(UInt32)} AND sid IN {sids:Array(UInt64)}
  AND ts >= {first:DateTime64(3, 'UTC')} AND ts <= {last:DateTime64(3, 'UTC')}

-- name: newest_of
SELECT sid, max(ts) AS ts
FROM samples
WHERE metric_id IN {metric_ids:Array(UInt32)} AND sid IN {sids:Array(UInt64)}
GROUP BY sid

-- name: sync_samples
ALTER TABLE samples MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
min_rows_to_fsync_after_merge = 1

-- name: sync_series
ALTER TABLE series MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
min_rows_to_fsync_after_merge = 1

-- name: sync_metrics
ALTER TABLE metrics MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
min_rows_to_fsync_after_merge = 1
