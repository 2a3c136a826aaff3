-- What names of calls and of ranges say.

-- What programs ask before they do anything else: whoever records it records the start of the program.
create or replace macro _asks_for_devices(name) as
regexp_matches(name, '^(cu(Init|ModuleGetLoadingMode|DriverGetVersion)|(cuda|hip)(Init|GetDeviceCount|GetDeviceProperties\w*))$');

-- What the program itself calls warming up; schedules of learning rates do so, too, but hold no work.
create or replace macro _warms_up(name) as regexp_matches(name, '(?i)warm[ _-]?up');

--- A line of a program by the end of its path: train.py:12.
create or replace macro _short_place(file, line) as
regexp_extract(file, '[^/\\]+$') || coalesce(':' || line, '');
