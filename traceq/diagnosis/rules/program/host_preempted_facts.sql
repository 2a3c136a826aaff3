-- How often and for how long the thread stood still, the longest in each call, and the beat that starts or ends of these stretches keep:
-- of the angles of n of them in a period, n R squared is beyond ln(8 / 0.01) once in a hundred times by chance, of eight tests.
-- threshold: least_periods = 10: of a beat: what is close together lies in one part of a long period, whatever made it
with
stall as (
    select distinct h.stall_id, h.ts, h.ts_end, h.dur, h.usual, h.does_nothing, r.name
    from rule_instances as r
    inner join host_stall as h on h.trace_id = $trace_id and h.stall_id = r.stall_id
),

angle as (
    select period_ns, edge, moment, 2 * pi() * (moment % period_ns) / period_ns as angle
    from (
        select unnest([ts, ts_end]) as moment, unnest(['begin', 'end']) as edge
        from stall
    )
    cross join (select unnest([1000000, 4000000, 10000000, 100000000]) as period_ns)
),

beat as (
    select period_ns, edge
    from angle
    group by period_ns, edge
    having
        max(moment) - min(moment) >= $least_periods * period_ns
        and (sum(cos(angle)) ** 2 + sum(sin(angle)) ** 2) / count(*) > ln(8 / 0.01)
    order by period_ns desc, edge
    limit 1
),

total as (
    select
        count(*) as stalls,
        median(dur) as median_ns,
        max(dur) as longest_ns,
        sum(dur)::double as stalled_ns,
        count(*) filter (does_nothing) as nothing,
        max_by(name, {'dur': dur, 'stall_id': stall_id}) filter (does_nothing) as nothing_name
    from stall
)

select
    n.name, n.stall_ns, n.usual_ns, t.*,
    (select period_ns from beat) as beat_ns,
    (select edge from beat) as beats,
    (select coalesce(sum(claimed) filter (cause = 'communication') / sum(claimed), 0) from rule_instances) as communication_share
from (
    select name, max(dur) as stall_ns, max_by(usual, {'dur': dur, 'stall_id': stall_id}) as usual_ns, bool_or(does_nothing) as does_nothing
    from stall
    group by name
) as n
cross join total as t
order by n.does_nothing desc, n.stall_ns desc, n.name
