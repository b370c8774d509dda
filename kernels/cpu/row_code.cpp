#include "kernels/cpu/row_code.h"

#include "kernels/cpu/isa.h"
#include "kernels/cpu/look_ups.h"
#include "kernels/cpu/sources.h"

#ifndef SHARDPROOF_XBYAK
namespace shardproof::cpu {
RowCode row_code(const RowChain&) { return nullptr; }
}  // namespace shardproof::cpu
#else

#define XBYAK_NO_OP_NAMES  // `and` and `or` are C++
#include <xbyak/xbyak.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

namespace shardproof::cpu {
namespace {

using Vector = Xbyak::Zmm;

/// A chain that has no code.
struct NoCode {};

/// The numbers that code reads, each once. Their addresses do not change.
class Numbers {
 public:
  Numbers() { bits_.reserve(most); }
  int offset_of(uint32_t bits) {
    const auto known = std::find(bits_.begin(), bits_.end(), bits);
    const auto at = static_cast<size_t>(known - bits_.begin());
    if (known == bits_.end()) {
      if (at == most) throw NoCode();
      bits_.push_back(bits);
    }
    return static_cast<int>(at * sizeof bits);
  }
  const uint32_t* data() const { return bits_.data(); }

 private:
  static constexpr size_t most = 512;
  std::vector<uint32_t> bits_;
};

/// Of vcmpps and vpcmpd.
struct Predicates {
  uint8_t real, whole;
};

struct LookUp {
  size_t from;
  const float* table;
};

using Place = std::optional<int>;   ///< a register
using Places = std::vector<Place>;  ///< by value
using Readers = std::vector<int64_t>;

class Generator : public Xbyak::CodeGenerator {
 public:
  explicit Generator(const RowChain& chain) : CodeGenerator(4096, Xbyak::AutoGrow), chain_(chain) {
    find_look_ups();
    count_readers();
    find_narrow_nans();
    for (size_t k = 0; k < chain.results.size(); ++k)
      if (chain.results[k].to == RowChain::To::sum) sums_.emplace(k, Vector(taken()));
    generate();
    readyRE();
  }

 private:
  // rdi: the operands' addresses. rsi: the entries that are left. rcx: the entry. r8: the numbers.
  // rax: an operand's address. k1, k2: the lanes of the last entries, of both halves. k3, k4: a
  // choice.

  void generate() {
    Xbyak::Label end;
    mov(r8, reinterpret_cast<uint64_t>(numbers_.data()));
    xor_(ecx, ecx);
    for (const auto& [k, sum] : sums_) vpxord(sum, sum, sum);
    // Two vectors at once have twice the steps that do not wait for each other.
    if (has_registers(2)) loop(2);
    loop(1);
    test(rsi, rsi);
    jz(end, T_NEAR);
    mov(eax, -1);
    bzhi(eax, eax, esi);
    kmovw(k1, eax);
    shr(eax, lanes / 2);
    kmovw(k2, eax);
    last_ = true;
    entries(1);
    L(end);
    for (const auto& [k, sum] : sums_) add_lanes(sum, operand(chain_.inputs.size() + k));
    vzeroupper();
    ret();
  }

  bool has_registers(size_t vectors) {
    const std::vector<int> free = free_;
    const size_t size = getSize();
    bool has = true;
    try {
      entries(vectors);
    } catch (const NoCode&) {
      has = false;
    }
    free_ = free;
    setSize(size);
    return has;
  }

  /// While there are entries for this many vectors.
  void loop(size_t vectors) {
    Xbyak::Label next;
    const auto count = static_cast<int>(vectors) * lanes;
    cmp(rsi, count);
    jl(next, T_NEAR);
    Xbyak::Label again;
    L(again);
    entries(vectors);
    add(rcx, count);
    sub(rsi, count);
    cmp(rsi, count);
    jge(again, T_NEAR);
    L(next);
  }

  void count_readers() {
    readers_.resize(chain_.inputs.size() + chain_.steps.size());
    for (const RowChain::Result& result : chain_.results) ++readers_[result.value];
    for (size_t value = readers_.size(); value-- > chain_.inputs.size();) {
      if (readers_[value] == 0) continue;
      if (const auto found = look_ups_.find(value); found != look_ups_.end())
        ++readers_[found->second.from];
      else
        for (size_t argument : step_of(value).arguments) ++readers_[argument];
    }
  }

  /// The chain for the entries of this many vectors. With `last_`, for those in k1.
  void entries(size_t vectors) {
    const std::vector<int> free = free_;
    at_.assign(vectors, Places(readers_.size()));
    left_.assign(vectors, readers_);
    for (size_t value = 0; value < readers_.size(); ++value)
      if (is_shared(value)) left_[0][value] *= static_cast<int64_t>(vectors);
    const auto for_each = [&](auto work) {
      for (vector_ = 0; vector_ < vectors; ++vector_) work();
    };
    for (size_t i = 0; i < chain_.steps.size(); ++i)
      if (const size_t value = chain_.inputs.size() + i; readers_[value] > 0)
        for_each([&] { compute(value); });
    // A result may lie where an input does: everything is read before anything is stored.
    for (const RowChain::Result& result : chain_.results) for_each([&] { of(result.value); });
    for (size_t k = 0; k < chain_.results.size(); ++k) for_each([&] { give(k); });
    free_ = free;
  }

  // --- registers ---

  int taken() {
    if (free_.empty()) throw NoCode();
    const int index = free_.back();
    free_.pop_back();
    return index;
  }
  /// A register for as long as this exists.
  class Temporary {
   public:
    explicit Temporary(Generator& of) : of_(of), index_(of.taken()) {}
    Temporary(const Temporary&) = delete;
    ~Temporary() { of_.free_.push_back(index_); }
    operator Vector() const { return Vector(index_); }

   private:
    Generator& of_;
    const int index_;
  };

  /// Whether all entries have the same.
  bool is_shared(size_t value) const {
    return value < chain_.inputs.size() ? chain_.inputs[value].one
                                        : step_of(value).fn == PointwiseFn::constant;
  }
  Place& place_of(size_t value) { return at_[is_shared(value) ? 0 : vector_][value]; }

  /// The register of the value, which is read now if it is an input or a constant.
  Vector of(size_t value) {
    Place& at = place_of(value);
    if (at) return Vector(*at);
    at = taken();
    if (value < chain_.inputs.size())
      take(Vector(*at), value);
    else
      vbroadcastss(Vector(*at), ptr[r8 + offset(bits_of_constant(step_of(value)))]);
    return Vector(*at);
  }
  static uint32_t bits_of_constant(const PointwiseStep& step) {
    if (step.real) return std::bit_cast<uint32_t>(static_cast<float>(step.value));
    const auto whole = static_cast<int64_t>(step.value);
    if (whole != static_cast<int32_t>(whole)) throw NoCode();
    return static_cast<uint32_t>(whole);
  }
  void release(size_t value) {
    if (--left_[is_shared(value) ? 0 : vector_][value] > 0) return;
    free_.push_back(*place_of(value));
    place_of(value).reset();
  }
  const PointwiseStep& step_of(size_t value) const {
    return chain_.steps[value - chain_.inputs.size()];
  }

  // --- memory ---

  /// The vector's entries of an array that starts at rax; an entry has this many bytes.
  Xbyak::Address entries_of(int bytes, int offset = 0) {
    return ptr[rax + rcx * bytes + (static_cast<int>(vector_) * lanes * bytes + offset)];
  }
  Xbyak::Address operand(size_t k) { return ptr[rdi + static_cast<int>(k * sizeof(void*))]; }
  Xbyak::Address number(float value) { return ptr[r8 + offset(std::bit_cast<uint32_t>(value))]; }
  Xbyak::Address all(float value) { return all(std::bit_cast<uint32_t>(value)); }
  Xbyak::Address all(uint32_t bits) { return ptr_b[r8 + offset(bits)]; }
  int offset(uint32_t bits) { return numbers_.offset_of(bits); }

  Vector only_last(const Vector& to) const { return last_ ? Vector(to | k1 | T_z) : to; }
  Xbyak::Address only_last(const Xbyak::Address& to) const { return last_ ? to | k1 : to; }

  void take(const Vector& to, size_t k) {
    const auto& [element, one] = chain_.inputs[k];
    mov(rax, operand(k));
    switch (element) {
      case Element::f32:
      case Element::i32:
        if (one)
          vbroadcastss(to, ptr[rax]);
        else
          vmovups(only_last(to), entries_of(4));
        return;
      case Element::bf16:
        if (one)
          vpbroadcastw(to, ptr[rax]);
        else
          vpmovzxwd(only_last(to), entries_of(2));
        return vpslld(to, to, 16);
      case Element::u8:
        if (one)
          movzx(eax, byte[rax]), vpbroadcastd(to, eax);
        else
          vpmovzxbd(only_last(to), entries_of(1));
        return;
      case Element::f64:
      case Element::u32:
      case Element::u64:
        throw NoCode();
    }
  }

  void give(size_t k) {
    const auto& [value, kind, element] = chain_.results[k];
    const Vector from = of(value);
    if (is_whole(value) == is_real(element)) throw NoCode();
    mov(rax, operand(chain_.inputs.size() + k));
    switch (kind) {
      case RowChain::To::sum:
        vaddps(last_ ? Vector(sums_.at(k) | k1) : sums_.at(k), sums_.at(k), from);
        break;
      case RowChain::To::columns:
        add_to_columns(from);
        break;
      case RowChain::To::entries:
        store(value, from, element);
        break;
      case RowChain::To::one:
        vmovss(ptr[rax], Xbyak::Xmm(from.getIdx()));
        break;
    }
    release(value);
  }

  void store(size_t value, const Vector& from, Element element) {
    if (element == Element::f32 || element == Element::i32)
      return vmovups(only_last(entries_of(4)), from);
    const Temporary bits(*this);
    if (element == Element::u8) {
      vptestmd(k3, from, from);
      set_where(bits);
      return vpmovdb(only_last(entries_of(1)), bits);
    }
    if (element != Element::bf16) throw NoCode();
    if (!is_bf16(value)) round_upper_half(bits, from, narrow_nans_[value]);
    vpsrld(bits, is_bf16(value) ? from : Vector(bits), 16);
    vpmovdw(only_last(entries_of(2)), bits);
  }
  /// Integers and bools are 32 bits in a lane.
  bool is_whole(size_t value) const {
    return value < chain_.inputs.size() ? !is_real(chain_.inputs[value].element)
                                        : !gives_real(step_of(value));
  }
  bool is_bf16(size_t value) const {
    return value < chain_.inputs.size() ? chain_.inputs[value].element == Element::bf16
                                        : step_of(value).fn == PointwiseFn::round_bf16;
  }

  /// The sum of the lanes, to a double.
  void add_lanes(const Vector& sum, const Xbyak::Address& to) {
    const Temporary half(*this);
    const Vector wide = half;
    const int index = wide.getIdx(), other = sum.getIdx();
    vextractf32x8(Xbyak::Ymm(index), sum, 1);
    vcvtps2pd(wide, Xbyak::Ymm(index));
    vcvtps2pd(sum, Xbyak::Ymm(other));
    vaddpd(wide, wide, sum);
    vextractf64x4(Xbyak::Ymm(other), wide, 1);
    vaddpd(Xbyak::Ymm(index), Xbyak::Ymm(index), Xbyak::Ymm(other));
    vextractf64x2(Xbyak::Xmm(other), Xbyak::Ymm(index), 1);
    vaddpd(Xbyak::Xmm(index), Xbyak::Xmm(index), Xbyak::Xmm(other));
    vunpckhpd(Xbyak::Xmm(other), Xbyak::Xmm(index), Xbyak::Xmm(index));
    vaddsd(Xbyak::Xmm(index), Xbyak::Xmm(index), Xbyak::Xmm(other));
    mov(rax, to);
    vaddsd(Xbyak::Xmm(index), Xbyak::Xmm(index), ptr[rax]);
    vmovsd(ptr[rax], Xbyak::Xmm(index));
  }

  void add_to_columns(const Vector& from) {
    const Temporary half(*this);
    const Vector wide = half;
    for (const int upper : {0, 1}) {
      const Xbyak::Address sums = entries_of(8, upper * 64);
      const Xbyak::Opmask& lanes = upper ? k2 : k1;
      if (upper) vextractf32x8(Xbyak::Ymm(wide.getIdx()), from, 1);
      vcvtps2pd(wide, Xbyak::Ymm(upper ? wide.getIdx() : from.getIdx()));
      vaddpd(last_ ? Vector(wide | lanes) : wide, wide, sums);
      vmovupd(last_ ? sums | lanes : sums, wide);
    }
  }

  // --- steps ---

  void compute(size_t value) {
    const PointwiseStep& step = step_of(value);
    if (const auto found = look_ups_.find(value); found != look_ups_.end())
      return look_up(value, found->second);
    if (step.fn == PointwiseFn::constant) return;  // it is there when it is read
    std::vector<Vector> x;
    for (size_t argument : step.arguments) x.push_back(of(argument));
    if (x.empty() || x.size() > 3) throw NoCode();
    const Vector to(*(place_of(value) = taken()));
    if (step.real && gives_real(step) && x.size() < 3)
      compute_real(step.fn, to, x.front(), x.back(), narrow_nans_[step.arguments.front()]);
    else if (step.fn == PointwiseFn::where)
      where(to, x);
    else
      compute_whole(step, to, x.front(), x.back());
    for (size_t argument : step.arguments) release(argument);
  }

  /// `b` is `a` where there is one operand.
  void compute_real(PointwiseFn fn, const Vector& to, const Vector& a, const Vector& b,
                    bool narrow_nans) {
    using Fn = PointwiseFn;
    if (fn == Fn::add) return vaddps(to, a, b);
    if (fn == Fn::sub) return vsubps(to, a, b);
    if (fn == Fn::mul) return vmulps(to, a, b);
    if (fn == Fn::div) return vdivps(to, a, b);
    if (fn == Fn::maximum) return vcmpps(k3, a, b, less), second_where_k3(to, a, b);
    if (fn == Fn::minimum) return vcmpps(k3, b, a, less), second_where_k3(to, a, b);
    if (fn == Fn::neg) return vxorps(to, a, all(0x80000000u));
    if (fn == Fn::abs) return vandps(to, a, all(0x7fffffffu));
    if (fn == Fn::sqrt) return vsqrtps(to, a);
    if (fn == Fn::rsqrt) return root(to, a);
    if (fn == Fn::exp) return exponential(to, a);
    if (fn == Fn::tanh) return tangent(to, a);
    if (fn == Fn::round_f32) return vmovaps(to, a);
    if (fn != Fn::round_bf16) throw NoCode();
    round_upper_half(to, a, narrow_nans);
    vpandd(to, to, all(0xffff0000u));
  }

  /// Integers only compare: they have fewer bits here than elsewhere.
  void compute_whole(const PointwiseStep& step, const Vector& to, const Vector& a,
                     const Vector& b) {
    using Fn = PointwiseFn;
    // All are false where an operand is NaN, but for ne.
    static const std::map<Fn, Predicates> comparisons{{Fn::eq, {0, 0}},    {Fn::ne, {4, 4}},
                                                      {Fn::lt, {less, 1}}, {Fn::gt, {14, 6}},
                                                      {Fn::le, {2, 2}},    {Fn::ge, {13, 5}}};
    if (const auto found = comparisons.find(step.fn); found != comparisons.end()) {
      if (step.real)
        vcmpps(k3, a, b, found->second.real);
      else
        vpcmpd(k3, a, b, found->second.whole);
      return set_where(to);
    }
    if (step.real) throw NoCode();
    if (step.fn == Fn::to_real) return vcvtdq2ps(to, a);
    if (step.fn == Fn::logical_and) {
      vptestmd(k3, a, a);
      vptestmd(k3 | k3, b, b);
    } else if (step.fn == Fn::logical_or) {
      vpord(to, a, b);
      vptestmd(k3, to, to);
    } else if (step.fn == Fn::logical_not) {
      vptestnmd(k3, a, a);
    } else {
      throw NoCode();
    }
    set_where(to);
  }

  /// 1 where k3 says so, else 0.
  void set_where(const Vector& to) { vpbroadcastd(to | k3 | T_z, ptr[r8 + offset(1u)]); }

  void where(const Vector& to, const std::vector<Vector>& x) {
    vptestmd(k3, x[0], x[0]);
    vpblendmd(to | k3, x[2], x[1]);
  }

  static constexpr int less = 1, unordered = 3, not_greater_equal = 9;  // of vcmpps

  void look_up(size_t value, const LookUp& by) {
    const Vector from = of(by.from), to(*(place_of(value) = taken()));
    const Temporary bits(*this);
    vpsrld(bits, from, 16);
    mov(rax, reinterpret_cast<uint64_t>(by.table));
    kxnorw(k3, k3, k3);
    vgatherdps(to | k3, ptr[rax + Vector(bits) * 4]);
    release(by.from);
  }

  /// b where k3 says so or b is NaN, else a.
  void second_where_k3(const Vector& to, const Vector& a, const Vector& b) {
    vcmpps(k4, b, b, unordered);
    korw(k3, k3, k4);
    vblendmps(to | k3, a, b);
  }

  void root(const Vector& to, const Vector& x) {
    const Temporary root(*this);
    vsqrtps(root, x);
    vbroadcastss(to, number(1));
    vdivps(to, to, root);
  }

  /// As exp_of in vector_rows.h.
  void exponential(const Vector& to, const Vector& x) {
    const Temporary n(*this), r(*this), squared(*this);
    vminps(n, x, all(89.0f));
    vmaxps(r, n, all(-104.0f));
    vbroadcastss(n, number(12582912.0f));
    vfmadd231ps(n, r, all(1.44269504088896341f));
    vsubps(n, n, all(12582912.0f));
    vfnmadd231ps(r, n, all(0.693359375f));
    vfnmadd231ps(r, n, all(-2.12194440e-4f));
    vbroadcastss(to, number(1.9875691500e-4f));
    for (const float next :
         {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
      vfmadd213ps(to, r, all(next));
    vmulps(squared, r, r);
    vaddps(r, r, all(1.0f));
    vfmadd213ps(to, squared, r);
    vscalefps(to, to, n);
    vcmpps(k3, x, x, unordered);
    vmovaps(to | k3, x);
  }

  /// As Tanh in vector_steps.cpp.
  void tangent(const Vector& to, const Vector& x) {
    const Temporary y(*this), square(*this), q(*this);
    vminps(y, x, all(7.99881172180175781f));
    vmaxps(y, y, all(-7.99881172180175781f));
    vmulps(square, y, y);
    vbroadcastss(to, number(-2.76076847742355e-16f));
    for (const float next : {2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
                             1.48572235717979e-05f, 6.37261928875436e-04f, 4.89352455891786e-03f})
      vfmadd213ps(to, square, all(next));
    vbroadcastss(q, number(1.19825839466702e-06f));
    for (const float next : {1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f})
      vfmadd213ps(q, square, all(next));
    vmulps(to, y, to);
    vdivps(to, to, q);
    vandps(y, x, all(0x7fffffffu));
    vcmpps(k3, y, all(0.0004f), not_greater_equal);
    vmovaps(to | k3, x);
  }

  /// The upper half is the nearest bf16, ties to even; as Narrow in vector_rows.h. A NaN needs all
  /// its bits in that half.
  void round_upper_half(const Vector& to, const Vector& x, bool narrow_nans) {
    vptestmd(k3, x, all(0x10000u));
    vpaddd(to, x, all(0x7fffu));
    vpaddd(to | k3, x, all(0x8000u));
    if (narrow_nans) return;
    vcmpps(k3, x, x, unordered);
    vpord(to | k3, x, all(0x400000u));
  }

  /// Arithmetic keeps the bits of an operand's NaN, or makes the one with the quiet bit alone.
  void find_narrow_nans() {
    for (const RowChain::Input& input : chain_.inputs)
      narrow_nans_.push_back(input.element == Element::bf16);
    for (const PointwiseStep& step : chain_.steps)
      narrow_nans_.push_back(step.fn == PointwiseFn::round_bf16 ||
                             std::all_of(step.arguments.begin(), step.arguments.end(),
                                         [&](size_t value) { return narrow_nans_[value]; }));
  }

  /// A value that depends on one bf16 value alone has 2^16 results.
  void find_look_ups() {
    const Sources sources(chain_);
    for (size_t value = chain_.inputs.size(); value < chain_.inputs.size() + chain_.steps.size();
         ++value)
      if (const auto from = sources.worth_looking_up(value))
        if (const float* table = kept_table(sources.part_of(value, *from)))
          look_ups_[value] = {*from, table};
  }

  static constexpr int lanes = 16;

  const RowChain chain_;
  Numbers numbers_;
  std::map<size_t, LookUp> look_ups_;  ///< by value
  Readers readers_;                    ///< by value
  std::vector<bool> narrow_nans_;      ///< by value: all NaNs are those of a bf16
  size_t vector_ = 0;
  std::vector<Readers> left_;  ///< by vector and value: the readers to come
  std::vector<Places> at_;
  std::vector<int> free_ = all_registers();  ///< the last one is taken first
  std::map<size_t, Vector> sums_;            ///< by result
  bool last_ = false;

  static std::vector<int> all_registers() {
    std::vector<int> all(32);
    std::iota(all.rbegin(), all.rend(), 0);
    return all;
  }
};

/// Equal for equal chains.
std::string key_of(const RowChain& chain) {
  std::string key = key_of_steps(chain.steps);
  put(key, chain.steps.size());
  put(key, chain.inputs.size());
  for (const RowChain::Input& input : chain.inputs)
    put(key, static_cast<uint64_t>(input.element) << 1 | input.one);
  for (const RowChain::Result& result : chain.results)
    put(key, result.value << 16 | static_cast<uint64_t>(result.to) << 8 |
                 static_cast<uint64_t>(result.element));
  return key;
}

using Made = std::unique_ptr<const Generator>;

Made made(const RowChain& chain) {
  try {
    return std::make_unique<const Generator>(chain);
  } catch (const NoCode&) {
    return nullptr;
  } catch (const Xbyak::Error&) {  // for example, a system that allows no new code
    return nullptr;
  }
}

}  // namespace

RowCode row_code(const RowChain& chain) {
  if (isa() < Isa::v4) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, Made> kept;
  const auto code_of = [](const Made& each) { return each ? each->getCode<RowCode>() : nullptr; };
  const std::string key = key_of(chain);
  {
    const std::lock_guard lock(mutex);
    if (const auto known = kept.find(key); known != kept.end()) return code_of(known->second);
  }
  Made code = made(chain);  // runs a part of the chain for a table
  const std::lock_guard lock(mutex);
  return code_of(kept.try_emplace(key, std::move(code)).first->second);
}

}  // namespace shardproof::cpu
#endif
