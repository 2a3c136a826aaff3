-- A capture was given beside a trace without launches of graphs whose kernels it could tell of.
insert into import_note
select
    $trace_id, 'info', 'graph_capture_unused', 1,
    'the trace launches no graph whose kernels were traced one by one: what was given with --capture tells nothing of it';
