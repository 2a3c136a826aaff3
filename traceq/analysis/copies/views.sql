-- Views over copy_overlap and device_activity.

--: One row per device, step and category of copies. Copies, bytes and dur are those of the copies launched in the step;
--: busy and what it is made of are the time that elapsed in it.
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
    --: Trace.
    trace_id,
    --: Device.
    device,
    --: Step; NULL outside all steps.
    nullif(step, -1) as step,
    --: copy_h2d, copy_d2h or copy_other, as in time_ledger.
    category,
    --: Copies launched in the step.
    coalesce(l.copies, 0) as copies,
    --: Their bytes; NULL when the size of some is unknown.
    if(l.copies is null, 0, l.bytes) as bytes,
    --: Their durations added up, ns; copies that overlap count each.
    coalesce(l.dur, 0) as dur,
    --: Time in which at least one copy of the category ran, ns: overlapped + hidden + exposed.
    coalesce(e.busy, 0) as busy,
    --: Of that, with a compute kernel or an opaque graph running on the device, ns.
    coalesce(e.overlapped, 0) as overlapped,
    --: Of the rest, with communication or copies of a category that comes first in the ledger running, ns.
    coalesce(e.busy - e.overlapped - e.exposed, 0) as hidden,
    --: The rest, ns: the same as time_ledger.dur of the category.
    coalesce(e.exposed, 0) as exposed,
    --: Upper bound of what could have been hidden behind compute, ns: what its copies could have had, and not more than
    --: exposed.
    least(coalesce(l.could_overlap, 0), coalesce(e.exposed, 0)) as could_overlap,
    --: overlapped / busy, 0 to 1; NULL when no copy ran.
    e.overlapped / nullif(e.busy, 0) as overlap_share
from launched as l
full join elapsed as e using (trace_id, device, step, category);

--: One row per device, category, position and size class of copies: many small ones or few large ones, and how fast
--: they are.
create or replace view copy_size as
select
    --: Trace.
    trace_id,
    --: Device.
    device,
    --: copy_h2d, copy_d2h or copy_other.
    category,
    --: See copy_overlap.
    position,
    --: See copy_overlap.
    size_class,
    --: Copies.
    count(*) as copies,
    --: Their bytes; NULL when the size of some is unknown.
    if(count(bytes) = count(*), sum(bytes), null)::bigint as bytes,
    --: Their durations added up, ns.
    sum(dur)::bigint as dur,
    --: Their exposed times added up, ns.
    sum(exposed)::bigint as exposed,
    --: Bytes over duration of those whose size is known, GB/s; NULL when none is.
    sum(bytes) filter (dur > 0) / nullif(sum(dur) filter (bytes is not null), 0) as bandwidth,
    --: Best bandwidth of a copy of the size class in this trace, GB/s.
    max(best_bandwidth) as best_bandwidth
from copy_overlap
group by all;
