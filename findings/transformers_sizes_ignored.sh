#!/usr/bin/env bash
# transformers 5.24.0 (torch 2.15.0, CPU), recorded on 30 November 2026: sizes and switches of a configuration that its class keeps, saves and builds
# nothing of.
#
# 1. DeepSeek-V4 has one shared expert, whatever `n_shared_experts` says, and no biases in its attention, whatever `attention_bias` says.
# 2. `mlp_bias` of DeepSeek-V3.2 and GLM-5 adds no bias, where that of DeepSeek-V4 and Llama adds three a layer.
# 3. MPT's `no_bias` and Zamba 2's `use_conv_bias` change nothing: the one never has biases, the convolutions of the other always do.
# A count of parameters from the file alone, by what the keys are called, is wrong by these.
#
# Output: the lines in `expected` below. Fails if one of them changes. Some 2 minutes, 5 GB in a temporary folder. Models are built without memory.
set -euo pipefail

folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile torch==2.15.0 numpy transformers==5.24.0

cat >"$folder/run.py" <<'PYTHON'
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
FEW = {"num_hidden_layers": 4}
CASES = (("deepseek_v4", "n_shared_experts", 1, 4, FEW), ("deepseek_v4", "attention_bias", False, True, FEW), ("deepseek_v32", "mlp_bias", False, True, FEW),
         ("glm_moe_dsa", "mlp_bias", False, True, FEW), ("mpt", "no_bias", True, False, {"n_layers": 4}), ("zamba2", "use_conv_bias", True, False, {}))


def counted(model_type, **sizes):
    """Parameters of a model, and its configuration as it would be saved."""
    config = AutoConfig.for_model(model_type, **sizes)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    return sum(each.numel() for each in model.parameters()), model.config.to_dict()


for model_type, key, usual, other, sizes in CASES:
    first, saved = counted(model_type, **{key: usual}, **sizes)
    second, saved_other = counted(model_type, **{key: other}, **sizes)
    kept = saved[key] == usual and saved_other[key] == other
    print(f"{model_type} {key} {usual} and {other}: {first} and {second} parameters, {'both saved' if kept else 'not saved'}")
PYTHON

expected() {
  cat <<'LINES'
deepseek_v4 n_shared_experts 1 and 4: 27396720221 and 27396720221 parameters, both saved
deepseek_v4 attention_bias False and True: 27396720221 and 27396720221 parameters, both saved
deepseek_v32 mlp_bias False and True: 15166939136 and 15166939136 parameters, both saved
glm_moe_dsa mlp_bias False and True: 12983272448 and 12983272448 parameters, both saved
mpt no_bias True and False: 304498688 and 304498688 parameters, both saved
zamba2 use_conv_bias True and False: 2481848336 and 2481848336 parameters, both saved
LINES
}

"$folder/venv/bin/python" "$folder/run.py" 2>"$folder/log" >"$folder/lines" || {
  cat "$folder/log" >&2
  exit 1
}
cat "$folder/lines"
diff <(expected) "$folder/lines"
