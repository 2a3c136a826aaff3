-- Views over copy_overlap and device_activity.

create or replace view copy_total as
with
segment as (
    select
        trace_id, device, step, dur, compute > 0 or graph > 0 as computes, category as counted,
        unnest(['copy_h2d', 'copy_d2h', 'copy_other']) as category,
        unnest([copy_h2d, copy_d2h, copy_other]) as copies
    from device_activity
    where copy_h2d + copy_d2h + copy_other > 0
),

elapsed as (
    select
        trace_id,
        device,
        coalesce(step, -1) as step,
        category,
        sum(dur)::bigint as busy,
        coalesce(sum(dur) filter (computes), 0)::bigint as overlapped,
        coalesce(sum(dur) filter (counted = category), 0)::bigint as exposed
    from segment
    where copies > 0
    group by all
),

launched as (
    select
        trace_id,
        device,
        coalesce(step, -1) as step,
        category,
        count(*) as copies,
        if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes,
        sum(dur)::bigint as dur,
        sum(could_overlap)::bigint as could_overlap
    from copy_overlap
    group by all
)

select
    trace_id,
    device,
    nullif(step, -1) as step,
    category,
    coalesce(l.copies, 0) as copies,
    if(l.copies is null, 0, l.bytes) as bytes,
    coalesce(l.dur, 0) as dur,
    coalesce(e.busy, 0) as busy,
    coalesce(e.overlapped, 0) as overlapped,
    coalesce(e.busy - e.overlapped - e.exposed, 0) as hidden,
    coalesce(e.exposed, 0) as exposed,
    least(coalesce(l.could_overlap, 0), coalesce(e.exposed, 0)) as could_overlap,
    e.overlapped / nullif(e.busy, 0) as overlap_share
from launched as l
full join elapsed as e using (trace_id, device, step, category);
comment on view copy_total is 'One row per device, step and category of copies. Copies, bytes and dur are those of the copies launched in the step; busy and what it is made of are the time that elapsed in it.';
comment on column copy_total.step is 'Step; NULL outside all steps.';
comment on column copy_total.category is 'copy_h2d, copy_d2h or copy_other, as in time_ledger.';
comment on column copy_total.copies is 'Copies launched in the step.';
comment on column copy_total.bytes is 'Their bytes; NULL when the size of some is unknown.';
comment on column copy_total.dur is 'Their durations added up, ns; copies that overlap count each.';
comment on column copy_total.busy is 'Time in which at least one copy of the category ran, ns: overlapped + hidden + exposed.';
comment on column copy_total.overlapped is 'Of that, with a compute kernel or an opaque graph running on the device, ns.';
comment on column copy_total.hidden is 'Of the rest, with communication or copies of a category that comes first in the ledger running, ns.';
comment on column copy_total.exposed is 'The rest, ns: the same as time_ledger.dur of the category.';
comment on column copy_total.could_overlap is 'Upper bound of what could have been hidden behind compute, ns: what its copies could have had, and not more than exposed.';
comment on column copy_total.overlap_share is 'overlapped / busy, 0 to 1; NULL when no copy ran.';

create or replace view copy_size as
select
    trace_id, device, category, position, size_class,
    count(*) as copies,
    if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes,
    sum(dur)::bigint as dur,
    sum(exposed)::bigint as exposed,
    sum(bytes) filter (dur > 0) / nullif(sum(dur) filter (bytes is not null), 0) as bandwidth,
    max(best_bandwidth) as best_bandwidth
from copy_overlap
group by all;
comment on view copy_size is 'One row per device, category, position and size class of copies: many small ones or few large ones, and how fast they are.';
comment on column copy_size.category is 'copy_h2d, copy_d2h or copy_other.';
comment on column copy_size.position is 'See copy_overlap.';
comment on column copy_size.size_class is 'See copy_overlap.';
comment on column copy_size.copies is 'Copies.';
comment on column copy_size.bytes is 'Their bytes; NULL when the size of some is unknown.';
comment on column copy_size.dur is 'Their durations added up, ns.';
comment on column copy_size.exposed is 'Their exposed times added up, ns.';
comment on column copy_size.bandwidth is 'Bytes over duration of those whose size is known, GB/s; NULL when none is.';
comment on column copy_size.best_bandwidth is 'Best bandwidth of a copy of the size class in this trace, GB/s.';
