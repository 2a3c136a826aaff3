-- What each category of the ledger has on the critical path, ns.
-- reads: critical_path
select cause, sum(dur)::bigint as dur
from critical_path
group by cause
