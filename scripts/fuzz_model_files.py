#!/usr/bin/env python3
"""Gives model files with a key changed, missing, null or one too many to transformers and to Pipeloom, and compares what they count.

    fuzz_model_files.py PIPELOOM [--keys N] [--record FILE] [TYPE...]

PIPELOOM is the program. For each model type of sim/io/models/types*.def that transformers builds as a causal language model, the class's
own configuration of 4 layers is written down, once as it is and N times (22) with one key of it changed: another number or the switch thrown,
left out, null, or a key of another class in addition. transformers counts the parameters on the meta device. Verdicts:

    equal      both count the same
    refused    Pipeloom refuses the file in one line, transformers builds it
    both       both refuse it
    accepted   transformers refuses it, Pipeloom counts
    different  both count, and not the same: an error

Run by a Python that has transformers 5.24.0 and torch 2.15.0. Exits with 1 if a verdict is `different`. --record writes the verdicts, tests/golden/models/fuzz.json.
"""

import argparse
import collections
import copy
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

TABLE = pathlib.Path(__file__).resolve().parents[1] / "sim" / "io" / "models"
LAYERS = 4
# Orders of layers are as long as the class's own number of layers; without them the class makes its own.
ORDERS = {"layer_types", "mlp_layer_types", "layers_block_type", "no_rope_layers", "moe_layers", "indexer_types"}
MORE = {
    "head_dim": 48, "attention_bias": True, "mlp_bias": True, "num_key_value_heads": 2, "qkv_bias": True, "use_bias": True,
    "n_shared_experts": 2, "num_experts": 4, "num_local_experts": 4, "moe_intermediate_size": 80,
    "shared_expert_intermediate_size": 72, "first_k_dense_replace": 2, "sliding_window": 64, "use_sliding_window": True,
    "q_lora_rank": 24, "kv_lora_rank": 32, "mamba_expand": 3, "intermediate_size": 112, "tie_word_embeddings": True,
    "use_qk_norm": True, "mlp_only_layers": [0], "decoder_sparse_step": 2, "lm_head_bias": True, "qk_head_dim": 80,
    "num_nextn_predict_layers": 1, "hidden_size_per_layer_input": 16, "shared_intermediate_size": 48, "moe_layer_freq": 2,
}


def types_read():
    text = "".join(path.read_text() for path in sorted(TABLE.glob("types*.def")))
    names = re.findall(r'PIPELOOM_TYPE\("([^"]+)"', text)
    return [name for name in names if name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and name in CONFIG_MAPPING]


def keys_passed():
    """Keys that do not concern sizes, for any class."""
    return set(re.findall(r'"([^"]+)"', (TABLE / "passed_keys.def").read_text()))


def changed(value, random_source):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random_source.choice([value * 2, max(1, value // 2), value + 8]) if value > 0 else 2
    return random_source.choice([2, 16, 64, True]) if value is None else None


def files_of(model_type, count, random_source):
    """(what was done, configuration) for each file."""
    fields = {field.name for field in dataclasses.fields(CONFIG_MAPPING[model_type])}
    base = {key: value for key, value in CONFIG_MAPPING[model_type]().to_dict().items()
            if key in fields and key not in ORDERS and not key.startswith("rope_") and not key.endswith("_token_id")}
    base["model_type"] = model_type
    if "num_hidden_layers" in fields:
        base["num_hidden_layers"] = LAYERS
    passed = keys_passed()
    sized = [key for key in sorted(fields) if key not in passed and not key.endswith("_token_id") and key != "vocab_size"]
    steps = [(what, key) for key in sized for what in ("missing", "changed", "null")]
    steps += [("more", key) for key in MORE if key not in fields]
    random_source.shuffle(steps)
    yield "as it is", base
    for what, key in steps[:count]:
        config = dict(base)
        if what == "missing":
            if key not in config:
                continue
            del config[key]
        elif what == "changed":
            value = changed(config.get(key), random_source)
            if value is None:
                continue
            config[key] = value
        else:
            config[key] = None if what == "null" else MORE[key]
        yield f"{what} {key}", config


def counted_by_library(model_type, config):
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[model_type].from_dict(copy.deepcopy(config)))
    except Exception:  # pylint: disable=broad-except
        return None  # of any class: the library does not take the file
    return sum(parameter.numel() for parameter in model.parameters())


def counted_by_pipeloom(program, config, folder):
    """(parameters or None, the line that refuses it)."""
    path = pathlib.Path(folder) / "config.json"
    path.write_text(json.dumps(config, default=str).replace("Infinity", "1e9"))
    run = subprocess.run([program, "estimate", str(path), "--hardware", "h100", "--ranks", "1", "--seq", "512",
                          "--microbatches", "1", "--json"], capture_output=True, text=True, check=False)
    if run.returncode == 2:
        return None, run.stderr.strip()
    return json.loads(run.stdout)["parameters"], ""


def verdict_of(ours, theirs):
    if ours is None or theirs is None:
        return "both" if ours is theirs else ("refused" if ours is None else "accepted")
    return "equal" if ours == theirs else "different"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--keys", type=int, default=22)
    parser.add_argument("--record")
    parser.add_argument("types", nargs="*")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    record = {}
    with tempfile.TemporaryDirectory() as folder:
        for model_type in options.types or types_read():
            tally = collections.Counter()
            try:
                files = list(files_of(model_type, options.keys, random.Random(model_type)))
            except Exception as error:  # pylint: disable=broad-except
                print(f"{model_type}: the class makes no configuration of its own: {error}"[:150])
                continue
            for what, config in files:
                theirs = counted_by_library(model_type, config)
                ours, line = counted_by_pipeloom(options.program, config, folder)
                verdict = verdict_of(ours, theirs)
                tally[verdict] += 1
                if verdict == "different":
                    print(f"{model_type}, {what}: {ours} here, {theirs} in transformers")
                if ours is None and line.count("\n") > 0:
                    print(f"{model_type}, {what}: more than a line: {line}")
            record[model_type] = dict(sorted(tally.items()))
            print(model_type, record[model_type], flush=True)
    total = collections.Counter()
    for tally in record.values():
        total.update(tally)
    print("all", dict(sorted(total.items())))
    if options.record:
        rows = ",\n".join(f'    "{name}": {json.dumps(tally)}' for name, tally in record.items())
        head = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0], "all": dict(sorted(total.items()))}
        text = "{\n" + "".join(f'  "{key}": {json.dumps(value)},\n' for key, value in head.items()) + f'  "types": {{\n{rows}\n  }}\n}}\n'
        pathlib.Path(options.record).write_text(text)
    return 1 if total["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
