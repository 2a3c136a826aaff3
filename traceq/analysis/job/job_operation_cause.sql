-- In tables of operations: the type of operation in which those named exceed the mean of all ranks most, before their late arrivals.
-- reads: _job_late_own, job_rank
-- makes: straggler
create or replace temp table _job_operation_late as
with
operation as (
    select
        r.unit, g.name, g.ts, g.dur,
        avg(g.dur) over (partition by g.name) as usual
    from job_rank as r
    inner join gpu_slice as g on g.trace_id = r.trace_id and g.device = r.device
    where r.job = $job and r.time_window = $time_window and not g.is_communication
),

late as (
    select distinct l.place, o.*
    from _job_late_own as l
    inner join operation as o on o.unit = l.unit and o.ts + o.dur // 2 >= l.begins and o.ts + o.dur // 2 < l.ends
)

select
    place,
    name,
    sum(dur - usual)::bigint as excess,
    avg(dur)::bigint as dur,
    any_value(usual)::bigint as usual
from late
group by place, name
having sum(dur - usual) > 0;

update straggler
set
    cause = 'compute',
    cause_ns = f.excess,
    usual_unit = null,
    operator_id = null,
    operator = f.name,
    operator_dur = f.dur,
    usual_operator_dur = f.usual
from (
    select
        place,
        sum(excess)::bigint as excess,
        arg_max(name, excess) as name,
        arg_max(dur, excess) as dur,
        arg_max(usual, excess) as usual
    from _job_operation_late
    group by place
) as f
where straggler.job = $job and straggler.time_window = $time_window and straggler.place = f.place;
