-- name: meta_table
SELECT count() AS found FROM system.tables WHERE database = currentDatabase() AND name = 'meta'

-- name: read_meta
SELECT key, value FROM meta FINAL

-- name: table_sizes
SELECT t.name AS name, toUInt64(coalesce(sum(p.bytes_on_disk), 0)) AS bytes,
       toUInt64(coalesce(sum(p.rows), 0)) AS rows
FROM system.tables AS t
LEFT JOIN (SELECT table, bytes_on_disk, rows FROM system.parts
           WHERE database = currentDatabase() AND active) AS p ON p.table = t.name
WHERE t.database = currentDatabase()
GROUP BY name ORDER BY name
