-- What the store was last settled with, and in which currencies.
-- name: adopted
SELECT value FROM meta FINAL WHERE key = 'manifests'

-- name: adopt
INSERT INTO meta (key, value, at) VALUES ('manifests', {fingerprint:String}, {now:DateTime64(3, 'UTC')})

-- name: stored_currencies
SELECT DISTINCT toString(currency) AS currency FROM prices WHERE currency != '' ORDER BY currency
