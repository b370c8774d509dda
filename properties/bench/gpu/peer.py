"""The model of spec/models/llama_causal.shard in PyTorch: compiled, bf16 compute, f32 weights, SDPA, fused AdamW.

peer.py CONFIG LENGTH FILE writes JSON, and prints it: tokens per second of forward, backward and step. Where the batch
does not fit, half of it is taken, and so on. PEER_LOCK=FILE: runs that share FILE compile beside each other, and are timed
one after the other. PEER_PROFILE=FILE: the times of the kernels of one step.
peer.py attention LENGTH FILE: TFLOP/s of SDPA and its gradient, of the sizes of kernels.cpp.
"""
import contextlib
import fcntl
import json
import os
import re
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F


def sizes(config, length):
    text = (Path(__file__).resolve().parents[3] / "spec/models/llama_gpu.shard").read_text()
    found = re.search(rf"config {config}\s*{{(.*?)}}", text).group(1)
    n = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", found)}
    n["B"], n["L"] = max(n["B"] * n["L"] // length // int(os.environ.get("PEER_BATCH_PART", 1)), 1), length
    return n


def norm(x, w):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * w).to(x.dtype)


def rope(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Layer(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        heads = n["Q"] * n["K"]
        def weight(*shape):
            return torch.nn.Parameter(torch.randn(*shape) * 0.02)
        self.ln1 = torch.nn.Parameter(torch.ones(n["M"]))
        self.ln2 = torch.nn.Parameter(torch.ones(n["M"]))
        self.q = weight(heads * n["D"], n["M"])
        self.kv = weight(2 * n["K"] * n["D"], n["M"])
        self.o = weight(n["M"], heads * n["D"])
        self.gate, self.up = weight(n["F"], n["M"]), weight(n["F"], n["M"])
        self.down = weight(n["M"], n["F"])

    def forward(self, x, cos, sin):
        n, (b, l, _) = self.n, x.shape
        h = norm(x, self.ln1)
        q = F.linear(h, self.q.to(h.dtype)).view(b, l, -1, n["D"])
        k, v = F.linear(h, self.kv.to(h.dtype)).view(b, l, 2, n["K"], n["D"]).unbind(2)
        q, k = rope(q, cos, sin), rope(k, cos, sin)
        o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                           is_causal=True, enable_gqa=True)
        x = x + F.linear(o.transpose(1, 2).reshape(b, l, -1), self.o.to(h.dtype))
        h = norm(x, self.ln2)
        h = F.silu(F.linear(h, self.gate.to(h.dtype))) * F.linear(h, self.up.to(h.dtype))
        return x + F.linear(h, self.down.to(h.dtype))


class Llama(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.embed = torch.nn.Parameter(torch.randn(n["V"], n["M"]) * 0.02)
        self.unembed = torch.nn.Parameter(torch.randn(n["V"], n["M"]) * 0.02)
        self.ln = torch.nn.Parameter(torch.ones(n["M"]))
        self.layers = torch.nn.ModuleList(Layer(n) for _ in range(n["N"]))

    def forward(self, ids, targets, cos, sin):
        x = F.embedding(ids, self.embed.to(torch.bfloat16))
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = F.linear(norm(x, self.ln), self.unembed.to(x.dtype)).float()
        return F.cross_entropy(logits.view(-1, self.n["V"]), targets.view(-1))


def tell(figures):
    line = json.dumps(figures)
    Path(sys.argv[3]).write_text(line + "\n")
    print(line)


def seconds(work, times=10):
    for _ in range(3):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e-3 / times


@contextlib.contextmanager
def alone():
    with open(os.environ.get("PEER_LOCK", os.devnull), "a") as file:
        if file.name != os.devnull:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def attention(length):
    batch, heads, group, width = 16384 // length, 8, 4, 128
    def filled(heads):
        x = torch.randn(batch, length, heads, width, device="cuda", dtype=torch.bfloat16)
        return x.transpose(1, 2).requires_grad_()
    q, k, v = filled(heads * group), filled(heads), filled(heads)
    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    o = forward()
    g = torch.randn_like(o)
    flops = 2.0 * q.numel() * length
    with alone():
        backward = seconds(lambda: torch.autograd.grad(o, (q, k, v), g, retain_graph=True))
        with torch.no_grad():
            tell({"attention": 1e-12 * flops / seconds(forward), "attention_grad": 2.5e-12 * flops / backward})


def train(n):
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Llama(n)
        ids = torch.randint(n["V"], (n["B"], n["L"]))
        targets = torch.randint(n["V"], (n["B"], n["L"]))
        angle = torch.arange(n["L"])[:, None] * 10000.0 ** (-torch.arange(n["D"] // 2) * 2 / n["D"])
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    step_of = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), fused=True)

    def step():
        loss = step_of(ids, targets, cos, sin)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(3):
        loss = step()
    torch.cuda.synchronize()
    with alone():
        begin = time.perf_counter()
        for _ in range(10):
            loss = step()
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - begin) / 10
        if profile := os.environ.get("PEER_PROFILE"):
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
                step()
            table = found.key_averages().table(sort_by="self_cuda_time_total", row_limit=60, max_name_column_width=90)
            Path(profile).write_text(table)
    tell({"torch": torch.__version__, "seconds": seconds, "loss": loss.item(), "batch": n["B"],
          "tokens_per_s": n["B"] * n["L"] / seconds, "bytes": torch.cuda.max_memory_allocated()})


def main():
    if sys.argv[1] == "attention":
        return attention(int(sys.argv[2]))
    n = sizes(sys.argv[1], int(sys.argv[2]))
    try:
        train(n)
    except RuntimeError as error:
        full = isinstance(error, torch.OutOfMemoryError) or "ALLOC_FAILED" in str(error)
        if not full or n["B"] == 1:
            raise
        print(f"a batch of {n['B']} does not fit", flush=True)
        os.environ["PEER_BATCH_PART"] = str(2 * int(os.environ.get("PEER_BATCH_PART", 1)))
        os.execv(sys.executable, [sys.executable, *sys.argv])  # with all memory free


main()
