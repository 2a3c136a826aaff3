-- Why nothing of the trace is replayed: what there is too much of.
insert into import_note
select
    $trace_id, 'info', 'not_replayed', $count, $text;
