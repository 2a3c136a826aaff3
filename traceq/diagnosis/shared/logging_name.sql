-- Names of host slices that say that they log: ranges, and functions of libraries that are made for it.
-- uses: host_slice_name
select kind, name
from host_slice_name
where
    kind = 'annotation'
    and (
        regexp_matches(name, '(?i)^(traceq\.phase#)?(log(s|ging)?|print(s|ing)?|metrics?_log(ging)?|(log|report|write|print)[_ ](metrics?|scalars?|step|stats|loss|images?|histograms?|summar(y|ies)))$')
        or regexp_matches(name, '(?i)(tensorboard|wandb|mlflow|tqdm|comet_?ml|neptune|summary_?writer|add_(scalar|image|histogram))')
    )
    or kind = 'python'
    and (
        regexp_matches(name, '^<built-in (function|method) print( of .*)?>$')
        or regexp_matches(name, '(^|/)logging/__init__\.py\(\d+\): (debug|info|warning|error|critical|exception|log|_log|handle)$')
        or regexp_matches(name, '(^|/)(torch/utils/tensorboard|tensorboardX|tensorboard/summary)/.*: (add_\w+|flush|log_\w+)$')
        or regexp_matches(name, '(^|/)(wandb|mlflow|comet_ml|neptune|clearml|aim|swanlab)/.*: _?(log|log_\w+|history|report_\w+|track)$')
        or regexp_matches(name, '(^|/)tqdm/.*: (update|refresh|display|write|set_postfix(_str)?|set_description(_str)?|close)$')
        or regexp_matches(name, '(^|/)loguru/_logger\.py\(\d+\): (debug|info|warning|error|_log)$|(^|/)(pytorch_)?lightning/.*: log_(metrics|hyperparams|image|text)$')
    )
