#!/usr/bin/env bash
# megatron-core 0.19.2 (torch 2.15.0, CPU), recorded on 28 November 2026: which layout strings its TransformerConfig builds.
#
# 1. Layers for multi-token prediction in the LAST chunk of the first rank are taken, although its message says "the MTP should not be in
#    the first pp rank": the check looks at all chunks but the last one.
# 2. An empty first stage before the embedding is taken: all that is checked is that the embedding is the first of all letters.
# 3. A repetition of a repetition, `*2*3`, is taken, and is not six times: `(tt|)*2*3` becomes `tt|tt|` and its last letter `|` three times,
#    so that empty stages appear.
# 4. Brackets within brackets and blanks are refused (AssertionError: invalid layer character).
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile)
"${pip[@]}" torch==2.15.0 numpy packaging
# The wheel for Python 3.11 says that it wants 3.12.
"${pip[@]}" --no-deps --ignore-requires-python megatron-core==0.19.2

cat >"$folder/run.py" <<'PYTHON'
import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch
from megatron.core.transformer.transformer_config import TransformerConfig

LETTERS = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}


def stages_of(text, ranks, layers, mtp):
    """What each chunk of each rank holds, or the class of the refusal."""
    try:
        config = TransformerConfig(num_layers=layers, mtp_num_layers=mtp, hidden_size=16, num_attention_heads=4,
                                   pipeline_dtype=torch.float32, pipeline_model_parallel_size=ranks, pipeline_model_parallel_layout=text)
    except (AssertionError, ValueError) as refusal:
        return type(refusal).__name__
    layout = config.pipeline_model_parallel_layout.layout
    return "; ".join(f"rank {rank}: " + ", ".join("".join(LETTERS[layer.name] for layer in chunk) or "nothing" for chunk in chunks)
                     for rank, chunks in enumerate(layout))


for text, ranks, layers, mtp in [("Ettm|L", 2, 2, 1), ("Et|tt|tmm|L", 2, 4, 2), ("Etm|t|tm|L", 2, 3, 2), ("|Et*2L", 1, 2, None),
                                 ("Ett|(tt|)*2*3L", 3, 6, None), ("Et|((t|)*2)*2L", 2, 5, None), ("Et| tL", 2, 2, None)]:
    print(f"{text!r} on {ranks}: {stages_of(text, ranks, layers, mtp)}")
PYTHON

expected() {
  cat <<'LINES'
'Ettm|L' on 2: rank 0: Ettm; rank 1: L
'Et|tt|tmm|L' on 2: rank 0: Et, tmm; rank 1: tt, L
'Etm|t|tm|L' on 2: AssertionError
'|Et*2L' on 1: rank 0: nothing, EttL
'Ett|(tt|)*2*3L' on 3: rank 0: Ett, nothing; rank 1: tt, nothing; rank 2: tt, L
'Et|((t|)*2)*2L' on 2: AssertionError
'Et| tL' on 2: AssertionError
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
