#include "spec/cli/sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "spec/check/requirements.h"
#include "spec/cli/report.h"
#include "spec/cli/suggest.h"
#include "spec/shell/number.h"

namespace shardproof::cli {
namespace {

Diagnostic error(const char* code, std::string message, std::vector<std::string> details = {}) {
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  d.details = std::move(details);
  return d;
}

std::vector<std::string> keys(const auto& map) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : map) names.push_back(name);
  return names;
}

std::string enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> suggestion(const std::string& word, const std::vector<std::string>& names,
                                    const char* what) {
  if (auto name = nearest(word, names)) return {"did you mean " + *name + "?"};
  if (names.empty()) return {std::string("the file declares no ") + what};
  return {std::string("the file declares the ") + what + " " + enumerated(names)};
}

/// Reads the assignments of one source (a config, --mesh, --set) into `given`.
class Reader {
 public:
  Reader(const ir::Program& program, Given& given) : program_(program), given_(given) {}

  void read(const std::string& from, const Assignment& assignment, bool axes_only) {
    const auto& [name, number] = assignment;
    const std::string written = from + name + "=" + number;
    if (name.empty() || number.empty())
      return add(
          error("E0003", written + ": expected NAME=NUMBER", {"for example " + from + "d=8"}));
    if (!seen_.insert({from.starts_with("--") ? "" : from, name}).second)
      return add(error("E0003", written + ": " + name + " is given twice"));
    if (program_.axes.count(name)) return size(written, name, number, true);
    if (axes_only) return add(unknown_axis(written, name));
    if (program_.dims.count(name)) return size(written, name, number, false);
    if (program_.consts.count(name)) return constant(written, name, number);
    std::vector<std::string> names = keys(program_.dims);
    for (const auto& more : {keys(program_.axes), keys(program_.consts)})
      names.insert(names.end(), more.begin(), more.end());
    add(error("E0101", written + ": unknown name " + name,
              suggestion(name, names, "dims, axes and consts")));
  }

 private:
  Diagnostic unknown_axis(const std::string& written, const Name& name) const {
    if (program_.dims.count(name))
      return error("E0101", written + ": " + name + " is a dim, not a mesh axis",
                   {"its size is given by --set"});
    return error("E0101", written + ": unknown mesh axis " + name,
                 suggestion(name, keys(program_.axes), "axes"));
  }

  void size(const std::string& written, const Name& name, const std::string& number, bool axis) {
    int64_t value = 0;
    const char* end = number.data() + number.size();
    const auto [stop, code] = std::from_chars(number.data(), end, value);
    if (code == std::errc::result_out_of_range)
      return add(error("E0106", written + ": the size does not fit into 64 bits"));
    if (code != std::errc() || stop != end)
      return add(error("E0003", written + ": a size is a whole number"));
    if (value < 1)
      return add(error("E0106", written + ": " +
                                    (axis ? "a mesh axis has at least one device"
                                          : "a dim has at least one entry")));
    if (auto fixed = declared(name, axis); fixed && *fixed != value)
      return add(error("E0106", written + ": the file says " + name + "=" + std::to_string(*fixed),
                       {"a size that the file gives is part of what is proved; leave it open "
                        "there to choose it here"}));
    given_.sizes[name] = value;
  }

  std::optional<int64_t> declared(const Name& name, bool axis) const {
    if (axis) return program_.axes.at(name).size;
    try {
      return program_.size(Dim{{name}}, {});
    } catch (const std::domain_error&) {
      return std::nullopt;
    }
  }

  void constant(const std::string& written, const Name& name, const std::string& number) {
    double value = 0;
    if (!shell::fits(number, value) || !std::isfinite(value))
      return add(error("E0003", written + ": not a number that fits into 64 bits"));
    if (value != program_.consts.at(name))
      given_.consts[name] = value;
    else
      given_.consts.erase(name);
  }

  void add(Diagnostic diagnostic) { given_.diagnostics.push_back(std::move(diagnostic)); }

  const ir::Program& program_;
  Given& given_;
  std::set<std::pair<std::string, Name>> seen_;
};

std::optional<int64_t> product(const std::vector<Axis>& axes, const cost::Sizes& sizes) {
  int64_t result = 1;
  for (const Axis& axis : axes)
    if (__builtin_mul_overflow(result, sizes.at(axis), &result)) return std::nullopt;
  return result;
}

std::string bars(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) text += (text.empty() ? "|" : "*|") + axis + "|";
  return text;
}

/// The one symbol a size depends on; nullopt for none or several.
std::optional<Name> symbol(const ir::Arith& size) {
  if (size.kind == ir::Arith::Kind::size) return size.text;
  std::optional<Name> found;
  for (const ir::Arith& arg : size.args)
    if (auto name = symbol(arg)) {
      if (found && *found != *name) return std::nullopt;
      found = name;
    }
  return found;
}

/// The axes that have a size.
std::vector<Axis> axes_of(const ir::Program& program, const cost::Sizes& sizes) {
  std::vector<Axis> axes;
  for (const auto& [axis, unused] : program.axes)
    if (sizes.count(axis)) axes.push_back(axis);
  return axes;
}

/// "d=8 t=4"
std::string axes_text(const ir::Program& program, const cost::Sizes& sizes,
                      const std::string& between) {
  std::string text;
  for (const Axis& axis : axes_of(program, sizes))
    text += (text.empty() ? "" : between) + axis + "=" + std::to_string(sizes.at(axis));
  return text;
}

/// Conditions of one file at given sizes.
class Fit {
 public:
  Fit(const CheckedProgram& checked, const cost::Sizes& sizes)
      : checked_(checked), program_(checked.program()), sizes_(sizes) {}

  std::vector<Diagnostic> run() {
    for (const PlanReport& plan : checked_.plans())
      for (const Divisibility& condition : plan.conditions)
        if (!plan.imported) check(plan, condition);
    if (!diagnostics_.empty())
      if (const std::string meshes = nearest_meshes(); !meshes.empty())
        diagnostics_[0].details.push_back("meshes that do divide: " + meshes);
    for (const ir::Requirement& each : program_.requirements) requirement(each);
    for (const PlanReport& plan : checked_.plans())
      for (const auto& each : program_.functions.at(plan.function).body.requirements)
        if (!plan.imported) requirement(each);
    for (const PlanReport& plan : checked_.plans())
      for (const ir::Arith& each : plan.of_sizes)
        if (!plan.imported)
          requirement({each, program_.functions.at(plan.function).name_range}, plan.name);
    for (const PlanReport& plan : checked_.plans())
      for (const ir::OfIndices& each : plan.of_indices)
        if (!plan.imported) at_all_indices(plan, each);
    for (const auto& [name, info] : program_.dims)
      if (info.size) declared(name, info);
    for (const PlanReport& plan : checked_.plans())
      if (!plan.imported) schedules(plan);
    if (!missing_.empty()) note();
    return std::move(diagnostics_);
  }

  /// All products that must divide the dim, as one number.
  int64_t step(const Dim& dim, int64_t least) const {
    int64_t all = least;
    for (const PlanReport& plan : checked_.plans())
      for (const Divisibility& each : plan.conditions) {
        if (plan.imported || split_dim(each) != dim) continue;
        const auto n = known(each, sizes_) ? product(each.axes, sizes_) : std::nullopt;
        int64_t next = 0;
        if (!n || __builtin_mul_overflow(all / std::gcd(all, *n), *n, &next)) continue;
        all = next;
      }
    return all;
  }

 private:
  /// The dim whose local size a condition is about: the first factor of a group.
  static Dim split_dim(const Divisibility& condition) { return Dim{{condition.dim.factors.at(0)}}; }

  static bool known(const Divisibility& condition, const cost::Sizes& sizes) {
    return std::all_of(condition.axes.begin(), condition.axes.end(),
                       [&](const Axis& axis) { return sizes.count(axis) > 0; });
  }

  bool ready(const Divisibility& condition) {
    bool all = true;
    for (const Axis& axis : condition.axes)
      if (!sizes_.count(axis)) {
        missing_.insert("|" + axis + "|");
        all = false;
      }
    return all;
  }

  void check(const PlanReport& plan, const Divisibility& condition) {
    if (!ready(condition)) return;
    const Dim dim = split_dim(condition);
    try {
      const auto n = product(condition.axes, sizes_);
      const int64_t size = program_.size(dim, sizes_);
      if (n && size % *n == 0) return;
      const std::string shown = to_string(condition);
      if (!seen_.insert(shown).second) return;
      Diagnostic d =
          error("E0501", bars(condition.axes) + " = " + (n ? std::to_string(*n) : "over 2^63") +
                             " does not divide |" + to_string(dim) + "| = " + std::to_string(size));
      d.range = program_.functions.at(plan.function).name_range;
      d.label = plan.name + " needs " + shown;
      if (n) d.details = nearest_sizes(dim, *n, size);
      if (n && *n > size) d.fixes.push_back(with_copies(condition, to_string(dim), *n, size));
      diagnostics_.push_back(std::move(d));
    } catch (const std::domain_error& reason) {
      const std::string what = reason.what();
      if (const size_t end = what.find(" has no size"); end != std::string::npos)
        missing_.insert(what.substr(0, end));
      else
        diagnostics_.push_back(
            error("E0106", what.starts_with("|") ? what : "|" + to_string(dim) + "|: " + what));
    }
  }

  /// More devices than entries, as of key-value heads: some devices hold copies.
  static Fix with_copies(const Divisibility& condition, const Name& dim, int64_t n, int64_t size) {
    const Axis& axis = condition.axes.back();
    std::string text = std::to_string(n) + " devices for " + std::to_string(size) + " of " + dim +
                       ": write `" + dim + "` without `/" + axis + "`, and each device of " + axis +
                       " holds a copy";
    if (condition.axes.size() == 1 && size > 1 && n % size == 0)
      text += "; or split the axis, " + axis + "=" + std::to_string(size) +
              " and another of size " + std::to_string(n / size) + " that `" + dim +
              "` does not name";
    return {text, {}, false, ""};
  }

  /// Whether each condition whose sizes are known holds.
  bool divide(const cost::Sizes& sizes) const {
    for (const PlanReport& plan : checked_.plans())
      for (const Divisibility& condition : plan.conditions) try {
          if (plan.imported || !known(condition, sizes)) continue;
          const auto n = product(condition.axes, sizes);
          if (!n || program_.size(split_dim(condition), sizes) % *n != 0) return false;
        } catch (const std::domain_error&) {
          continue;  // a size that is not given
        }
    return true;
  }

  /// The numbers of devices, up to twice the axis's own, that divide each dim which it splits.
  std::vector<int64_t> candidates(const Axis& axis) const {
    constexpr int64_t most_devices = 1 << 20;
    int64_t all = 0;
    for (const PlanReport& plan : checked_.plans())
      for (const Divisibility& each : plan.conditions) try {
          if (!plan.imported && std::count(each.axes.begin(), each.axes.end(), axis) > 0)
            all = std::gcd(all, program_.size(split_dim(each), sizes_));
        } catch (const std::domain_error&) {
          continue;  // a size that is not given
        }
    const int64_t own = sizes_.at(axis);
    std::vector<int64_t> numbers;
    for (int64_t n = 2; all > 0 && n <= most_devices && n - own <= own; ++n)
      if (all % n == 0 && n != own) numbers.push_back(n);
    return numbers;
  }

  /// The two nearest that divide, with one or two axes smaller or larger: "d=8,t=4; d=8,t=2".
  std::string nearest_meshes() const {
    constexpr int most_changed = 2, most_tries = 20000;
    std::vector<std::pair<Axis, std::vector<int64_t>>> axes;
    for (const auto& [axis, info] : program_.axes)
      if (!info.size && sizes_.count(axis)) axes.emplace_back(axis, candidates(axis));
    std::vector<std::pair<double, std::string>> found;
    int tries = 0;
    const auto change = [&](auto& self, size_t at, int changed, double far, cost::Sizes sizes) {
      if (at == axes.size()) {
        if (changed > 0 && ++tries < most_tries && divide(sizes))
          found.emplace_back(far, axes_text(program_, sizes, ","));
        return;
      }
      self(self, at + 1, changed, far, sizes);
      if (changed == most_changed) return;
      const auto& [axis, numbers] = axes[at];
      const auto own = static_cast<double>(sizes_.at(axis));
      for (const int64_t n : numbers) {
        sizes[axis] = n;
        const double ratio = static_cast<double>(n) / own;
        self(self, at + 1, changed + 1, far + std::abs(std::log(ratio)), sizes);
      }
    };
    change(change, 0, 0, 0, sizes_);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(found.size(), 2); ++i)
      text += (i > 0 ? "; " : "") + found[i].second;
    return text;
  }

  std::vector<std::string> nearest_sizes(const Dim& dim, int64_t least, int64_t size) const {
    const int64_t n = step(dim, least);
    const ir::Arith arith = program_.size(dim);
    const auto free = symbol(arith);
    if (!free) return {"|" + to_string(dim) + "| is given by the file"};
    std::vector<std::string> sizes;
    if (arith.kind == ir::Arith::Kind::size) {
      int64_t larger = 0;
      if (size / n > 0) sizes.push_back(*free + "=" + std::to_string(size / n * n));
      if (!__builtin_mul_overflow(size / n + 1, n, &larger))
        sizes.push_back(*free + "=" + std::to_string(larger));
    } else {
      for (int direction : {-1, 1})
        if (auto found = search(dim, *free, n, direction))
          sizes.push_back(*free + "=" + std::to_string(*found));
    }
    if (sizes.empty()) return {};
    return {"the nearest sizes that divide: " + enumerated(sizes)};
  }

  std::optional<int64_t> search(const Dim& dim, const Name& free, int64_t n, int direction) const {
    constexpr int64_t tries = 100000;
    cost::Sizes sizes = sizes_;
    for (int64_t i = 1; i < tries; ++i) {
      sizes[free] = sizes_.at(free) + direction * i;
      if (sizes[free] < 1) return std::nullopt;
      try {
        if (program_.size(dim, sizes) % n == 0) return sizes[free];
      } catch (const std::domain_error&) {
      }
    }
    return std::nullopt;
  }

  /// `assumed_by`: it is what a proof assumes, and nowhere stated.
  void requirement(const ir::Requirement& each, const Name& assumed_by = "") {
    try {
      if (hold(program_, {each}, sizes_)) return;
      if (!seen_.insert(ir::to_string(each.condition)).second) return;
      Diagnostic d =
          error("E0106", assumed_by.empty() ? "a requirement does not hold at these sizes"
                                            : "what the proof of `" + assumed_by +
                                                  "` assumes does not hold at these sizes");
      d.range = each.range;
      d.label = ir::to_string(each.condition) + " is false";
      d.details = {"sizes: " + values(over_plain_dims(program_, each.condition))};
      diagnostics_.push_back(std::move(d));
    } catch (const std::domain_error&) {
      // It needs a value of the body, or a size that is not given.
    }
  }

  void at_all_indices(const PlanReport& plan, const ir::OfIndices& each) {
    if (hold_at_all_indices(program_, each, sizes_).value_or(true)) return;
    if (!seen_.insert(plan.name + " " + each.text).second) return;
    Diagnostic d = error(
        "E0106", "what the proof of `" + plan.name + "` assumes does not hold at these sizes");
    d.range = program_.functions.at(plan.function).name_range;
    d.label = each.text + " is false at one of the indices";
    diagnostics_.push_back(std::move(d));
  }

  /// `dim h = |D| / 2`: a size is a positive whole number.
  void declared(const Name& name, const ir::DimInfo& info) {
    const ir::Arith size = program_.size(Dim{{name}});
    try {
      const double value = ir::evaluate(size, sizes_);
      if (value >= 1 && value == std::floor(value)) return;
      if (!seen_.insert(ir::to_string(size)).second) return;
      std::ostringstream number;
      number << value;
      Diagnostic d =
          error("E0106", "|" + (info.shown.empty() ? name : info.shown) + "| is not a size here");
      d.range = info.range;
      d.label = ir::to_string(*info.size) + " is " + number.str();
      d.details = {"a size is a positive whole number", "sizes: " + values(size)};
      diagnostics_.push_back(std::move(d));
    } catch (const std::domain_error&) {
      // It needs a size that is not given.
    }
  }

  /// Runs the plan's schedules at these sizes, where they are known up to some sizes only.
  void schedules(const PlanReport& plan) {
    for (ScheduleProblem& found : schedule_problems(checked_, plan, sizes_)) {
      missing_.insert(found.missing.begin(), found.missing.end());
      if (found.diagnostic && seen_.insert(found.diagnostic->message).second)
        diagnostics_.push_back(std::move(*found.diagnostic));
    }
  }

  std::string values(const ir::Arith& arith) const {
    std::set<std::string> parts;
    auto walk = [&](auto& self, const ir::Arith& each) -> void {
      if (auto found = sizes_.find(each.text); found != sizes_.end() && each.args.empty())
        parts.insert(each.text + "=" + std::to_string(found->second));
      for (const ir::Arith& arg : each.args) self(self, arg);
    };
    walk(walk, arith);
    return enumerated({parts.begin(), parts.end()});
  }

  void note() {
    Diagnostic d = error("E0501", "not every size is given, so not every condition was evaluated",
                         {enumerated({missing_.begin(), missing_.end()})});
    d.severity = Severity::note;
    diagnostics_.push_back(std::move(d));
  }

  const CheckedProgram& checked_;
  const ir::Program& program_;
  const cost::Sizes& sizes_;
  std::vector<Diagnostic> diagnostics_;
  std::set<std::string> seen_, missing_;
};

void check_devices(const ir::Program& program, Given& given) {
  const std::vector<Axis> axes = axes_of(program, given.sizes);
  if (!product(axes, given.sizes))
    given.diagnostics.push_back(error("E0106", "the mesh has more devices than fit into 64 bits",
                                      {bars(axes) + " overflows"}));
}

}  // namespace

Given given_sizes(const ir::Program& program, const Options& options) {
  Given given;
  given.any = !options.mesh.empty() || !options.set.empty() || !options.config.empty();
  Reader reader(program, given);
  if (!options.config.empty()) {
    auto config = program.configs.find(options.config);
    if (config == program.configs.end())
      given.diagnostics.push_back(
          error("E0101", "--config " + options.config + ": unknown config",
                suggestion(options.config, keys(program.configs), "configs")));
    else
      for (const auto& [name, number] : config->second.numbers)
        reader.read("config " + options.config + ": ", {name, number}, false);
  }
  for (const Assignment& each : options.mesh) reader.read("--mesh ", each, true);
  for (const Assignment& each : options.set) reader.read("--set ", each, false);
  for (const auto& [axis, info] : program.axes)
    if (info.size) given.sizes.emplace(axis, *info.size);
  check_devices(program, given);
  return given;
}

cost::Sizes with_padding(const CheckedProgram& checked, cost::Sizes sizes) {
  for (const auto& [name, info] : checked.program().dims) {
    const auto narrow = info.pads ? sizes.find(*info.pads) : sizes.end();
    if (narrow == sizes.end() || sizes.count(name)) continue;
    const int64_t n = Fit(checked, sizes).step(Dim{{name}}, 1);
    if (int64_t wide = narrow->second; !__builtin_add_overflow(wide, n - 1, &wide))
      sizes[name] = wide / n * n;
  }
  return sizes;
}

std::vector<Diagnostic> misfits(const CheckedProgram& checked, const cost::Sizes& sizes) {
  return Fit(checked, sizes).run();
}

std::string mesh_text(const ir::Program& program, const cost::Sizes& sizes) {
  const std::string text = axes_text(program, sizes, " ");
  const auto devices = product(axes_of(program, sizes), sizes);
  if (text.empty() || !devices) return text;
  return text + ", " + std::to_string(*devices) + (*devices == 1 ? " device" : " devices");
}

}  // namespace shardproof::cli
