-- Whether torch.nn.DataParallel runs in the trace, and on how many GPUs work was launched.
select
    (
        select count(*)
        from cpu_slice
        where
            trace_id = $trace_id
            and kind in ('op', 'annotation')
            and (
                name = 'DataParallel.forward'
                or starts_with(name, 'comm::broadcast')
                or regexp_matches(name, '^(Broadcast|ReduceAddCoalesced)(Backward)?(,|$)')
            )
    ) as calls,
    (select count(distinct device) from gpu_slice where trace_id = $trace_id and kind = 'kernel') as devices
