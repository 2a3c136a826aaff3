-- What names of calls and of ranges say.

-- What programs ask before they do anything else: whoever records it records the start of the program.
create or replace macro _asks_for_devices(name) as
regexp_matches(name, '^(cu(Init|ModuleGetLoadingMode|DriverGetVersion)|(cuda|hip)(Init|GetDeviceCount|GetDeviceProperties\w*))$');

-- What the program itself calls warming up; schedules of learning rates do so, too, but hold no work.
create or replace macro _warms_up(name) as regexp_matches(name, '(?i)warm[ _-]?up');

-- Whether a range is named like a module of a model: a path with a number (layers.3.mlp), or a word of models; not a library's
-- or a loop's own range.
create or replace macro _is_module_name(name) as
    not regexp_matches(name, '(?i)::|^(nccl|optimizer|profilerstep|enumerate|traceq\.|execute_|step\b|iter)|[\[\](),#=]')
    and (
        regexp_matches(name, '^[A-Za-z_]\w*(\.\w+)*\.\d+(\.\w+)*$')
        or (
            regexp_matches(name, '(?i)(^|[ ._])(layer|block|attention|attn|self_?attn|mlp|ffn|feed[ _-]?forward|encoder|decoder|embeddings?|lm_?head|head|layer_?norm|conv\w*|linear|experts?|moe|backbone|sublayer|transformer)(_?\d+)?($|[ ._])')
            and not regexp_matches(name, '(?i)backward|loss|data|load')
        )
    );

--- A line of a program by the end of its path: train.py:12.
create or replace macro _short_place(file, line) as
regexp_extract(file, '[^/\\]+$') || coalesce(':' || line, '');
