-- owned_piece of devices that no finding is about.
select
    null::integer as claim, null::varchar as cause, null::bigint as gap_id, null::bigint as busy_id,
    false as is_down_to_limit,
    0::double as owned
where false
