-- Which frames of Python tell the place of what is inside them.

-- A module of a model, as PyTorch's profiler writes it: nn.Module: Linear_3.
create or replace macro _is_module(kind, name) as kind = 'python' and starts_with(name, 'nn.Module: ');

-- A line of a file of the program, or of a library that holds models: not of PyTorch, Triton, the standard library, or libraries
-- for data, files and logs, which do what a line of the program asks for.
create or replace macro _is_line(kind, name) as
kind = 'python'
and regexp_matches(name, '\.py\(\d+\)')
and not regexp_matches(
    name,
    '(^|/)(torch|triton|threading|concurrent|multiprocessing|json|logging|csv|re|xml|html|email|http|urllib|collections|importlib|asyncio|ctypes|encodings|sqlite3|numpy|pandas|scipy|sklearn|PIL|cv2|pyarrow|polars|h5py|zarr|fsspec|s3fs|boto3|botocore|requests|urllib3|tqdm|wandb|mlflow|tensorboardX?|matplotlib|yaml|joblib|cloudpickle|dill)/|(^|/)(threading|contextlib|functools|runpy|pickle|copy|copyreg|tempfile|shutil|gzip|bz2|lzma|zipfile|tarfile|socket|subprocess|pathlib|posixpath|genericpath|textwrap|inspect|weakref|_weakrefset|selectors|enum|dataclasses)\.py\('
);
