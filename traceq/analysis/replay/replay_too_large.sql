-- Why nothing of the trace is replayed: what there is too much of.
-- makes: import_note
insert into import_note
select
    $trace_id, 'info', 'not_replayed', $count, $text;
