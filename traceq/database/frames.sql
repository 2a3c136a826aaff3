-- Which frames of Python tell the place of what is inside them.

-- A module of a model, as PyTorch's profiler writes it: nn.Module: Linear_3.
create or replace macro _is_module(kind, name) as kind = 'python' and starts_with(name, 'nn.Module: ');

-- A line of a file that is neither PyTorch's or Triton's nor one of the standard library that calls what others wrote.
create or replace macro _is_line(kind, name) as
kind = 'python'
and regexp_matches(name, '\.py\(\d+\)')
and not regexp_matches(name, '(^|/)(torch|triton|threading|concurrent|multiprocessing)/|(^|/)(threading|contextlib|functools|runpy)\.py\(');
