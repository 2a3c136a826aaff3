-- The bytes that each rank of one window of a job, or block of ranks, sends to each other in all-to-alls, what comes back not counted. Of the
-- axis of experts, or of all-to-alls whose axis nothing tells, as in job_load.sql.
with
chosen as (
    select
        *,
        coalesce(contains('+' || axis || '+', '+ep+'), false) as is_of_experts,
        bool_or(coalesce(contains('+' || axis || '+', '+ep+'), false)) over () as has_experts
    from job_exchange_pair
    where job = $job and time_window = $time_window and not is_return and bytes is not null
)

select b.rank, d.rank as other, sum(c.bytes)::bigint as bytes
from chosen as c
inner join job_rank as r on r.job = c.job and r.time_window = c.time_window and r.unit = c.unit
inner join job_rank as o on o.job = c.job and o.time_window = c.time_window and o.unit = c.other
inner join job_rank as b on b.job = c.job and b.time_window = c.time_window and b.unit = r.block
inner join job_rank as d on d.job = c.job and d.time_window = c.time_window and d.unit = o.block
where if(c.has_experts, c.is_of_experts, c.axis is null)
group by b.rank, d.rank
order by b.rank, d.rank
