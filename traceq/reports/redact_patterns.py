"""What a secret looks like: paths, hosts, users, settings, options and keys, as one regular expression.

Names can be 10 MB long, so that no pattern may look at a text more than a few times: repetitions are possessive or bounded,
and a pattern that starts with a repetition starts where a word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_EXTENSION = (
    "(?:py|pyx|pyi|pyc|ipynb|cu|cuh|hip|c|cc|cpp|cxx|h|hh|hpp|rs|java|js|sh|bash|sql|jsonl?|ya?ml|toml|ini|cfg|conf|env|txt|csv|tsv"
    "|parquet|arrow|pth?|ckpt|bin|safetensors|onnx|engine|np[yz]|h5|hdf5|pkl|tar|tgz|gz|xz|bz2|zip|zst|so|dll|exe|sqlite|db|duckdb"
    "|nsys-rep|qdrep|git|log|md|xml|html|lmdb|tfrecord|jpe?g|png|mp4|wav|flac)"
)

# A part of a path. One with blanks in it is told by the separator that follows, as "My Project/" is.
_PART = r"""(?:[^\s/\\'",;:()<>|*?`]|\\[ ]|\([^()/\\\s]{0,40}\)(?=/))++"""
_SPACED = rf"(?![^\s/]{{0,255}}\.{_EXTENSION}\s){_PART}(?:[ ](?!-){_PART}){{1,3}}?(?=/(?!(?:s|or)\b))"
_PARTS = rf"(?:/{{1,3}}(?:{_SPACED}|{_PART}))++/?"
_NOT_IN_WORD = r"(?:(?<![\w.)\]}/\\%-])|(?<=-I)|(?<=-L))"
_WINDOWS_PART = r"""[^\\/:*?"'<>|\r\n\t,;`…]"""
_WINDOWS_PARTS = rf"(?:{_WINDOWS_PART}++[\\/]++)*+(?:[^\\/:*?\"'<>|\s,;()`]++)?"
_WORD_PART = r"[\w.@+~-]++"

_LABEL = "[A-Za-z0-9][A-Za-z0-9-]{0,62}+"
_SURE_TLD = "(?:com|org|edu|gov|mil|intra|intranet|corp|localdomain|arpa|lan)"
# Endings that attributes of programs have as well; such a host needs more signs.
_WEAK_TLD = (
    "(?:net|internal|local|cluster|cloud|hpc|home|private|info|io|ai|dev|tech|de|ch|at|fr|uk|nl|es|it|se|fi|dk|cz|pl|hu|eu|ru|cn|jp"
    "|kr|tw|hk|sg|au|nz|ca|br|il|tr|gr|ie|lu|be|us)"
)
_PORT = r"(?::\d{1,5}(?!\d))?"

SECRETIVE = (  # the name of a setting or an option
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|api[-_]?key|access[-_]?key|secret[-_]?key"
    r"|auth(?:orization)?)"
)
# In quotes to their end, else to a blank or the end of an argument.
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|`[^`]*+`|[^\s,;'"`()<>]++(?:,[^\s,;'"`()<>]++)*+)"""

_PATTERNS = {
    "standin": r"<(?:dir|host|user|value|token)\d+>(?:[/\\]+[^\s/\\'\",;:()<>|*?`…]*+)?",
    "url": r"""(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s'"<>`]*[^\s'"<>`.,;:)\]}]""",
    "at": r"(?<![\w.+%@?$-])[\w.+%-]++@[A-Za-z0-9][\w.-]*+",
    "windows": rf"(?<![\w?])[A-Za-z]:[\\/]+{_WINDOWS_PARTS}",
    "share": rf"(?<![\w\\])\\\\{{1,3}}[\w$-][\w.$-]*+\\+{_WINDOWS_PARTS}",
    "path": (rf"(?:{_NOT_IN_WORD}|(?=/(?:home|homes|Users|scratch|gpfs|lustre)/))(?:~[\w.-]*+|\.{{1,2}})?{_PARTS}"),
    "mount": r"(?<![\w.-])[A-Za-z][\w.-]*+:(?=/[^\s/\\'\",;:()<>|*?`]+/)",
    "ip": rf"(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?!\w|\.\d){_PORT}",
    "ip6": r"(?i:(?<![\w:])(?:[23][0-9a-f]{3}|fe[89ab][0-9a-f]|f[cd][0-9a-f]{2})(?::[0-9a-f]{0,4}){2,7}(?![\w:]))",
    "mac": r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])",
    "ec2": r"(?<![\w-])ip(?:-\d{1,3}){4}(?![\w-])(?:(?:\.[a-z0-9-]{1,63}){0,6})",
    "host": (
        rf"(?<![\w.@/\\-])(?:(?:{_LABEL}\.){{1,8}}{_SURE_TLD}|(?:{_LABEL}\.){{1,8}}{_WEAK_TLD})(?![\w(-]|\.\w){_PORT}"
    ),
    "port": r"(?<![\w./\\@-])[A-Za-z](?=[A-Za-z0-9-]*[\d-])[A-Za-z0-9-]*+:\d{4,5}(?![\w.])",
    "relative": rf"(?<![\w.@/\\~+>-])(?:{_WORD_PART}(?:/|\\(?!\.)))++[\w.@+~-]*\.{_EXTENSION}(?!\w)",
    "bearer": r"(?<!\w)(?i:bearer|basic)[ ]+[\w.~+/=-]{12,}+",
    "field": (
        r"(?i:(?<![\w.-])(?:(?:user(?:_?name)?|login|owner)|(?:host(?:_?name)?|node_?name|machine))"
        r"(?:=|(?<=name):[ ]?)[\"']?(?=\w*[a-z])\w[\w.-]*+)"
    ),
    "variable": rf"(?<![\w$.-])[A-Z][A-Z0-9_]{{2,}}+={_VALUE}",
    "option": rf"(?<![\w-])--?[A-Za-z][\w-]*+(?:=|[ ]+(?!-)){_VALUE}",
    "setting": rf"""(?i:(?<![\w.-])[\w.-]{{0,40}}?{SECRETIVE}["']?[ ]?(?:=|:(?!:))[ ]?(?:(?:bearer|basic)[ ]+)?{_VALUE})""",
    "uuid": r"(?<![\w-])(?:[A-Z]{2,4}-)?(?i:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w-])",
    "key": (
        r"(?<![A-Za-z0-9])(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ|nvapi-|dckr_pat_)"
        r"[\w.~-]{12,}+"
    ),
    "random": r"(?<![\w+/=-])[A-Za-z0-9+/_-]{32,}+={0,2}(?!\w)",
    "cut": r"(?<![\w.-])(?:[\w-]++\.){1,8}[\w-]*+…",
}

# Without one of these there is nothing to look for in a text; most names of a trace end here.
HINT = re.compile(r"[/\\@=<:]|--|\w[.-]\w|\.…|[A-Za-z0-9+_-]{20}|(?i:bearer|basic) ")


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{_PATTERNS[name]})" for name in names))


ANY = _any_of(_PATTERNS)
# What the last component of a path may be.
IN_NAME = _any_of(name for name in _PATTERNS if name not in ("url", "windows", "share", "path", "mount", "relative"))
# What names a user or a host within a value that is replaced as a whole.
NAMING = _any_of(("at", "windows", "path", "host"))
