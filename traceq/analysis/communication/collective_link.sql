-- Which link joins the GPUs of a process group that lies within one machine: the fabric of their model, else the link to the host.
-- Of networks between machines traces say nothing.
-- reads: collective, collective_slice
-- makes: collective_link

-- How many ranks each group has in this trace, and which it has in the job; longer lists are cut by PyTorch.
create temp table _group as
select
    s.device, s.group_name, s.group_size,
    count(distinct s.device) over (partition by s.group_name) as devices,
    max(try_cast(c.args ->> 'Process Group Ranks' as integer[])) as ranks
from collective_slice as s
left join collective as c using (slice_id)
where s.group_name is not null and s.group_size > 1
group by s.device, s.group_name, s.group_size;

insert into collective_link by name
with
machine as (
    select
        count(*) as gpus,
        any_value(t.world_size) as world_size,
        -- one NVLink domain holds the GPUs of many machines
        bool_or(coalesce(m.model in ('GB200', 'GB300'), false)) as is_rack
    from device_model as m
    cross join trace as t
),

placed as (
    select
        g.*,
        case
            when g.devices >= g.group_size then 'all_ranks_here'
            -- a process that sees one GPU only may be hidden the others
            when m.gpus < 2 or m.is_rack or g.group_size > m.gpus then null
            when m.world_size <= m.gpus then 'job_fits'
            -- launchers number the ranks of a machine one after the other
            when len(g.ranks) = g.group_size and list_min(g.ranks) // m.gpus = list_max(g.ranks) // m.gpus then 'ranks_of_one'
        end as evidence
    from _group as g
    cross join machine as m
),

linked as (
    select
        p.device, p.group_name, p.group_size, p.evidence, m.host_link, m.host_link_bandwidth, m.peer_link,
        -- Without switches each GPU has a part of its links to each of the seven others of a board of eight, the most there are:
        -- a group has at least those between its members.
        m.peer_link_bandwidth * least((p.group_size - 1) / 7, 1) as peer_link_bandwidth,
        -- bridges join two GPUs each, and need not be there
        m.peer_link is not null and not contains(m.peer_link, 'bridge') as has_fabric
    from placed as p
    inner join device_model as m using (device)
    where p.evidence is not null
)

select
    $trace_id as trace_id,
    device, group_name, group_size, evidence,
    if(has_fabric, peer_link, host_link) as link,
    if(has_fabric, peer_link_bandwidth, host_link_bandwidth) as bandwidth
from linked
where if(has_fabric, peer_link_bandwidth, host_link_bandwidth) is not null
order by device, group_name, group_size;
