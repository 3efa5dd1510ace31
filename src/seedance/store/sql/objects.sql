-- name: open_versions
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc
FROM objects FINAL
WHERE cluster = {cluster:String} AND valid_to >= toDateTime64('2099-01-01 00:00:00', 3, 'UTC')
ORDER BY kind, uid, valid_from

-- name: versions_in
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc
FROM objects FINAL
WHERE cluster = {cluster:String}
  AND (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind))
  AND valid_from < {end:DateTime64(3, 'UTC')} AND valid_to > {start:DateTime64(3, 'UTC')}
ORDER BY kind, uid, valid_from

-- name: lives_in
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc
FROM objects FINAL
WHERE cluster = {cluster:String}
  AND (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind))
  AND uid IN (
      SELECT uid FROM objects FINAL
      WHERE cluster = {cluster:String}
        AND (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind))
        AND valid_from < {end:DateTime64(3, 'UTC')} AND valid_to > {start:DateTime64(3, 'UTC')})
ORDER BY kind, uid, valid_from

-- Ends that were estimated lately (`since` is when that was written), each with the creation of the
-- next object of that name, or 1970 where there is none.
-- name: estimated_since
SELECT lost.cluster AS cluster, lost.kind AS kind, lost.uid AS uid, lost.namespace AS namespace,
       lost.name AS name, lost.valid_from AS valid_from, lost.valid_to AS valid_to,
       lost.ended AS ended, lost.doc AS doc,
       minIf(next.valid_from, next.uid != lost.uid AND next.valid_from >= lost.valid_to) AS heir
FROM (SELECT * FROM objects FINAL
      WHERE cluster = {cluster:String} AND has({kinds:Array(String)}, kind)
        AND ended = 'estimated' AND at >= {since:DateTime64(3, 'UTC')}) AS lost
INNER JOIN (SELECT kind, namespace, name, uid, valid_from FROM objects FINAL
            WHERE cluster = {cluster:String} AND has({kinds:Array(String)}, kind)) AS next
ON lost.kind = next.kind AND lost.namespace = next.namespace AND lost.name = next.name
GROUP BY cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc
ORDER BY kind, uid, valid_from

-- Sort keys are text, so that one statement serves every order; `down` turns it round.
-- name: objects_at
WITH multiIf({sort:String} = 'namespace', namespace,
             {sort:String} = 'age', JSONExtractString(doc, 'created'),
             {sort:String} = 'cluster', cluster, name) AS sort_key
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc,
       count() OVER () AS found
FROM objects FINAL
WHERE kind = {kind:String}
  AND valid_from <= {at:DateTime64(3, 'UTC')} AND valid_to > {at:DateTime64(3, 'UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
  AND ({namespace:String} = '' OR namespace = {namespace:String})
  AND ({name:String} = '' OR name = {name:String})
  AND arrayAll((k, v) -> JSONExtractString(doc, 'labels', k) = v,
               {label_keys:Array(String)}, {label_values:Array(String)})
ORDER BY if({down:UInt8} = 1, '', sort_key) ASC, if({down:UInt8} = 1, sort_key, '') DESC,
         cluster ASC, namespace ASC, name ASC, uid ASC
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- name: count_objects_at
SELECT count() AS found
FROM objects FINAL
WHERE kind = {kind:String}
  AND valid_from <= {at:DateTime64(3, 'UTC')} AND valid_to > {at:DateTime64(3, 'UTC')}
  AND ({cluster:String} = '' OR cluster = {cluster:String})
  AND ({namespace:String} = '' OR namespace = {namespace:String})
  AND ({name:String} = '' OR name = {name:String})
  AND arrayAll((k, v) -> JSONExtractString(doc, 'labels', k) = v,
               {label_keys:Array(String)}, {label_values:Array(String)})

-- name: history_of
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc
FROM objects FINAL
WHERE cluster = {cluster:String} AND kind = {kind:String}
  AND namespace = {namespace:String} AND name = {name:String}
ORDER BY valid_from, uid

-- name: clusters
SELECT cluster, name, first_seen, at FROM clusters FINAL ORDER BY name, cluster
