-- Whether the traced window is usual: each operation, size and group of the trace against the records of it, cut into windows of as
-- many operations. Where the process of the trace is known, against its own records.
-- reads: collective, collective_slice, inspected_collective, inspected_process
-- makes: inspected_usual

create or replace temp table _usual_traced as
select
    s.slice_id,
    -- PyTorch tells NCCL's group, nsys its communicator
    s.group_name, s.op, s.bytes, s.group_size, s.dur, s.bus_bandwidth, c.sequence, g.ts
from collective_slice as s
inner join gpu_slice as g using (slice_id)
left join collective as c using (slice_id)
where s.bytes > 0 and s.dur > 0 and s.op <> 'unknown';

create or replace temp table _usual_record as
with
own as (
    select bool_or(is_of_trace) as is_known
    from inspected_process
)

select c.*, p.is_of_trace
from inspected_collective as c
inner join inspected_process as p using (process)
cross join own as o
where c.bytes > 0 and c.dur > 0 and (p.is_of_trace or not coalesce(o.is_known, false));

-- The same operation in both: by communicator and number. Traces number all of a communicator from its creation on, records
-- those of each kind.
create or replace temp table _usual_pair as
with
numbered as (
    select
        *,
        row_number() over (partition by group_name, op order by sequence) - 1 as ordinal
    from _usual_traced
    where sequence is not null
)

select t.slice_id, t.op, t.bytes, t.group_size, t.dur / r.dur as ratio, t.bytes = r.bytes as is_same
from numbered as t
inner join _usual_record as r on r.is_of_trace and r.communicator = t.group_name and r.op = t.op and r.sequence = t.ordinal;

insert into inspected_usual by name
with
traced as (
    select
        op, bytes, group_size,
        count(*) as count,
        sum(dur)::bigint as traced_dur,
        median(dur) as dur,
        median(bus_bandwidth) as bus_bandwidth
    from _usual_traced
    group by op, bytes, group_size
),

record as (
    select
        r.*,
        t.count as needed,
        row_number() over (partition by r.process, r.op, r.bytes, r.group_size order by coalesce(r.utc_ns, 0), r.communicator, r.sequence) - 1
        as place
    from _usual_record as r
    inner join traced as t on t.op = r.op and t.bytes = r.bytes and t.group_size is not distinct from r.group_size
),

part as (
    select
        process, op, bytes, group_size, place // needed as part,
        median(dur) as dur,
        median(bus_bandwidth) as bus_bandwidth
    from record
    group by process, op, bytes, group_size, place // needed, needed
    having count(*) = needed
),

recorded as (
    select
        r.op, r.bytes, r.group_size,
        count(*) as records,
        if(bool_and(coalesce(r.is_of_trace, false)), 'own', 'all') as compared_with,
        count(*) filter (r.utc_ns between t.utc_origin_ns + t.ts and t.utc_origin_ns + t.ts + t.dur) as within,
        count(r.utc_ns) = 0 or bool_or(t.utc_origin_ns is null or r.utc_source = 'dump') as has_no_time
    from record as r
    cross join trace as t
    group by r.op, r.bytes, r.group_size
),

placed as (
    select
        p.op, p.bytes, p.group_size,
        count(*) as windows,
        quantile_cont(p.dur, [0.05, 0.5, 0.95]) as durs,
        median(p.bus_bandwidth) as usual_bandwidth,
        avg((p.dur < t.dur)::integer) as faster_share
    from part as p
    inner join traced as t on t.op = p.op and t.bytes = p.bytes and t.group_size is not distinct from p.group_size
    group by p.op, p.bytes, p.group_size
),

paired as (
    select op, bytes, group_size, count(*) as paired, median(ratio) as paired_ratio
    from _usual_pair
    -- numbers that begin elsewhere join other operations, of other sizes
    where (select avg(is_same::integer) from _usual_pair) > 0.95
    group by op, bytes, group_size
)

select
    $trace_id as trace_id,
    t.op, t.bytes, t.group_size, t.count, t.traced_dur, t.dur as median_dur, t.bus_bandwidth, r.records, r.compared_with,
    coalesce(p.windows, 0) as windows,
    if(p.windows >= 8, p.durs[1], null) as usual_low,
    if(p.windows >= 8, p.durs[2], null) as usual_dur,
    if(p.windows >= 8, p.durs[3], null) as usual_high,
    if(p.windows >= 8, p.faster_share, null) as faster_share,
    if(p.windows >= 8, p.usual_bandwidth, null) as usual_bandwidth,
    if(r.has_no_time, null, r.within) as within,
    coalesce(i.paired, 0) as paired,
    i.paired_ratio
from traced as t
inner join recorded as r on r.op = t.op and r.bytes = t.bytes and r.group_size is not distinct from t.group_size
left join placed as p on p.op = t.op and p.bytes = t.bytes and p.group_size is not distinct from t.group_size
left join paired as i on i.op = t.op and i.bytes = t.bytes and i.group_size is not distinct from t.group_size
order by t.traced_dur desc, t.op, t.bytes;
