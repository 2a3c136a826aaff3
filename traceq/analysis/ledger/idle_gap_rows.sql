-- idle_gap: the gaps numbered from $first to before $last, each with its cause.
-- reads: _gap, _gap_late, _gap_word
-- makes: idle_gap
insert into idle_gap by name
select
    $trace_id as trace_id,
    g.* exclude (ts_end, launched, training_thread_id),
    g.ts_end - g.ts as dur,
    f.* exclude (gap_id, annotation_number, operator_number),
    a.name as annotation,
    o.name as operator
from _gap as g
inner join _gap_late as f on f.gap_id = g.gap_id
left join _gap_word as a on a.number = f.annotation_number
left join _gap_word as o on o.number = f.operator_number
where g.gap_id >= $first and g.gap_id < $last and f.gap_id >= $first and f.gap_id < $last
order by g.gap_id;
