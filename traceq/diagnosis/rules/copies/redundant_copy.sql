-- Copies inside the device that one kind of operator asked for.
-- uses: device_copy
-- categories: copy_other
select *
from device_copy
where origin = $origin
