-- Why nothing of the trace is replayed: the slices of its first counted step, and the memory that they would take.
insert into import_note
select
    $trace_id, 'info', 'not_replayed', $slices,
    'GPU slices in the first step that counts: replaying them takes about ' || $size || ' of memory; savings are what findings hold and there is no critical path. Ingest again with a larger --memory-limit, or judge less with --window';
