"""The models of whole layouts, as each framework is told them: Megatron-core's own arguments, and torchtitan's own configurations.

Sizes are those of the published configurations; neither was made from pipeloom's own model files."""
import shlex

LLAMA = ("--group-query-attention --num-query-groups 8 --vocab-size 128256 --swiglu --normalization RMSNorm --disable-bias-linear "
         "--untie-embeddings-and-output-weights")
QWEN = ("--group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm --vocab-size 151936 --swiglu --normalization RMSNorm "
        "--disable-bias-linear --untie-embeddings-and-output-weights --num-experts 128 --moe-router-topk 8")

MEGATRON = {
    "llama3-8b": f"--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 {LLAMA}",
    "llama3-70b": f"--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 {LLAMA}",
    "llama3-405b": f"--num-layers 126 --hidden-size 16384 --ffn-hidden-size 53248 --num-attention-heads 128 {LLAMA}",
    "mixtral-8x7b": "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --moe-ffn-hidden-size 14336 --num-attention-heads 32 "
                    "--group-query-attention --num-query-groups 8 --vocab-size 32000 --swiglu --normalization RMSNorm --disable-bias-linear "
                    "--untie-embeddings-and-output-weights --num-experts 8 --moe-router-topk 2",
    "qwen3-30b-a3b": f"--num-layers 48 --hidden-size 2048 --moe-ffn-hidden-size 768 --num-attention-heads 32 {QWEN}",
    "qwen3-235b-a22b": f"--num-layers 94 --hidden-size 4096 --moe-ffn-hidden-size 1536 --num-attention-heads 64 {QWEN}",
    "deepseek-v3": "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --multi-latent-attention "
                   "--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm "
                   "--vocab-size 129280 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
                   "--num-experts 256 --moe-layer-freq '([0]*3+[1]*58)' --moe-ffn-hidden-size 2048 --moe-router-topk 8 "
                   "--moe-shared-expert-intermediate-size 2048 --moe-router-score-function sigmoid --moe-router-enable-expert-bias "
                   "--moe-router-load-balancing-type seq_aux_loss --moe-router-dtype fp32 --moe-router-num-groups 8 "
                   "--moe-router-group-topk 4",
    "gpt-oss-120b": "--num-layers 36 --hidden-size 2880 --num-attention-heads 64 --kv-channels 64 --group-query-attention "
                    "--num-query-groups 8 --vocab-size 201088 --num-experts 128 --moe-router-topk 4 --moe-ffn-hidden-size 2880 "
                    "--softmax-type learnable --window-size 128,0 --window-attn-skip-freq 2 --quick-geglu --glu-linear-offset 1.0 "
                    "--normalization RMSNorm --add-qkv-bias --untie-embeddings-and-output-weights",
}

# Its package, the function of its configurations, the size in its registry, and what the registry is told beside that.
TORCHTITAN = {
    "llama3-8b": ("llama3", "llama3_8b", "8B", {}),
    "llama3-70b": ("llama3", "llama3_70b", "70B", {}),
    "llama3-405b": ("llama3", "llama3_70b", "405B", {}),  # its own configuration is one of 8 bits
    "qwen3-30b-a3b": ("qwen3", "qwen3_30b_a3b", "30B-A3B", {}),
    "qwen3-235b-a22b": ("qwen3", "qwen3_30b_a3b", "235B-A22B", {}),
    "deepseek-v3": ("deepseek_v3", "deepseek_v3_671b", "671B", {"num_mtp_layers": 1}),
    "gpt-oss-120b": ("gpt_oss", "gpt_oss_120b", "120b", {}),
}


def megatron_words(model):
    return shlex.split(MEGATRON[model])
