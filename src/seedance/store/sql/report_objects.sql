-- Objects as they stood at an instant, newest version of each, one page and how many there are.
-- Selector: `ops` says how each key is tested, `sets` with which values. `whose` and `place` ask
-- for the pods of an owner (directly, or through one more object) and of a node.
-- name: report_objects
WITH multiIf({sort:String} = 'namespace', namespace, {sort:String} = 'kind', toString(kind),
             {sort:String} = 'age', JSONExtractString(doc, 'created'),
             {sort:String} = 'node', JSONExtractString(doc, 'node'),
             {sort:String} = 'cluster', toString(cluster), name) AS sort_key
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc, count() OVER () AS found
FROM objects FINAL
WHERE (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind))
  AND NOT has({never:Array(String)}, kind)
  AND valid_from <= {at:DateTime64(3, 'UTC')} AND valid_to > {at:DateTime64(3, 'UTC')}
  AND (empty({clusters:Array(String)}) OR has({clusters:Array(String)}, cluster))
  AND ({namespace:String} = '' OR namespace = {namespace:String})
  AND ({name:String} = '' OR name = {name:String})
  AND ({top:UInt8} = 0 OR NOT has({known:Array(String)}, JSONExtractString(doc, 'owner', 'kind')))
  AND ({place:String} = '' OR JSONExtractString(doc, 'node') = {place:String})
  AND ({whose:String} = '' OR JSONExtractString(doc, 'owner', 'uid') = {whose:String}
       OR JSONExtractString(doc, 'owner', 'uid') IN (
           SELECT uid FROM objects WHERE JSONExtractString(doc, 'owner', 'uid') = {whose:String} AND {whose:String} != ''))
  AND arrayAll((k, op, vs) -> multiIf(
          op = 'exists', JSONHas(doc, 'labels', k), op = 'absent', NOT JSONHas(doc, 'labels', k),
          op = 'in', JSONHas(doc, 'labels', k) AND has(vs, JSONExtractString(doc, 'labels', k)),
          NOT JSONHas(doc, 'labels', k) OR NOT has(vs, JSONExtractString(doc, 'labels', k))) = 1,
      {keys:Array(String)}, {ops:Array(String)}, {sets:Array(Array(String))})
ORDER BY if({down:UInt8} = 1, '', sort_key) ASC, if({down:UInt8} = 1, sort_key, '') DESC,
         cluster ASC, namespace ASC, name ASC, kind ASC, uid ASC
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- Every version of whatever bore the name, newest first.
-- name: report_history
SELECT cluster, kind, uid, namespace, name, valid_from, valid_to, ended, doc, count() OVER () AS found
FROM objects FINAL
WHERE (empty({kinds:Array(String)}) OR has({kinds:Array(String)}, kind)) AND NOT has({never:Array(String)}, kind)
  AND (empty({clusters:Array(String)}) OR has({clusters:Array(String)}, cluster))
  AND ({namespace:String} = '' OR namespace = {namespace:String}) AND name = {name:String}
  AND valid_from <= {at:DateTime64(3, 'UTC')}
ORDER BY valid_from DESC, uid
LIMIT {limit:UInt64}

-- name: report_doors
SELECT toString(door) AS door, count() AS series FROM series FINAL GROUP BY door ORDER BY door

-- What the series of some metrics name as their cluster.
-- name: report_cluster_words
SELECT DISTINCT toString(cluster) AS word FROM series WHERE metric IN {metrics:Array(String)} ORDER BY word

-- How many series of some words had a sample since an instant; words without one are left out.
-- name: report_words_heard
SELECT toString(cluster) AS word, uniqExact(sid) AS series FROM series
WHERE metric IN {metrics:Array(String)} AND cluster IN {words:Array(String)} AND sid IN (
    SELECT sid FROM samples
    WHERE metric_id IN (SELECT metric_id FROM metrics WHERE metric IN {metrics:Array(String)})
      AND sid IN (SELECT sid FROM series WHERE metric IN {metrics:Array(String)} AND cluster IN {words:Array(String)})
      AND ts >= {since:DateTime64(3, 'UTC')})
GROUP BY word ORDER BY word

-- The newest settled hour of each cluster, and the violations of all hours that count.
-- name: report_newest
SELECT cluster, argMax(start, start) AS hour, argMax(began, start) AS begun, argMax(ended, start) AS done,
       argMax(rows, start) AS row_count, argMax(provisional, start) AS open, sum(violations) AS broken,
       anyIf(violation_text, violations > 0) AS broken_text
FROM (SELECT cluster, start, settle_id, began, ended, rows, provisional, violations, violation_text FROM settles
      WHERE seconds = 3600 ORDER BY cluster, start, settle_id DESC LIMIT 1 BY cluster, start)
GROUP BY cluster ORDER BY cluster
