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

-- What joins two GPUs is known by their model: switches or direct links of one board, of AMD one of seven links to each of eight. Bridges
-- need not be there: only a rate that the host's link cannot carry shows one.
--: One row per ordered pair of GPUs and size class of the copies from one to the other, those of collectives included:
--: how fast they are, against the link between the two and against other pairs.
create or replace view peer_copy_link as
with
copy as (
    select
        trace_id, src_device, dst_device, bytes, dur,
        case
            when bytes < 4096 then 'below 4 KiB'
            when bytes < 65_536 then 'below 64 KiB'
            when bytes < 1_048_576 then 'below 1 MiB'
            when bytes < 16_777_216 then 'below 16 MiB'
            else '16 MiB and above'
        end as size_class
    from gpu_slice
    where
        kind = 'memcpy' and copy_kind = 'p2p' and src_device <> dst_device
        and bytes is not null and dur > 0
),

pair as (
    select
        trace_id, src_device, dst_device, size_class,
        count(*) as copies,
        sum(bytes)::bigint as bytes,
        sum(dur)::bigint as dur,
        sum(bytes) / sum(dur) as bandwidth,
        max(bytes / dur) as best_bandwidth
    from copy
    group by trace_id, src_device, dst_device, size_class
),

other as (
    select
        p.trace_id, p.src_device, p.dst_device, p.size_class,
        median(o.bandwidth) as bandwidth
    from pair as p
    inner join pair as o using (trace_id, size_class)
    where (o.src_device, o.dst_device) <> (p.src_device, p.dst_device)
    group by p.trace_id, p.src_device, p.dst_device, p.size_class
),

linked as (
    select
        p.*,
        max(p.best_bandwidth) over (partition by p.trace_id, p.src_device, p.dst_device) as best_of_pair,
        -- the slower of both, where they differ
        if(s.host_link_bandwidth <= d.host_link_bandwidth, s.host_link, d.host_link) as host_link,
        least(s.host_link_bandwidth, d.host_link_bandwidth) as host_link_bandwidth,
        if(s.peer_link = d.peer_link, s.peer_link, null) as peer_link,
        if(s.peer_link = d.peer_link, s.peer_link_bandwidth / if(s.peer_link = 'xGMI', 7, 1), null) as peer_link_bandwidth,
        s.device is not null and d.device is not null as is_known,
        coalesce(contains(s.peer_link, 'bridge') or contains(d.peer_link, 'bridge'), false) as has_bridge
    from pair as p
    left join device_model as s on s.trace_id = p.trace_id and s.device = p.src_device
    left join device_model as d on d.trace_id = p.trace_id and d.device = p.dst_device
),

chosen as (
    select
        *,
        case
            when not is_known then null
            when peer_link is null then if(has_bridge, null, host_link)
            when has_bridge and best_of_pair <= host_link_bandwidth then null
            else peer_link
        end as link
    from linked
)

select
    --: Trace.
    c.trace_id,
    --: GPU that the bytes leave.
    c.src_device,
    --: GPU that they come to.
    c.dst_device,
    --: As in copy_overlap.
    c.size_class,
    --: Copies.
    c.copies,
    --: Their bytes.
    c.bytes,
    --: Their durations added up, ns.
    c.dur,
    --: bytes / dur, GB/s.
    c.bandwidth,
    --: Best of one copy, GB/s.
    c.best_bandwidth,
    --: What joins the two, as in gpu_model; NULL where the GPUs are unknown, or could have a bridge that no rate shows.
    c.link,
    --: What it carries at the most in one direction, GB/s: of NVLink all that a GPU has, which boards without switches split
    --: among its neighbours; of xGMI one link of seven.
    if(c.link = c.peer_link, c.peer_link_bandwidth, if(c.link is not null, c.host_link_bandwidth, null)) as link_bandwidth,
    --: Median bandwidth of the other pairs with copies of this size class, GB/s; NULL without any.
    o.bandwidth as other_bandwidth,
    --: Whether it is a slow pair: three copies or more of at least 1 MiB, at no more than half of other_bandwidth.
    coalesce(
        c.copies >= 3 and c.size_class in ('below 16 MiB', '16 MiB and above') and c.bandwidth <= o.bandwidth / 2, false
    ) as is_slow
from chosen as c
left join other as o using (trace_id, src_device, dst_device, size_class);
