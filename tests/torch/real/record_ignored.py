"""Records sizes and switches that classes of transformers keep in a configuration and build nothing of: tests/golden/models/ignored_5.24.json.

    record_ignored.py FILE ROWS...      run by a Python that has torch and transformers 5.24.0; ROWS are files of recorded models, a line each

Of each causal type the smallest recorded model is built again with one key changed: whole numbers doubled, biases thrown. A key is written where the library builds the
changed model and counts as many parameters.
"""
import copy
import json
import re
import sys

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

SIZES = re.compile(r"^n_|^num_|(_dim|_size|_rank|_heads|_experts|_width)$")
OTHERS = re.compile(r"chunk|window|pad_|initial|layers$|num_hidden|per_tok|_group$|logits|topk|num_labels|sink|max_")  # of times, or of layers
MOST_PARAMETERS = 3e12


def smallest_models(paths):
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                known = found.get(record["type"])
                if record["kind"] == "causal" and (known is None or record["parameters"] < known["parameters"]):
                    found[record["type"]] = record
    return {name: record for name, record in sorted(found.items()) if record["parameters"] <= MOST_PARAMETERS}


def changed_value(key, value):
    """Another value of a key that may count parameters; None for the others."""
    if isinstance(value, bool):
        return not value if key.endswith("bias") else None
    if isinstance(value, int) and value > 0 and SIZES.search(key) and not OTHERS.search(key):
        return 2 * value
    return None


def parameters(model_type, config):
    """As the library counts them; None for a model that it does not build."""
    try:
        made = CONFIG_MAPPING[model_type].from_dict(copy.deepcopy(config))
        model = MODEL_FOR_CAUSAL_LM_MAPPING[type(made)]
        with torch.device("meta"):
            built = (model[0] if isinstance(model, tuple) else model)(made)
    except Exception:  # pylint: disable=broad-except
        return None
    return sum(each.numel() for each in built.parameters())


def main():
    assert transformers.__version__ == "5.24.0", transformers.__version__
    transformers.logging.set_verbosity_error()
    rows = []
    for model_type, record in smallest_models(sys.argv[2:]).items():
        config = record["config"]
        usual = parameters(model_type, config)
        for key, value in config.items():
            other = changed_value(key, value)
            if other is not None and usual is not None and parameters(model_type, {**config, key: other}) == usual:
                rows.append([model_type, key, other])
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
