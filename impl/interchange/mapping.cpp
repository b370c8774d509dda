#include "impl/interchange/mapping.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "impl/checkpoint/file.h"
#include "impl/checkpoint/json_text.h"
#include "impl/interchange/keys.h"

namespace shardproof::interchange {

namespace fs = std::filesystem;

/// value * times = the sum of products of sizes, `Z + K D`. If the key is missing, `missing`
/// applies.
struct Equation {
  std::string key;
  std::vector<std::vector<Name>> products;
  int64_t times = 1;
  std::vector<Equation> missing;  ///< at most one
};

/// A constant of the program: the value of the keys that exist.
struct Constant {
  Name name;
  std::vector<std::string> keys;
  std::optional<double> missing;    ///< none: one of the keys is required
  std::vector<std::string> unless;  ///< if one of these keys exists, too
  bool whole = false;               ///< written as an integer
};

/// Keys for one thing, with the values that the model supports; the first value is written. Null:
/// all keys are missing. A list may have only such entries.
struct Setting {
  std::vector<std::string> keys;
  std::vector<Json> allowed;
};

/// Of a key.
struct Note {
  std::string key, what;
};

namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> parts_between(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

/// `C+P` of a leaf that has one of them.
ForeignDim dim_of(const std::string& word, const std::vector<Name>& local) {
  ForeignDim dim{parts_between(word, '+'), {}};
  for (const Name& each : dim.parts)
    if (dim.parts.size() == 1 || std::find(local.begin(), local.end(), each) != local.end()) {
      if (!dim.own.empty()) throw std::runtime_error("the leaf has several dims of " + word);
      dim.own = each;
    }
  if (dim.own.empty()) throw std::runtime_error("the leaf has no dim of " + word);
  return dim;
}

/// Parses `(K Q D) M`.
std::vector<std::vector<ForeignDim>> groups_of(const std::string& text,
                                               const std::vector<Name>& local) {
  std::string spaced;
  for (const char each : text)
    spaced += each == '(' || each == ')' ? std::string{' ', each, ' '} : std::string{each};
  std::vector<std::vector<ForeignDim>> groups;
  bool open = false;
  for (const std::string& word : words(spaced)) {
    if (word == ")" ? !open : word == "(" && open) throw std::runtime_error("brackets: " + text);
    if (word == "(") groups.emplace_back();
    if (word == "(" || word == ")")
      open = word == "(";
    else if (open)
      groups.back().push_back(dim_of(word, local));
    else
      groups.push_back({dim_of(word, local)});
  }
  if (open) throw std::runtime_error("brackets: " + text);
  return groups;
}

/// Dims in a name are in braces.
const std::string& checked_name(const std::string& name) {
  bool open = false;
  for (const char each : name) {
    if (each == (open ? '{' : '}')) throw std::runtime_error("braces: " + name);
    open = each == '{' || (open && each != '}');
  }
  if (open) throw std::runtime_error("braces: " + name);
  return name;
}

Equation equation_from(const Json& value) {
  Equation equation{value.at("key"), {}, checkpoint::whole_from(value.value("times", Json(1))), {}};
  for (const std::string& product : parts_between(value.at("dims"), '+'))
    equation.products.push_back(words(product));
  if (value.contains("missing")) equation.missing = {equation_from(value["missing"])};
  return equation;
}

std::map<Name, int64_t> positions_of(const Json& value) {
  std::map<Name, int64_t> positions;
  for (const auto& [dim, at] : value.items()) positions[dim] = checkpoint::whole_from(at);
  return positions;
}

ForeignTensor tensor_of(const Json& value) {
  const std::string pattern = value.at("pattern");
  const size_t arrow = pattern.find("->");
  if (arrow == std::string::npos) throw std::runtime_error("a pattern without ->: " + pattern);
  const std::vector<Name> local = words(pattern.substr(arrow + 2));
  return {value.at("leaf"),
          checked_name(value.at("name").get_ref<const std::string&>()),
          groups_of(pattern.substr(0, arrow), local),
          local,
          positions_of(value.value("at", Json::object())),
          value.value("scale", std::map<Name, double>()),
          value.value("plus", 0.0),
          value.value("pairs", Name()),
          value.value("tied_to", std::string())};
}

/// Whether `name` is `pattern` with a number for each dim in braces, and any text for a * at its
/// end.
bool is_named(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*') && pattern.find('{') == std::string_view::npos)
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, open))) return false;
  name.remove_prefix(open);
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits > 0 && is_named(pattern.substr(pattern.find('}', open) + 1), name.substr(digits));
}

/// "rope.theta": a nested key. Null if it does not exist.
Json find_key(const Json& config, const std::string& path) {
  const Json* at = &config;
  for (const std::string& key : parts_between(path, '.')) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &at->at(key);
  }
  return *at;
}

void set_key(Json& config, const std::string& path, const Json& value) {
  Json* at = &config;
  for (const std::string& key : parts_between(path, '.')) at = &(*at)[key];
  *at = value;
}

/// The first key that exists, and its value; null if none does.
std::pair<std::string, Json> find_first(const Json& config, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (Json value = find_key(config, key); !value.is_null()) return {key, value};
  return {keys.at(0), nullptr};
}

/// Whether a list repeats the entries of the shorter one.
bool repeats(const Json& value, const Json& one) {
  if (!value.is_array() || !one.is_array() || one.empty()) return false;
  for (size_t i = 0; i < value.size(); ++i)
    if (value[i] != one[i % one.size()]) return false;
  return true;
}

/// A list is allowed if all entries are, or if it repeats an allowed list.
bool is_allowed(const Json& value, const std::vector<Json>& allowed) {
  if (std::any_of(allowed.begin(), allowed.end(),
                  [&](const Json& each) { return repeats(value, each); }))
    return true;
  const auto known = [&](const Json& each) {
    return std::find(allowed.begin(), allowed.end(), each) != allowed.end();
  };
  return value.is_array() && !value.empty() ? std::all_of(value.begin(), value.end(), known)
                                            : known(value);
}

bool has_key(const Json& config, const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return config.is_object() && config.contains(path);
  const Json around = find_key(config, path.substr(0, dot));
  return around.is_object() && around.contains(path.substr(dot + 1));
}

/// The keys that exist have one value, a number.
double number_from(const Constant& constant, const Json& config) {
  std::optional<double> number;
  for (const std::string& key : constant.keys) {
    if (!has_key(config, key)) continue;
    const Json value = find_key(config, key);
    if (!value.is_number()) throw KeyError(key, key + " is not a number: " + shown(value));
    if (number && *number != value.get<double>())
      throw KeyError(key, key + " is " + shown(value) + ", and " + constant.keys[0] + " is " +
                              shown(find_key(config, constant.keys[0])));
    number = value.get<double>();
  }
  const bool wanted =
      !constant.unless.empty() && !find_first(config, constant.unless).second.is_null();
  if (!number && (!constant.missing || wanted))
    throw std::runtime_error(constant.keys[0] + " is missing");
  return number ? *number : *constant.missing;
}

void refuse_another_value(const Setting& setting, const Json& config) {
  const auto check = [&](const std::string& key, const Json& value) {
    if (!is_allowed(value, setting.allowed))
      throw KeyError(
          key, key + " is " + shown(value) + ", the model has " + Json(setting.allowed).dump());
  };
  const auto [first, value] = find_first(config, setting.keys);
  check(first, value);
  for (const std::string& key : setting.keys)
    if (const Json other = find_key(config, key); !other.is_null()) check(key, other);
}

/// The equation that applies, and its value.
std::pair<const Equation*, int64_t> value_of(const Equation& equation, const Json& config) {
  const Json value = find_key(config, equation.key);
  if (value.is_null() && !equation.missing.empty()) return value_of(equation.missing[0], config);
  if (!value.is_number_integer() || value < 1)
    throw KeyError(equation.key, equation.key + " is not a size: " + shown(value));
  int64_t size = checkpoint::whole_from(value);
  if (__builtin_mul_overflow(size, equation.times, &size))
    throw KeyError(equation.key, equation.key + " is too large: " + value.dump());
  return {&equation, size};
}

/// The product of the known sizes, and the first unknown one; false if it is too large.
bool known_product(const std::vector<Name>& dims, const DimSizes& sizes, int64_t& product,
                   std::vector<Name>& unknown) {
  product = 1;
  for (const Name& dim : dims)
    if (const auto found = sizes.find(dim); found == sizes.end())
      unknown.push_back(dim);
    else if (__builtin_mul_overflow(product, found->second, &product))
      return false;
  return true;
}

/// `num_attention_heads=32 is not a multiple of K = 6`.
std::string disagreement(const Equation& equation, int64_t value, int64_t factor,
                         const std::vector<Name>& unknown) {
  const std::string given = equation.key + "=" + std::to_string(value);
  if (equation.products.size() > 1 || unknown.empty() || value < 1 || factor < 2)
    return given + " does not agree with the other sizes";
  std::string dims;
  for (const Name& dim : equation.products[0])
    if (dim != unknown[0]) dims += (dims.empty() ? "" : "*") + dim;
  return given + " is not a multiple of " + dims + " = " + std::to_string(factor);
}

/// Solves an equation for its only unknown size; false unless there is exactly one.
bool solve(const Equation& equation, int64_t value, DimSizes& sizes) {
  std::vector<Name> unknown;
  int64_t factor = 1, left = value;
  bool fits = true;
  for (const std::vector<Name>& dims : equation.products) {
    const size_t before = unknown.size();
    int64_t product = 1;
    fits = known_product(dims, sizes, product, unknown) && fits;
    if (unknown.size() > before)
      factor = product;
    else
      fits = !__builtin_sub_overflow(left, product, &left) && fits;
  }
  if (unknown.size() > 1) return false;
  if (!fits || (unknown.empty() ? left != 0 : left < 1 || left % factor != 0))
    throw KeyError(equation.key, disagreement(equation, value, factor, unknown));
  if (!unknown.empty()) sizes[unknown[0]] = left / factor;
  return !unknown.empty();
}

int64_t sum_of(const Equation& equation, const DimSizes& sizes) {
  int64_t sum = 0;
  for (const std::vector<Name>& dims : equation.products) {
    std::vector<Name> unknown;
    int64_t product = 1;
    const bool fits = known_product(dims, sizes, product, unknown);
    if (!unknown.empty()) throw PlanError("no size of " + unknown[0] + " is given");
    if (!fits || __builtin_add_overflow(sum, product, &sum))
      throw PlanError(equation.key + " does not fit into 64 bits at these sizes");
  }
  return sum;
}

template <class Body>
auto naming(const fs::path& path, const Body& body) {
  try {
    return body();
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(path.string() + ": " + checkpoint::reason_of(error));
  }
}

fs::path config_path(const fs::path& folder) { return folder / "config.json"; }

/// With its keys sorted: read in the file's order each is compared with all before it.
Json config_from(const std::string& text) { return checkpoint::json_from<nlohmann::json>(text); }

Json config_of(const fs::path& folder) {
  return naming(config_path(folder),
                [&] { return config_from(checkpoint::read_text(config_path(folder))); });
}

}  // namespace

struct Mapping::State {
  std::string architecture, model_type, tied_key;
  bool tied_missing = false;  ///< the meaning of a missing key
  std::vector<Equation> sizes;
  std::vector<Constant> consts;
  std::vector<Setting> settings;
  std::vector<std::string> written;  ///< required keys of a config; null counts
  std::vector<ForeignTensor> tensors;
  std::vector<std::string> prefixes;
  std::vector<std::string> ignored;
  std::set<std::string> known;  ///< the keys that are read, and those that need not be

  explicit State(const Json& file);
  void refuse_holes(const ForeignTensor& tensor) const;
  void refuse_another(const Json& config) const;
  /// What of the configuration the model has not, although the function is the same otherwise.
  std::vector<Note> notes_on(const Json& config) const;
  bool must_be_written(const std::string& key) const {
    return std::find(written.begin(), written.end(), key) != written.end();
  }
  DimSizes sizes_of(const Json& config) const;

 private:
  void know(const Equation& equation);
  void note_unread(const Json& config, const std::string& around, std::vector<Note>& notes) const;
};

Mapping::State::State(const Json& file)
    : architecture(file.at("architecture")), model_type(file.at("model_type")) {
  if (file.contains("tied")) {
    tied_key = file["tied"].at("key");
    tied_missing = file["tied"].at("missing");
  }
  for (const Json& each : file.at("sizes")) sizes.push_back(equation_from(each));
  for (const auto& [name, each] : file.at("consts").items())
    consts.push_back(
        {name, each.at("keys"),
         each.contains("missing") ? std::optional(each["missing"].get<double>()) : std::nullopt,
         each.value("unless", std::vector<std::string>()), each.value("whole", false)});
  for (const auto& [keys, allowed] : file.at("settings").items())
    settings.push_back({parts_between(keys, '|'), allowed});
  written = file.value("written", std::vector<std::string>());
  for (const Json& each : file.at("tensors")) {
    tensors.push_back(tensor_of(each));
    for (size_t i = 0; i + 1 < tensors.size(); ++i)
      if (tensors[i].leaf == tensors.back().leaf && tensors[i].at == tensors.back().at)
        throw std::runtime_error(tensors[i].name + " and " + tensors.back().name +
                                 " are the same part of tensor " + tensors[i].leaf);
  }
  for (const ForeignTensor& each : tensors) refuse_holes(each);
  prefixes = file.value("prefixes", std::vector<std::string>{""});
  ignored = file.value("ignored", std::vector<std::string>());
  for (const std::string& each : ignored) checked_name(each);
  for (const Equation& each : sizes) know(each);
  for (const Constant& each : consts) known.insert(each.keys.begin(), each.keys.end());
  for (const Setting& each : settings) known.insert(each.keys.begin(), each.keys.end());
  if (!tied_key.empty()) known.insert(tied_key);
  if (file.contains("unread"))
    for (const auto& [key, why] : file["unread"].items()) known.insert(key);
}

void Mapping::State::know(const Equation& equation) {
  known.insert(equation.key);
  for (const Equation& each : equation.missing) know(each);
}

/// Each part of `C+P` is in a leaf.
void Mapping::State::refuse_holes(const ForeignTensor& tensor) const {
  for (size_t group = 0; group < tensor.foreign.size(); ++group)
    for (size_t i = 0; i < tensor.foreign[group].size(); ++i)
      for (const Name& part : tensor.foreign[group][i].parts)
        if (std::none_of(tensors.begin(), tensors.end(), [&](const ForeignTensor& other) {
              return other.name == tensor.name && group < other.foreign.size() &&
                     i < other.foreign[group].size() &&
                     other.foreign[group][i].parts == tensor.foreign[group][i].parts &&
                     other.foreign[group][i].own == part;
            }))
          throw std::runtime_error("no leaf has part " + part + " of " + tensor.name);
}

void Mapping::State::refuse_another(const Json& config) const {
  const Json architectures = find_key(config, "architectures"),
             type = find_key(config, "model_type");
  const bool same = (architectures.is_null() || architectures == Json::array({architecture})) &&
                    (type.is_null() ? !architectures.is_null() : type == model_type);
  if (!same)
    throw std::runtime_error("its architecture is " + architectures.dump() + ", of model_type " +
                             type.dump() + "; the model's is " + architecture + ", of " +
                             model_type);
  for (const std::string& key : written)
    if (!config.contains(key))
      throw std::runtime_error(key + " is missing, and its default is not what the model has");
  for (const Setting& setting : settings) refuse_another_value(setting, config);
}

/// Throws UnknownKey for the first key that is not understood.
void Mapping::State::note_unread(const Json& config, const std::string& around,
                                 std::vector<Note>& notes) const {
  for (const auto& [name, value] : config.items()) {
    const std::string key = around + name;
    if (known.contains(key)) continue;
    const auto inside = known.lower_bound(key + ".");
    if (value.is_object() && inside != known.end() && inside->starts_with(key + ".")) {
      note_unread(value, key + ".", notes);
      continue;
    }
    const Effect effect = effect_of(key, value);
    if (effect == Effect::unknown)
      throw UnknownKey(key, key + " is " + shown(value) +
                                ", which the model does not have and which may change what is "
                                "computed; remove the key if it does not");
    if (effect == Effect::training)
      notes.push_back({key, key + " is " + shown(value) +
                                ": the model has no dropout, which changes training alone"});
  }
}

std::vector<Note> Mapping::State::notes_on(const Json& config) const {
  std::vector<Note> notes;
  note_unread(config, "", notes);
  const Json tied = tied_key.empty() ? Json() : find_key(config, tied_key);
  const bool ties = tied.is_boolean() ? tied.get<bool>() : tied_missing;
  for (const ForeignTensor& each : tensors)
    if (ties && !each.tied_to.empty())
      notes.push_back({tied_key, tied_key + ": " + each.name + " is " + each.tied_to +
                                     "; the model has two tensors, which training changes apart"});
  return notes;
}

DimSizes Mapping::State::sizes_of(const Json& config) const {
  DimSizes found;
  for (bool more = true; more;) {
    more = false;
    for (const Equation& each : sizes) {
      const auto [equation, value] = value_of(each, config);
      more = solve(*equation, value, found) || more;
    }
  }
  return found;
}

Mapping Mapping::read(const fs::path& path) {
  return parse(naming(path, [&] { return checkpoint::read_text(path); }), path);
}

Mapping Mapping::parse(const std::string& text, const std::string& name) {
  Mapping mapping;
  mapping.state_ = naming(
      name, [&] { return std::make_shared<const State>(checkpoint::json_from<Json>(text)); });
  return mapping;
}

Mapping Mapping::for_padded(Pads pads) const {
  Mapping mapping = *this;
  mapping.pads_ = std::move(pads);
  return mapping;
}

Numbers Mapping::numbers(const fs::path& folder) const {
  const fs::path path = config_path(folder);
  return numbers_in(naming(path, [&] { return checkpoint::read_text(path); }), path);
}

Numbers Mapping::numbers_in(const std::string& text, const std::string& name) const {
  const auto at = [&](const std::string& key, const std::string& what) {
    const int line = line_of(text, key);
    return name + (line > 0 ? ":" + std::to_string(line) : "") + ": " + what;
  };
  return naming(name, [&] {
    try {
      const Json config = config_from(text);
      state_->refuse_another(config);
      Numbers numbers{state_->sizes_of(config), {}, {}};
      for (const Constant& each : state_->consts)
        numbers.consts[each.name] = number_from(each, config);
      for (const Note& each : state_->notes_on(config))
        numbers.notes.push_back(at(each.key, each.what));
      return numbers;
    } catch (const UnknownKey& error) {
      throw UnknownKeyError(at(error.key, error.what()));
    } catch (const KeyError& error) {
      throw FileError(at(error.key, error.what()));
    }
  });
}

bool Mapping::tied(const fs::path& folder) const {
  if (state_->tied_key.empty()) return false;
  const Json value = find_key(config_of(folder), state_->tied_key);
  return naming(config_path(folder),
                [&]() -> bool { return value.is_null() ? Json(state_->tied_missing) : value; });
}

std::string Mapping::config(const Numbers& numbers, Element element) const {
  Json config = {{"architectures", {state_->architecture}}, {"model_type", state_->model_type}};
  for (const Equation& each : state_->sizes)
    set_key(config, each.key, sum_of(each, numbers.sizes) / each.times);
  for (const Constant& each : state_->consts)
    if (const auto found = numbers.consts.find(each.name); found != numbers.consts.end())
      set_key(config, each.keys.at(0),
              each.whole && found->second == std::floor(found->second)
                  ? Json(static_cast<int64_t>(found->second))
                  : Json(found->second));
  for (const Setting& each : state_->settings)
    if (!each.allowed.at(0).is_null() || state_->must_be_written(each.keys.at(0)))
      set_key(config, each.keys[0], each.allowed[0]);
  if (!state_->tied_key.empty()) set_key(config, state_->tied_key, false);
  config["torch_dtype"] = element == Element::bf16  ? "bfloat16"
                          : element == Element::f64 ? "float64"
                                                    : "float32";
  return config.dump(2) + "\n";
}

const std::vector<ForeignTensor>& Mapping::tensors() const { return state_->tensors; }
bool Mapping::has(const Name& leaf) const {
  return std::any_of(tensors().begin(), tensors().end(),
                     [&](const ForeignTensor& each) { return each.leaf == leaf; });
}
const std::vector<std::string>& Mapping::prefixes() const { return state_->prefixes; }

bool Mapping::ignored(const std::string& name) const {
  return std::any_of(state_->ignored.begin(), state_->ignored.end(),
                     [&](const std::string& each) { return is_named(each, name); });
}

}  // namespace shardproof::interchange
