-- The pieces that changes are about, with the shares of them that go under all changes together.
select
    h.step, h.ts, h.dur, h.name, h.slice_id, h.dur as claimed, h.category as cause, h.piece_id as gap_id,
    c.goes_low, c.goes,
    c.goes_high
from host_time as h
inner join (
    select
        piece_id,
        1 - product(1 - goes_low) as goes_low,
        1 - product(1 - goes) as goes,
        1 - product(1 - goes_high) as goes_high
    from host_changed
    group by piece_id
) as c using (piece_id)
