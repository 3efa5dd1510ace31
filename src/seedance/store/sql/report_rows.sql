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
-- so adjacent windows add up exactly. A row without minutes or weight is cut by time. `m` boils the
-- 60 slots of each row down to sums, since arrays are dear; `gap` is charged and not used where use
-- is known, slot by slot. A row that is charged in other minutes only is left out. `alive` is kept
-- by the hour alone: what of it is not covered lies where charged minutes leave room (`open`), so no
-- part is covered for longer than it lived, and adjacent parts add up.
-- name: report_minute_rows
WITH
    {cut_firsts:Array(UInt8)}[h.cut] AS cut_first, {cut_lasts:Array(UInt8)}[h.cut] AS cut_last,
    cut_last - cut_first AS width, h.cut = m.cut AS has_minutes,
    if(has_minutes AND m.weight > 0, m.weight_first / m.weight, cut_first / 60) AS share_first,
    if(has_minutes AND m.weight > 0, m.weight_last / m.weight, cut_last / 60) AS share_last,
    if(has_minutes AND m.gap > 0, m.gap_first / m.gap, cut_first / 60) AS gap_share_first,
    if(has_minutes AND m.gap > 0, m.gap_last / m.gap, cut_last / 60) AS gap_share_last,
    greatest(h.alive_all - m.covered_all / 3600, 0) AS blind,
    multiIf(has_minutes AND m.open > 0 AND m.open >= blind * 3599, m.open_inside / m.open,
            has_minutes AND m.slots * 60 > m.covered_all,
            (m.slots * width - m.covered) / (m.slots * 60 - m.covered_all), width / 60) AS blind_share
SELECT {cut_buckets:Array(UInt32)}[h.cut] AS bucket, h.entity AS entity, h.resource AS resource,
       h.price_id AS price_id, h.one_reason AS reason,
       m.requested / 60 AS requested, m.used / 60 AS used,
       if(has_minutes AND m.weight > 0, m.weight_last - m.weight_first, h.charged_all * width) / 60 AS charged,
       (m.gap_last - m.gap_first) / 60 AS unused, m.covered / 3600 AS covered,
       m.covered / 3600 + blind * blind_share AS alive,
       if(alive > 0, requested * least(covered / alive, 1), 0) AS known,
       if(cut_last >= 60, h.picos_all, toInt128(roundBankers(toFloat64(h.picos_all) * share_last)))
           - if(cut_first = 0, toInt128(0), toInt128(roundBankers(toFloat64(h.picos_all) * share_first))) AS picos,
       h.any_priced AS priced,
       if(cut_last >= 60, h.unused_all, toInt128(roundBankers(toFloat64(h.unused_all) * gap_share_last)))
           - if(cut_first = 0, toInt128(0), toInt128(roundBankers(toFloat64(h.unused_all) * gap_share_first))) AS unused_picos,
       h.most AS overcommit, h.marks AS flags
FROM (
    SELECT settle_id, entity, resource, price_id, max(reason) AS one_reason,
           sum(charged) AS charged_all, sum(alive) AS alive_all,
           sum(reinterpret(ifNull(cost, 0), 'Int128')) AS picos_all, max(isNotNull(cost)) AS any_priced,
           sum(reinterpret(ifNull(unused_cost, 0), 'Int128')) AS unused_all,
           max(overcommit) AS most, groupBitOr(flags) AS marks,
           arrayJoin(arrayFilter(i -> {cut_sets:Array(UInt64)}[i] = settle_id, arrayEnumerate({cut_sets:Array(UInt64)}))) AS cut
    FROM cost_hours WHERE settle_id IN {cut_sets:Array(UInt64)}
      AND hour >= toStartOfHour({start:DateTime('UTC')}) AND hour < {end:DateTime('UTC')}
    GROUP BY settle_id, entity, resource, price_id) AS h
LEFT JOIN (
    SELECT cut, entity, resource, price_id,
           sum(arraySum(charged)) AS weight, sum(arraySum(arraySlice(charged, 1, first))) AS weight_first,
           sum(arraySum(arraySlice(charged, 1, last))) AS weight_last,
           sum(arraySum(arraySlice(requested, first + 1, last - first))) AS requested,
           sum(arraySum(arraySlice(used, first + 1, last - first))) AS used,
           sum(arraySum(arraySlice(covered, first + 1, last - first))) AS covered,
           sum(covered_row) AS covered_all, 60 * count() AS slots, sum(arraySum(opens)) AS open,
           sum(arraySum(arraySlice(opens, first + 1, last - first))) AS open_inside,
           sum(arraySum(gaps)) AS gap, sum(arraySum(arraySlice(gaps, 1, first))) AS gap_first,
           sum(arraySum(arraySlice(gaps, 1, last))) AS gap_last,
           sum(arrayCount(x -> x > 0, charged)) AS lived,
           sum(arrayCount(x -> x > 0, arraySlice(charged, first + 1, last - first))) AS lived_inside
    FROM (
        SELECT entity, resource, price_id, requested, used, charged, covered,
               arrayMap((c, u, k) -> greatest(c * k / 60 - u, 0.), charged, used, covered) AS gaps,
               arrayMap((c, k) -> if(c > 0, 60 - least(k, 60), 0), charged, covered) AS opens,
               arraySum(covered) AS covered_row,
               arrayJoin(arrayFilter(i -> {cut_sets:Array(UInt64)}[i] = settle_id, arrayEnumerate({cut_sets:Array(UInt64)}))) AS cut,
               {cut_firsts:Array(UInt8)}[cut] AS first, {cut_lasts:Array(UInt8)}[cut] AS last
        FROM usage_minutes WHERE settle_id IN {cut_sets:Array(UInt64)}
          AND hour >= toStartOfHour({start:DateTime('UTC')}) AND hour < {end:DateTime('UTC')})
    GROUP BY cut, entity, resource, price_id) AS m
ON h.cut = m.cut AND h.entity = m.entity AND h.resource = m.resource AND h.price_id = m.price_id
WHERE NOT has_minutes OR m.lived = 0 OR m.lived_inside > 0
