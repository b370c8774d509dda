#include "properties/bench/gpu/kernels.h"

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/graph/attention_shapes.h"
#include "kernels/cuda/laws/named_rows.h"
#include "kernels/number.h"
#include "properties/bench/gpu/clock.h"

namespace shardproof::bench {
namespace {

using nlohmann::json;

/// Arrays of a device for one op.
class Arrays {
 public:
  explicit Arrays(Device& device) : device_(device), queue_(device.queue()) {}

  Queue& queue() { return *queue_; }
  /// Normal entries, by the device's own generator: a product of zeros is faster than one of
  /// numbers.
  void* filled(Element element, int64_t count) {
    void* data = raw(static_cast<size_t>(count) * size_of(element));
    void* key = raw(sizeof(uint64_t));
    const uint64_t seed = keep_.size();
    device_.copy_from_host(*queue_, key, &seed, sizeof seed);
    const Random random{{{count}, {{1}, {1}}}, RandomFn::normal, 0, element};
    const void* inputs[] = {key};
    device_.prepare(random)(*queue_, {&data, 1}, inputs);
    return data;
  }
  void* raw(size_t bytes) {
    keep_.push_back(device_.allocate(bytes));
    return keep_.back().data();
  }
  void* zeros(size_t bytes) {
    void* data = raw(bytes);
    device_.prepare(Zero{bytes})(*queue_, {&data, 1}, {});
    return data;
  }

 private:
  Device& device_;
  std::unique_ptr<Queue> queue_;
  std::vector<Buffer> keep_;
};

double matmul_tflops(Device& device) {
  constexpr int64_t n = 8192;
  Arrays arrays(device);
  Matmul op;
  op.m = op.n = op.k = n;
  op.a = op.b = op.c = {n, 1};
  op.elements = {Element::bf16, Element::bf16, Element::bf16};
  op.batch.strides.resize(3);
  void* out = arrays.raw(n * n * 2);
  const void* inputs[] = {arrays.filled(Element::bf16, n * n), arrays.filled(Element::bf16, n * n)};
  const Launch launch = device.prepare(op);
  return 2e-12 * n * n * n / seconds(arrays.queue(), 20, [&] {
           launch(arrays.queue(), {&out, 1}, inputs);
         });
}

double copy_tb_per_s(Device& device) {
  constexpr size_t bytes = size_t{2} << 30;
  Arrays arrays(device);
  void *to = arrays.raw(bytes), *from = arrays.raw(bytes);
  return 2e-12 * bytes /
         seconds(arrays.queue(), 20, [&] { device.copy(arrays.queue(), to, from, bytes); });
}

/// One kernel: its bytes, each read or written once, as a share of the copy's bandwidth. What goes
/// wrong is a row too, and the others go on.
class Table {
 public:
  Table(Device& device, double copy, const std::function<void(const json&)>& save)
      : device_(device), copy_(copy), save_(save) {}

  void row(const std::string& name, Arrays& arrays, const Launch& launch,
           const std::vector<void*>& outputs, const std::vector<const void*>& inputs,
           double bytes) {
    add(name, [&] {
      const double time =
          seconds(arrays.queue(), 20, [&] { launch(arrays.queue(), outputs, inputs); });
      return json{{"seconds", time},
                  {"tb_per_s", bytes * 1e-12 / time},
                  {"share_of_copy", bytes * 1e-12 / time / copy_}};
    });
  }
  void attention(const std::string& name, Arrays& arrays, const Launch& launch,
                 const std::vector<void*>& outputs, const std::vector<const void*>& inputs,
                 double flops) {
    add(name, [&] {
      const double time =
          seconds(arrays.queue(), 10, [&] { launch(arrays.queue(), outputs, inputs); });
      return json{{"seconds", time}, {"tflops", flops * 1e-12 / time}};
    });
  }
  void note(const std::string& name, const std::string& text) {
    add(name, [&] { return json{{"note", text}}; });
  }
  /// What makes rows.
  void group(const std::string& name, const std::function<void()>& rows) {
    try {
      rows();
    } catch (const std::exception& error) {
      rows_[name] = {{"error", error.what()}};
      save_(rows_);
    }
  }
  Device& device() { return device_; }

 private:
  template <class Measure>
  void add(const std::string& name, const Measure& measure) {
    group(name, [&] {
      rows_[name] = measure();
      save_(rows_);
    });
  }

  Device& device_;
  const double copy_;
  const std::function<void(const json&)>& save_;
  json rows_;
};

constexpr int64_t rows = 16384, length = 4096, entries = rows * length;

void along_rows(Table& table) {
  Device& device = table.device();
  Arrays arrays(device);
  void* x = arrays.filled(Element::bf16, entries);
  void* g = arrays.filled(Element::f32, entries);
  void* out = arrays.raw(entries * 4);
  const Scalar eps{1e-5f};
  table.row("rms_norm", arrays, device.prepare_fused(RmsNorm{rows, length, Element::bf16, eps}),
            {out}, {x}, 6.0 * entries);
  table.row("rms_norm_grad", arrays,
            device.prepare_fused(RmsNormGrad{rows, length, Element::bf16, eps}), {out}, {g, x},
            10.0 * entries);
  table.row("layer_norm", arrays, device.prepare_fused(LayerNorm{rows, length, Element::bf16, eps}),
            {out}, {x}, 6.0 * entries);
  table.row("layer_norm_grad", arrays,
            device.prepare_fused(LayerNormGrad{rows, length, Element::bf16, eps}), {out}, {g, x},
            10.0 * entries);
  table.row("softmax", arrays, device.prepare_fused(Softmax{rows, length}), {out}, {g},
            8.0 * entries);
  table.row("softmax_grad", arrays, device.prepare_fused(SoftmaxGrad{rows, length}), {out}, {g, g},
            12.0 * entries);
  void* target = arrays.zeros(rows * 4);
  void* loss = arrays.raw(rows * 4);
  table.row("cross_entropy", arrays, device.prepare_fused(CrossEntropy{rows, length}), {loss},
            {g, target}, 4.0 * entries);
  table.row("cross_entropy_grad", arrays, device.prepare_fused(CrossEntropyGrad{rows, length}),
            {out}, {loss, g, target}, 12.0 * entries);
  void* pos = arrays.zeros(1024 * 4);
  table.row("rope", arrays,
            device.prepare_fused(Rope{16, 1024, 32, 128, Element::bf16, false, {10000.0f}}), {out},
            {x, pos}, 4.0 * entries);
}

void optimizer(Table& table) {
  Device& device = table.device();
  Arrays arrays(device);
  std::vector<void*> f32;
  for (int i = 0; i < 4; ++i) f32.push_back(arrays.filled(Element::f32, entries));
  AdamW adamw;
  adamw.count = entries;
  adamw.step = {3};
  adamw.lr = {1e-3f};
  adamw.decay = {0.1f};
  adamw.b1 = {0.9f};
  adamw.b2 = {0.95f};
  adamw.eps = {1e-8f};
  table.row("adamw", arrays, device.prepare_fused(adamw), {f32[0], f32[2], f32[3]},
            {f32[0], f32[1], f32[2], f32[3]}, 28.0 * entries);
  adamw.gradient = Element::bf16;
  table.row("adamw, bf16 gradient", arrays, device.prepare_fused(adamw), {f32[0], f32[2], f32[3]},
            {f32[0], arrays.filled(Element::bf16, entries), f32[2], f32[3]}, 26.0 * entries);
  const SumSquares squares{entries};
  table.row("sumsq", arrays, device.prepare_fused(squares),
            {arrays.raw(4), arrays.raw(static_cast<size_t>(squares.blocks()) * 8)}, {f32[1]},
            4.0 * entries);
}

/// silu(gate) * up of bf16, as a plan has it: one compiled chain.
void chains(Table& table) {
  Device& device = table.device();
  Arrays arrays(device);
  void* gate = arrays.filled(Element::bf16, entries);
  void* up = arrays.filled(Element::bf16, entries);
  void* out = arrays.raw(entries * 2);
  Pointwise swiglu;
  swiglu.inputs = {Element::bf16, Element::bf16};
  using enum PointwiseFn;
  swiglu.steps = {{constant, true, {}, 1, {}}, {neg, true, {0}, 0, {}},
                  {exp, true, {3}, 0, {}},     {add, true, {2, 4}, 0, {}},
                  {div, true, {2, 5}, 0, {}},  {mul, true, {0, 6}, 0, {}},
                  {mul, true, {7, 1}, 0, {}}};
  swiglu.output = Element::bf16;
  swiglu.nest = {{entries}, {{1}, {1}, {1}}};
  table.row("swiglu", arrays, device.prepare(swiglu), {out}, {gate, up}, 6.0 * entries);
  Pointwise residual = swiglu;
  residual.steps = {{add, true, {0, 1}, 0, {}}};
  table.row("residual", arrays, device.prepare(residual), {out}, {gate, up}, 6.0 * entries);
  Pointwise cast = swiglu;
  cast.inputs = {Element::bf16};
  cast.steps = {};
  cast.output = Element::f32;
  cast.nest.strides.pop_back();
  table.row("cast", arrays, device.prepare(cast), {arrays.raw(entries * 4)}, {gate}, 6.0 * entries);
}

/// What a plan joins to one pass along rows.
void joined_rows(Table& table) {
  Device& device = table.device();
  Arrays arrays(device);
  std::vector<void*> bf16;
  for (int i = 0; i < 6; ++i) bf16.push_back(arrays.filled(Element::bf16, entries));
  void *weight = arrays.filled(Element::f32, length), *by_weight = arrays.raw(length * 4);
  void* eps = arrays.raw(4);
  const float small = 1e-5f;
  device.copy_from_host(arrays.queue(), eps, &small, 4);
  const auto row = [&](const std::string& name, const Rowwise& op, std::vector<void*> outputs,
                       std::vector<const void*> inputs, double bytes) {
    for (size_t scratch : device.fused_scratch(op)) outputs.push_back(arrays.raw(scratch));
    table.row(name, arrays, device.prepare_fused(op), outputs, inputs, bytes * entries);
  };
  row("rms_norm * weight -> bf16", laws::rms_norm_rows(rows, length), {bf16[3]},
      {bf16[0], weight, eps}, 4);
  row("rms_norm backward with residual", laws::rms_norm_backward_rows(rows, length),
      {bf16[3], by_weight}, {bf16[0], bf16[1], bf16[2], weight, eps}, 8);
  row("swiglu backward", laws::swiglu_backward_rows(rows, length), {bf16[3], bf16[4], bf16[5]},
      {bf16[0], bf16[1], bf16[2]}, 12);
}

/// Causal, 4 query heads for each of 8 key heads, width 128; FLOPs of the half that the mask
/// leaves.
void attention(Table& table, Device& device, const std::string& whose, int64_t positions) {
  Arrays arrays(device);
  constexpr int64_t heads = 8, group = 4, width = 128;
  const int64_t batch = 16384 / positions;
  AttentionGrad backward = causal_attention(batch, positions, heads, group, width);
  backward.mask = {{0, 0, 0}, positions, 0, 1};
  const Attention forward = forward_of(backward);
  const int64_t queries = batch * positions * group * heads * width, keys = queries / group;
  void *q = arrays.filled(Element::bf16, queries), *k = arrays.filled(Element::bf16, keys),
       *v = arrays.filled(Element::bf16, keys), *g = arrays.filled(Element::bf16, queries);
  std::vector<uint8_t> causal(static_cast<size_t>(positions * positions));
  for (int64_t s = 0; s < positions; ++s)
    for (int64_t t = 0; t <= s; ++t) causal[static_cast<size_t>(s * positions + t)] = 1;
  void* mask = arrays.raw(causal.size());
  device.copy_from_host(arrays.queue(), mask, causal.data(), causal.size());
  const double flops = 4.0 * 0.5 * static_cast<double>(queries) * static_cast<double>(positions);
  const std::string name = " at " + std::to_string(positions) + ", " + whose;

  void* o = arrays.raw(static_cast<size_t>(queries) * 2);
  std::vector<void*> outputs{o};
  for (size_t bytes : device.fused_scratch(forward)) outputs.push_back(arrays.raw(bytes));
  table.attention("attention" + name, arrays, device.prepare_fused(forward), outputs,
                  {q, k, v, mask}, flops);
  void* stats = outputs[1];
  outputs = {arrays.raw(static_cast<size_t>(queries) * 2),
             arrays.raw(static_cast<size_t>(keys) * 2), arrays.raw(static_cast<size_t>(keys) * 2)};
  for (size_t bytes : device.fused_scratch(backward)) outputs.push_back(arrays.raw(bytes));
  table.attention("attention_grad" + name, arrays, device.prepare_fused(backward), outputs,
                  {g, q, k, v, mask, o, stats}, 2.5 * flops);
}

}  // namespace

json peaks(Device& device) {
  return {{"matmul_tflops", matmul_tflops(device)}, {"copy_tb_per_s", copy_tb_per_s(device)}};
}

void kernels(Device& device, const json& peaks, const std::function<void(const json&)>& save) {
  Table table(device, peaks.at("copy_tb_per_s"), save);
  table.group("rows", [&] { along_rows(table); });
  table.group("optimizer", [&] { optimizer(table); });
  table.group("chains", [&] { chains(table); });
  table.group("joined rows", [&] { joined_rows(table); });
  const std::pair<AttentionOf, const char*> kinds[] = {
      {AttentionOf::own, "own"},
      {AttentionOf::library, "cuDNN"},
      {AttentionOf::library_unordered, "cuDNN unordered"}};
  for (const auto& [kind, whose] : kinds)
    table.group(whose, [&] {
      const std::shared_ptr<Device> own = cuda_device(0, kind);
      for (int64_t positions : {1024, 4096}) attention(table, *own, whose, positions);
      table.note(whose, own->notes());
    });
}

}  // namespace shardproof::bench
