"""Counts every causal and image-text architecture of transformers with pipeloom.torch.model and compares parameters with the library's own.

    count_models.py OUT.jsonl [TYPE ...]     a line per architecture, each in a process of its own
    count_models.py --table OUT.jsonl        what is there, and why not what is missing
    count_models.py --compare OUT.jsonl RECORD.jsonl    whether the counts are those of a record
    count_models.py --read OUT.jsonl PIPELOOM           which of the same configurations `pipeloom estimate` reads, and whether parameters are equal
"""
from __future__ import annotations

import collections
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import transformers
from model_types import CALLS, FLOAT32, SEQ, configuration

import pipeloom.torch as pt
from pipeloom.torch._model import _count, _model_count  # imported once, before the processes part

LIMIT_S = 120
# What must be said of types whose counts would mislead without a word.
SAID = {
    "hrm_text dory inkling2_loop_text": "layers that ran before",
    "zamba zamba2": "have parameters of an earlier one",
    "mllama got_ocr2 moss_transcribe_diarize gemma3": "did not run",
    "bart blenderbot marian mbart mvp pegasus plbart trocr whisper bigbird_pegasus deepseek_v32": "no gradient reaches",
    "llama4_text": "multiply every token",
    "mamba falcon_mamba recurrent_gemma": "a loop in plain torch",
    "bamba mamba2": "products of activations in plain torch",
    "mixtral deepseek_v3 longcat_flash": "taken to be even",
    "gpt_oss gemma2": "keeps scores of S x S",
}
GROUPS = {"causal": "AutoModelForCausalLM", "image-text": "AutoModelForImageTextToText"}


def own_parameters(auto: str, config: Any) -> int:
    """As the library builds it, without Pipeloom."""
    with torch.device("meta"):
        model = getattr(transformers, auto).from_config(config)
    return sum(item.numel() for item in model.parameters())


def counted(group: str, cls: Any) -> dict[str, Any]:
    """One line: what was counted, or `why` it was not."""
    name = cls.model_type
    row: dict[str, Any] = {"group": group, "type": name}
    try:
        config = configuration(cls)
        config.architectures = [getattr(transformers, GROUPS[group])._model_mapping[cls].__name__]
        row["library"] = own_parameters(GROUPS[group], config)
    except Exception as error:  # whatever the library's own code raises: it builds no such model
        row["why"] = f"the library builds none: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
    try:
        inputs = CALLS[name](config) if name in CALLS else None
        most = getattr(config, "max_position_embeddings", None) or SEQ
        seq = min(SEQ, most) if most > 0 else SEQ
        model = pt.model(config, seq=seq, dtype="float32" if name in FLOAT32 else "bfloat16", inputs=inputs)
    except Exception as error:  # noqa: BLE001 - the reason is what is recorded
        row.setdefault("why", " ".join(str(error).split())[:200])
        return row
    kinds = [[kind.name, model.letters.count(kind.letter), kind.parameters, *kind.counted.flops, kind.counted.kept] for kind in model.kinds]
    row.update(parameters=model.parameters, runs=len(model.letters), kinds=kinds, notes=list(model.notes))
    row["held"] = sum(kind.parameters * model.letters.count(kind.letter) for kind in model.kinds) + model.ends.parameters + model.tables
    return row


def in_process(group: str, cls: Any) -> dict[str, Any]:
    """`counted` in a child, which may run out of time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
        row = counted(group, cls)
        with os.fdopen(writer, "w") as pipe:
            json.dump(row, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"group": group, "type": cls.model_type, "why": f"not done in {LIMIT_S} s of CPU"}


def sweep(path: str, only: list[str]) -> None:
    with open(path, "w", encoding="utf-8") as out:
        for group, auto in GROUPS.items():
            for cls in getattr(transformers, auto)._model_mapping:
                if only and cls.model_type not in only:
                    continue
                start = time.time()
                out.write(json.dumps(in_process(group, cls)) + "\n")
                out.flush()
                print(f"{group} {cls.model_type} {time.time() - start:.1f} s", file=sys.stderr)


def table(path: str) -> int:
    """Prints how many were built, counted and equal; returns 1 if a number differs or too few are there."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    wrong = [row for row in rows if "parameters" in row and row.get("library", row["parameters"]) != row["parameters"]]
    wrong += [row for row in rows if "parameters" in row and row["held"] != row["parameters"]]
    for group, least in (("causal", 190), ("image-text", 85)):
        mine = [row for row in rows if row["group"] == group]
        done = [row for row in mine if "parameters" in row]
        print(f"{group}: {len(mine)} types, the library builds {sum('library' in row for row in mine)}, counted {len(done)}")
        for why, names in sorted(_reasons(mine).items()):
            print(f"  {', '.join(names)}: {why}")
        wrong += [{"type": group}] if len(done) < least else []
    notes = {row["type"]: " ".join(row.get("notes", ())) for row in rows}
    wrong += [{"type": name, "not said": what} for names, what in SAID.items() for name in names.split() if what not in notes.get(name, "")]
    for row in wrong:
        print(f"WRONG {row}")
    return 1 if wrong else 0


def compare(path: str, record: str) -> int:
    """Prints each type whose counts are not those of the record; returns 1 if there is one."""

    def rows(name: str) -> dict[tuple[str, str], Any]:
        with open(name, encoding="utf-8") as file:
            found = [json.loads(line) for line in file]
        return {(row["group"], row["type"]): [row.get(key) for key in ("parameters", "runs", "kinds", "notes")] for row in found}

    ours, recorded = rows(path), rows(record)
    off = [key for key in recorded if ours.get(key) != recorded[key]]
    for key in off:
        print(f"{' '.join(key)}: {str(ours.get(key))[:200]}, recorded {str(recorded[key])[:200]}")
    print(f"{len(recorded) - len(off)} of {len(recorded)} types as recorded")
    return int(bool(off))


def read(path: str, pipeloom: str) -> int:
    """Gives each type's configuration to `pipeloom estimate`; returns 1 if it reads one with other parameters than the library has."""
    with open(path, encoding="utf-8") as file:
        rows = {(row["group"], row["type"]): row for row in map(json.loads, file)}
    equal, refused, wrong = [], 0, []
    with tempfile.TemporaryDirectory() as folder:
        for (group, name), row in rows.items():
            if "library" not in row:
                continue
            config = configuration(transformers.CONFIG_MAPPING[name])
            config.architectures = [getattr(transformers, GROUPS[group])._model_mapping[type(config)].__name__]
            config.save_pretrained(folder)
            command = [pipeloom, "estimate", f"{folder}/config.json", "--hardware", "h100", "--ranks", "1", "--microbatches", "1", "--limit", "1PB", "--json"]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode == 2:
                refused += 1
            elif json.loads(done.stdout)["parameters"] == row["library"]:
                equal.append(name)
            else:
                wrong.append(f"{name}: read {json.loads(done.stdout)['model']['parameters']}, the library has {row['library']}")
    print(f"{len(equal)} read and equal, {refused} refused, {len(wrong)} read with other parameters\n{', '.join(equal)}")
    for line in wrong:
        print(line)
    return int(bool(wrong))


def _reasons(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = collections.defaultdict(list)
    for row in rows:
        if "parameters" not in row:
            out[row["why"]].append(row["type"])
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    for option, action in (("--table", table), ("--compare", compare), ("--read", read)):
        if sys.argv[1] == option:
            sys.exit(action(*sys.argv[2:]))
    sweep(sys.argv[1], sys.argv[2:])
    print(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MB at most", file=sys.stderr)
