-- A day as the sum of its current hour sets. NULL (unpriced) stays NULL: a price_id is either
-- priced or not, so a group never mixes the two.
INSERT INTO cost_days (settle_id, day, entity, resource, price_id, requested, used, charged, unused,
                       covered, alive, cost, unused_cost, overcommit, flags, reason)
SELECT {settle_id:UInt64}, toDate({start:DateTime('UTC')}, 'UTC'), entity, resource, price_id,
       sum(requested), sum(used), sum(charged), sum(unused), sum(covered), sum(alive),
       sum(cost), sum(unused_cost), max(overcommit), groupBitOr(flags), max(reason)
FROM cost_hours
WHERE hour >= {start:DateTime('UTC')} AND hour < {end:DateTime('UTC')}
  AND settle_id IN (
    SELECT max(settle_id) FROM settles
    WHERE seconds = 3600 AND cluster = {cluster:String}
      AND start >= {start:DateTime('UTC')} AND start < {end:DateTime('UTC')}
    GROUP BY start)
GROUP BY entity, resource, price_id
