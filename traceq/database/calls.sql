-- What calls of the runtimes and drivers of GPUs are.

-- What programs ask before they do anything else: whoever records it records the start of the program.
create or replace macro _asks_for_devices(name) as
regexp_matches(name, '^(cu(Init|ModuleGetLoadingMode|DriverGetVersion)|(cuda|hip)(Init|GetDeviceCount|GetDeviceProperties\w*))$');
