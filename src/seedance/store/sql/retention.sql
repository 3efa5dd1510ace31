-- How long rows stay, one statement a table. Run on a new store and whenever the settings change;
-- docs/reference/retention.md says the same in words and is checked against it. Tables that are
-- not here (meta, clusters, metrics, series) are kept.

-- name: retain_objects
ALTER TABLE objects MODIFY TTL toDateTime(valid_to) + toIntervalDay({hour_days:UInt16})
DELETE WHERE valid_to < toDateTime64('2099-01-01 00:00:00', 3, 'UTC');

-- name: retain_samples
ALTER TABLE samples MODIFY TTL toDateTime(ts) + toIntervalDay({raw_days:UInt16});

-- name: retain_dirty
ALTER TABLE dirty MODIFY TTL hour + toIntervalDay({raw_days:UInt16});

-- An entity or a price that is in use is written anew every 30 days (settles.REWRITE).
-- name: retain_entities
ALTER TABLE entities MODIFY TTL toDateTime(at) + toIntervalDay({day_days:UInt16} + 60);

-- name: retain_prices
ALTER TABLE prices MODIFY TTL toDateTime(at) + toIntervalDay({day_days:UInt16} + 60);

-- name: retain_settles
ALTER TABLE settles MODIFY TTL start + toIntervalDay({hour_days:UInt16}) DELETE WHERE seconds < 86400,
start + toIntervalDay({day_days:UInt16}) DELETE WHERE seconds >= 86400;

-- name: retain_cost_hours
ALTER TABLE cost_hours MODIFY TTL hour + toIntervalDay({hour_days:UInt16});

-- name: retain_cost_days
ALTER TABLE cost_days MODIFY TTL day + toIntervalDay({day_days:UInt16});

-- name: retain_usage_minutes
ALTER TABLE usage_minutes MODIFY TTL hour + toIntervalDay({minute_days:UInt16});
