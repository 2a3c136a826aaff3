-- A capture was given beside a trace of which it tells nothing: no launch of a graph whose kernels were traced, or none of its graphs.
-- reads: graph_launch
-- makes: import_note
insert into import_note
select
    $trace_id, 'info', 'graph_capture_unused', 1,
    'the trace launches no graph whose kernels were traced one by one, so the file given with --capture is not used'
where not exists (from graph_launch);

update import_note
set severity = 'data_loss', text = 'the file given with --capture may belong to another program: ' || text
where code = 'graph_capture' and not exists (from graph_launch where matched_kernels > 0);
