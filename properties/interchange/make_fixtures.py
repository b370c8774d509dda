"""Small random models of the transformers library with their logits and gradients in float32.

make_fixtures.py write FOLDER [SEED]   writes a folder for each model: config.json, model.safetensors, gradients of the
                                       mean loss in the same form, and data.safetensors with ids, targets and logits.
make_fixtures.py add FOLDER MODEL      writes one model, a function of this file, into a folder of its name.
make_fixtures.py generate FOLDER       adds generated.safetensors to a model: its ids and what greedy `generate` adds.
make_fixtures.py equal MODEL OTHER     fails unless transformers reads both folders and they are the same model.

Recorded with torch 2.15.0 and transformers 5.23.0: fixtures/ beside this file is what `write` made with the default seed.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM, DeepseekV2Config, DeepseekV2ForCausalLM, DeepseekV3Config, DeepseekV3ForCausalLM, Gemma2Config, Gemma2ForCausalLM, GPT2Config,
    GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, MixtralConfig, MixtralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

V, B, L = 16, 2, 6


# two query heads share a key head
SIZES = dict(vocab_size=V, hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, rms_norm_eps=1e-5, max_position_embeddings=32)
ODD = dict(SIZES, head_dim=4)  # not hidden_size / num_attention_heads


def llama(tied):
    return LlamaForCausalLM(LlamaConfig(**ODD, rope_theta=500000.0, tie_word_embeddings=tied))


def llama31():
    # of the two rotations of a head, which turn 0.32 and 2.2e-3 times, the first is scaled in part
    rope = dict(rope_type="llama3", rope_theta=20000.0, factor=8.0, low_freq_factor=0.2, high_freq_factor=0.6,
                original_max_position_embeddings=2)
    return LlamaForCausalLM(LlamaConfig(**ODD, rope_parameters=rope))


def mistral(window):
    return MistralForCausalLM(MistralConfig(**ODD, rope_theta=20000.0, sliding_window=window))


def mixtral():
    return MixtralForCausalLM(MixtralConfig(**ODD, rope_theta=20000.0, num_local_experts=4))


# one dense layer and two with experts; no two sizes of a tensor's parts are the same
LATENT = dict(SIZES, num_hidden_layers=3, num_key_value_heads=4, first_k_dense_replace=1, moe_intermediate_size=4,
              n_shared_experts=2, n_routed_experts=6, num_experts_per_tok=3, kv_lora_rank=6, qk_nope_head_dim=2,
              qk_rope_head_dim=4, v_head_dim=3, routed_scaling_factor=1.5)
# of the two rotations of a head, the second is slower
YARN = dict(rope_type="yarn", factor=8.0, beta_fast=0.5, beta_slow=0.01, mscale=0.7, mscale_all_dim=1.2,
            original_max_position_embeddings=16)


def deepseek3(yarn=None, q_lora_rank=10):
    return DeepseekV3ForCausalLM(DeepseekV3Config(
        **LATENT, n_group=3, topk_group=2, q_lora_rank=q_lora_rank,
        rope_parameters=dict(rope_theta=20000.0, **(yarn or dict(rope_type="default")))))


def deepseek3_yarn():
    return deepseek3(YARN)


def moonlight():
    return deepseek3(q_lora_rank=None)


# aux_loss_alpha: the library has no loss that balances the experts
def deepseek2():
    return DeepseekV2ForCausalLM(DeepseekV2Config(
        **LATENT, n_group=1, topk_group=1, q_lora_rank=None, aux_loss_alpha=0.0,
        rope_parameters=dict(rope_theta=20000.0, **YARN)))


def deepseek2_236b():
    return DeepseekV2ForCausalLM(DeepseekV2Config(
        **LATENT, n_group=3, topk_group=2, topk_method="group_limited_greedy", q_lora_rank=10, aux_loss_alpha=0.0,
        rope_parameters=dict(rope_theta=20000.0, rope_type="default")))


def gemma2():
    # the first layer looks back over a window; the soft caps are near the logits; the library gives the row of a padding
    # token no gradient where it is read
    return Gemma2ForCausalLM(Gemma2Config(
        **dict(ODD, tie_word_embeddings=True), rope_theta=20000.0, sliding_window=3, query_pre_attn_scalar=6,
        attn_logit_softcapping=2.0, final_logit_softcapping=3.0, pad_token_id=None, attn_implementation="eager"))


def qwen2():
    return Qwen2ForCausalLM(Qwen2Config(**dict(SIZES, hidden_size=16), rope_theta=20000.0))


def qwen3():
    return Qwen3ForCausalLM(Qwen3Config(**ODD, rope_theta=20000.0))


def gpt2():
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=V, n_positions=8, n_embd=8, n_layer=2, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def save(model, folder):
    model.save_pretrained(folder)
    for name in set(os.listdir(folder)) - {"config.json", "model.safetensors"}:
        os.remove(os.path.join(folder, name))


def write(model, folder):
    model = model.eval().float()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, 1.0 if weight.dim() == 1 else 0.0, 0.3)
    for buffer in (each for name, each in model.named_buffers() if name.endswith("e_score_correction_bias")):
        torch.nn.init.normal_(buffer, 0.0, 0.3)
    ids, targets = (torch.randint(0, V, (B, L)) for _ in range(2))
    logits = model(ids).logits
    torch.nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1)).backward()
    save(model, folder)
    with torch.no_grad():  # under the names of the weights, which are not always those of the parameters
        for weight in model.parameters():
            weight.copy_(weight.grad)
    save(model, os.path.join(folder, "gradients"))
    save_file({"ids": ids.int(), "targets": targets.int(), "logits": logits.detach().contiguous()},
              os.path.join(folder, "data.safetensors"))


def generate(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    torch.manual_seed(1)
    positions = model.config.max_position_embeddings
    ids = torch.randint(0, V, (1, min(L, positions // 4)))
    new = min(16, positions - ids.shape[1])
    all = model.generate(ids, max_new_tokens=new, do_sample=False, eos_token_id=None, pad_token_id=0)
    save_file({"ids": ids.int(), "generated": all[:, ids.shape[1]:].int().contiguous()},
              os.path.join(folder, "generated.safetensors"))


def write_all(folder, seed=1):
    torch.manual_seed(seed)
    write(llama(False), os.path.join(folder, "llama"))
    write(llama(True), os.path.join(folder, "llama_tied"))
    write(gpt2(), os.path.join(folder, "gpt2"))
    write(llama31(), os.path.join(folder, "llama31"))
    write(mistral(3), os.path.join(folder, "mistral"))
    write(mistral(None), os.path.join(folder, "mistral_no_window"))
    write(qwen2(), os.path.join(folder, "qwen2"))
    write(qwen3(), os.path.join(folder, "qwen3"))
    write(mixtral(), os.path.join(folder, "mixtral"))
    write(deepseek3(), os.path.join(folder, "deepseek3"))
    write(deepseek3_yarn(), os.path.join(folder, "deepseek3_yarn"))
    write(gemma2(), os.path.join(folder, "gemma2"))
    write(moonlight(), os.path.join(folder, "moonlight"))
    write(deepseek2(), os.path.join(folder, "deepseek2"))
    write(deepseek2_236b(), os.path.join(folder, "deepseek2_236b"))
    for each in ("llama", "llama_tied", "llama31", "mistral", "mixtral", "qwen2", "qwen3", "gemma2", "gpt2", "deepseek2",
                 "deepseek2_236b", "deepseek3", "deepseek3_yarn", "moonlight"):
        generate(os.path.join(folder, each))


def equal(folder, other):
    one, two = (AutoModelForCausalLM.from_pretrained(each, dtype=torch.float32) for each in (folder, other))
    ids = torch.arange(B * L).reshape(B, L) % V
    assert type(one) is type(two)
    difference = (one(ids).logits - two(ids).logits).abs().max().item()
    assert difference <= 1e-5, f"logits differ by {difference}"
    weights = two.state_dict()
    rounded = 2.0**-22 if isinstance(one, Gemma2ForCausalLM) else 0  # our gains are 1 + its weights
    for name, weight in one.state_dict().items():
        assert (weight - weights[name]).abs().max() <= rounded, name


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write_all(sys.argv[2], *map(int, sys.argv[3:]))
    elif sys.argv[1] == "add":
        torch.manual_seed(1)
        write(globals()[sys.argv[3]](), os.path.join(sys.argv[2], sys.argv[3]))
    elif sys.argv[1] == "generate":
        generate(sys.argv[2])
    else:
        equal(sys.argv[2], sys.argv[3])
