-- The three grains, each as rows of one shape. Amounts are whole picos (Int128), so that sums are
-- exact; `known` is what was requested over the time in which use is known, in resource-hours.
-- `/*DAY_BUCKET*/` and `/*HOUR_BUCKET*/` give the number of the time step, from the set's id.
-- name: report_day_rows
SELECT toUInt32(/*DAY_BUCKET*/) AS bucket, entity, resource, price_id, reason,
       requested, used, charged, unused, covered, alive,
       if(alive > 0, requested * least(covered / alive, 1), 0) AS known,
       reinterpret(ifNull(cost, 0), 'Int128') AS picos, isNotNull(cost) AS priced,
       reinterpret(ifNull(unused_cost, 0), 'Int128') AS unused_picos, overcommit, flags
FROM cost_days
WHERE settle_id IN {day_ids:Array(UInt64)}
  AND day >= toDate({start:DateTime('UTC')}) AND day <= toDate({end:DateTime('UTC')})

-- name: report_hour_rows
SELECT toUInt32(/*HOUR_BUCKET*/) AS bucket, entity, resource, price_id, reason,
       requested, used, charged, unused, covered, alive,
       if(alive > 0, requested * least(covered / alive, 1), 0) AS known,
       reinterpret(ifNull(cost, 0), 'Int128') AS picos, isNotNull(cost) AS priced,
       reinterpret(ifNull(unused_cost, 0), 'Int128') AS unused_picos, overcommit, flags
FROM cost_hours
WHERE settle_id IN {hour_ids:Array(UInt64)}
  AND hour >= toStartOfHour({start:DateTime('UTC')}) AND hour < {end:DateTime('UTC')}

-- Minutes [first, last) of an hour. A row's money up to minute m is its hour's money times its
-- share of the hour's weight up to m, rounded half-even; the part is the difference of two such,
-- so adjacent windows add up exactly. A row without minutes or weight is cut by time; one that did
-- not live in these minutes is left out.
-- name: report_minute_rows
WITH
    arrayResize(m.c, 60, 0.) AS weight,
    arrayResize(m.r, 60, 0.) AS req,
    arrayResize(m.u, 60, 0.) AS use,
    weight AS chg,
    arrayResize(m.k, 60, 0) AS cov,
    arrayMap((c, u, k) -> greatest(c * k / 60 - u, 0.), chg, use, cov) AS idle_part,
    arrayMap((c, r) -> if(c > 0 OR r > 0, 1., 0.), chg, req) AS lived,
    arraySum(weight) AS weight_all, arraySum(idle_part) AS idle_all, arraySum(lived) AS lived_all,
    if(weight_all > 0, arraySum(arraySlice(weight, 1, cut_first)) / weight_all, cut_first / 60) AS share_first,
    if(weight_all > 0, arraySum(arraySlice(weight, 1, cut_last)) / weight_all, cut_last / 60) AS share_last,
    if(idle_all > 0, arraySum(arraySlice(idle_part, 1, cut_first)) / idle_all, cut_first / 60) AS gap_first,
    if(idle_all > 0, arraySum(arraySlice(idle_part, 1, cut_last)) / idle_all, cut_last / 60) AS gap_last,
    if(lived_all > 0, arraySum(arraySlice(lived, cut_first + 1, cut_last - cut_first)) / lived_all,
       (cut_last - cut_first) / 60) AS time_share,
    cut_last - cut_first AS width
SELECT {cut_buckets:Array(UInt32)}[cut] AS bucket, h.entity AS entity, h.resource AS resource,
       h.price_id AS price_id, h.one_reason AS reason,
       arraySum(arraySlice(req, cut_first + 1, width)) / 60 AS requested,
       arraySum(arraySlice(use, cut_first + 1, width)) / 60 AS used,
       if(weight_all > 0, arraySum(arraySlice(chg, cut_first + 1, width)) / 60,
          h.charged_all * width / 60) AS charged,
       arraySum(arraySlice(idle_part, cut_first + 1, width)) / 60 AS unused,
       arraySum(arraySlice(cov, cut_first + 1, width)) / 3600 AS covered,
       h.alive_all * time_share AS alive,
       if(alive > 0, requested * least(covered / alive, 1), 0) AS known,
       if(cut_last >= 60, h.picos_all, toInt128(roundBankers(toFloat64(h.picos_all) * share_last)))
           - if(cut_first = 0, toInt128(0), toInt128(roundBankers(toFloat64(h.picos_all) * share_first))) AS picos,
       h.any_priced AS priced,
       if(cut_last >= 60, h.unused_all, toInt128(roundBankers(toFloat64(h.unused_all) * gap_last)))
           - if(cut_first = 0, toInt128(0), toInt128(roundBankers(toFloat64(h.unused_all) * gap_first))) AS unused_picos,
       h.most AS overcommit, h.marks AS flags
FROM (
    SELECT settle_id, entity, resource, price_id, max(reason) AS one_reason,
           sum(charged) AS charged_all, sum(alive) AS alive_all,
           sum(reinterpret(ifNull(cost, 0), 'Int128')) AS picos_all, max(isNotNull(cost)) AS any_priced,
           sum(reinterpret(ifNull(unused_cost, 0), 'Int128')) AS unused_all,
           max(overcommit) AS most, groupBitOr(flags) AS marks
    FROM cost_hours WHERE settle_id IN {cut_sets:Array(UInt64)}
      AND hour >= toStartOfHour({start:DateTime('UTC')}) AND hour < {end:DateTime('UTC')}
    GROUP BY settle_id, entity, resource, price_id) AS h
LEFT JOIN (
    SELECT settle_id, entity, resource, price_id, sumForEach(requested) AS r, sumForEach(used) AS u,
           sumForEach(charged) AS c, sumForEach(covered) AS k
    FROM usage_minutes WHERE settle_id IN {cut_sets:Array(UInt64)}
      AND hour >= toStartOfHour({start:DateTime('UTC')}) AND hour < {end:DateTime('UTC')}
    GROUP BY settle_id, entity, resource, price_id) AS m
ON h.settle_id = m.settle_id AND h.entity = m.entity AND h.resource = m.resource AND h.price_id = m.price_id
ARRAY JOIN arrayFilter(i -> {cut_sets:Array(UInt64)}[i] = h.settle_id, arrayEnumerate({cut_sets:Array(UInt64)})) AS cut,
           arrayMap(i -> {cut_firsts:Array(UInt8)}[i], arrayFilter(i -> {cut_sets:Array(UInt64)}[i] = h.settle_id, arrayEnumerate({cut_sets:Array(UInt64)}))) AS cut_first,
           arrayMap(i -> {cut_lasts:Array(UInt8)}[i], arrayFilter(i -> {cut_sets:Array(UInt64)}[i] = h.settle_id, arrayEnumerate({cut_sets:Array(UInt64)}))) AS cut_last
WHERE time_share > 0
