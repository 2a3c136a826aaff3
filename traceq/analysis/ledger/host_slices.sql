-- The rows of _host_slice as numbers, for host_slices.py.
-- reads: _host_slice
select slice_id, (enum_code(phase) * 32 + enum_code(activity))::utinyint as code
from _host_slice;
