-- The one place where costs are added up.
--   raw     rows of the three grains (report_rows.sql), whatever the window needs
--   things  one row per step, entity, resource and price: entities are joined once, after grouping
--   parts   sums per key, resource and pool (where idle is shared: cluster, or cluster and node);
--           what the filters leave out is one sum, with a count of its keys
--   kept    the parts of settled sets that an earlier question of the same shape has left
--   shared  each part's share of its pool's idle money: exact, by cumulative rounding
--   sums    per key and resource (level 0), per step and resource (1), per resource (2), all (3);
--           shown and hidden apart
--   ranked  keys in order; a page is a range of ranks, totals always come along
-- name: report_things
SELECT bucket, entity, resource, price_id, reason,
       sum(requested) AS t_requested, sumIf(used, covered > 0) AS t_used, sum(charged) AS t_charged,
       sum(unused) AS t_unused, sum(covered) AS t_covered, sum(alive) AS t_alive, sum(known) AS t_known,
       sumIf(used, known > 0) AS t_used_known, sum(picos) AS t_picos, sum(priced) AS t_priced,
       sumIf(charged, NOT priced) AS t_unpriced, sum(unused_picos) AS t_unused_picos,
       max(overcommit) AS t_overcommit, groupBitOr(flags) AS t_flags
FROM (/*ROWS*/) GROUP BY bucket, entity, resource, price_id, reason

-- The same where each entity has one row a set already: nothing to group.
-- name: report_things_plain
SELECT bucket, entity, resource, price_id, reason,
       requested AS t_requested, if(covered > 0, used, 0) AS t_used, charged AS t_charged,
       unused AS t_unused, covered AS t_covered, alive AS t_alive, known AS t_known,
       if(known > 0, used, 0) AS t_used_known, picos AS t_picos, toUInt64(priced) AS t_priced,
       if(priced, 0, charged) AS t_unpriced, unused_picos AS t_unused_picos,
       overcommit AS t_overcommit, flags AS t_flags
FROM (/*ROWS*/)

-- name: report_parts
SELECT bucket, keys, resource, shown, pool, kind = 'idle' AS is_idle, bears, any(why) AS p_why,
       sumIf(t_requested, bears) AS p_requested, sum(t_used) AS p_used,
       sumIf(t_charged, kind != 'idle') AS p_charged, sumIf(t_charged, kind = 'idle') AS p_idle,
       sum(t_unused) AS p_unused, sumIf(t_covered, kind = 'container') AS p_covered,
       sumIf(t_alive, kind = 'container') AS p_alive, sum(t_known) AS p_known,
       sum(t_used_known) AS p_used_known, sum(t_picos) AS p_picos, sum(t_priced) AS p_priced,
       sum(t_unpriced) AS p_unpriced, sum(t_unused_picos) AS p_unused_picos,
       max(t_overcommit) AS p_overcommit, groupBitOr(t_flags) AS p_flags,
       groupUniqArray(20)(price_id) AS p_prices,
       groupUniqArrayIf(20)(toString(reason), reason != '') AS p_reasons,
       groupUniqArray(20)(cluster) AS p_clusters, countIf(kind = '') AS p_strangers,
       uniqExactStateIf(cityHash64(all_keys), NOT shown) AS p_left
FROM (
    SELECT things.*, who.kind AS kind, who.cluster AS cluster, who.kind IN ('container', 'pod') AS bears,
           /*POOL*/ AS pool, /*KEYS*/ AS all_keys, /*WHY*/ AS why, /*SHOWN*/ AS shown,
           if(shown, all_keys, CAST([], 'Array(String)')) AS keys
    FROM (/*THINGS*/) AS things ANY LEFT JOIN (
        SELECT entity, toString(kind) AS kind, toString(cluster) AS cluster, node/*COLUMNS*/ FROM entities
    ) AS who ON things.entity = who.entity)
GROUP BY bucket, keys, resource, shown, pool, is_idle, bears

-- name: report_costs
WITH
parts AS (
/*PARTS*/
),
shared AS (
    SELECT *, /*SHARE*/ AS p_share
    FROM parts
),
sums AS (
    SELECT grouping(keys) + grouping(bucket) + grouping(resource) AS level, bucket, keys, resource, shown, any(p_why) AS why,
           sum(p_requested) AS requested, sum(p_used) AS used, sum(p_charged) AS charged, sum(p_idle) AS idle,
           sum(p_unused) AS unused, sum(p_covered) AS covered, sum(p_alive) AS alive,
           sum(p_known) AS known, sum(p_used_known) AS used_known,
           sum(p_picos) AS own_picos, sum(p_share) AS share_picos, sumIf(p_picos, is_idle) AS idle_picos,
           sum(p_priced) AS priced, sum(p_unpriced) AS unpriced, sum(p_unused_picos) AS unused_picos,
           max(p_overcommit) AS overcommit, groupBitOr(p_flags) AS flags,
           arraySort(groupUniqArrayArray(20)(p_prices)) AS prices, arraySort(groupUniqArrayArray(20)(p_reasons)) AS reasons,
           arraySort(groupUniqArrayArray(20)(p_clusters)) AS clusters, sum(p_strangers) AS strangers,
           uniqExactMerge(p_left) AS left_out
    FROM shared
    GROUP BY GROUPING SETS ((bucket, keys, resource, shown), (bucket, resource, shown), (resource, shown), (shown))
),
valued AS (
    SELECT *, /*SORT*/ AS sort_value FROM sums
),
ranked AS (
    SELECT *, dense_rank() OVER (PARTITION BY level, shown ORDER BY /*ORDER*/) AS place FROM valued
)
SELECT *, maxIf(place, level = 0 AND shown) OVER () AS found
FROM ranked
QUALIFY level > 0 OR (shown AND place > {offset:UInt64} AND place <= {offset:UInt64} + {limit:UInt64})
ORDER BY level DESC, shown DESC, place, bucket, resource

-- How idle is shared: a pool's idle money goes to those who are charged for the same resource, in
-- proportion to what they are charged; the idle rows carry the opposite amount, so sums stay.
-- Where nobody in the pool is charged, idle stays where it is.
-- name: report_share
(
    sumIf(p_picos, is_idle) OVER (PARTITION BY bucket, pool, resource) AS pool_idle,
    sumIf(p_picos, bears) OVER (PARTITION BY bucket, pool, resource) AS pool_weight,
    sumIf(p_picos, bears) OVER (PARTITION BY bucket, pool, resource ORDER BY keys, shown, bears, is_idle
                                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS upto,
    if(bears, p_picos, toInt128(0)) AS mine,
    toInt256(2) * pool_weight AS twice,
    multiIf(pool_weight <= 0, toInt128(0),
            is_idle, -p_picos,
            bears, toInt128(intDiv(toInt256(2) * pool_idle * upto + pool_weight, twice)
                            - intDiv(toInt256(2) * pool_idle * (upto - mine) + pool_weight, twice)),
            toInt128(0))
).6

-- What an answer can be sorted by, over all steps of a key.
-- name: sort_cost
sum(own_picos + share_picos) OVER (PARTITION BY level, shown, keys)

-- name: sort_unusedCost
sum(unused_picos) OVER (PARTITION BY level, shown, keys)

-- name: sort_idle
sum(idle_picos + share_picos) OVER (PARTITION BY level, shown, keys)

-- name: sort_efficiency
ifNull(sumIf(toFloat64(own_picos) * used_known / known, known > 0) OVER (PARTITION BY level, shown, keys)
       / nullIf(sumIf(toFloat64(own_picos), known > 0) OVER (PARTITION BY level, shown, keys), 0), -1)

-- name: sort_name
toInt128(0)

-- name: report_prices
SELECT price_id, currency, book, entry, source, estimate, reason
FROM prices WHERE price_id IN {ids:Array(UInt64)} LIMIT 1 BY price_id
