-- Exposed communication of one role (see diagnosis/shared/communication_role.sql).
-- uses: communication_role
-- categories: communication
select
    step, ts, dur, name, slice_id,
    -- what compute is known to have waited is likelier won than what merely ran alone
    least(ledger_dur, coalesce(blocking, ledger_dur)) as claimed,
    'communication' as cause, 'communication_overlap' as scenario, slice_id as busy_id, op, bytes, group_size,
    overlapped as overlapped_ns, phase
from communication_role
where
    role = $role
    and (
        $kind = 'any'
        or role = 'exchange' and coalesce(exchange, only_exchange, 'unknown') = $kind
        or role = 'gather' and if(phase = 'optimizer', 'optimizer', 'layers') = $kind
    )
    and least(ledger_dur, coalesce(blocking, ledger_dur)) > 0
