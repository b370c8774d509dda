#include "impl/cli/job.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "impl/data/corpus.h"
#include "impl/trainer/sample.h"

namespace shardproof::cli {
namespace {

constexpr size_t corpus_bytes = 4 << 20;

std::string listed(const auto& names) {
  std::string text;
  for (const auto& [name, unused] : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

int64_t whole_number(const std::string& flag, const Assignment& given) {
  int64_t number = 0;
  const char* end = given.second.data() + given.second.size();
  if (std::from_chars(given.second.data(), end, number).ptr != end || given.second.empty() ||
      number < 1)
    throw BadInput(flag + " " + given.first + "=" + given.second +
                   ": a size is a whole number from 1, as in " + flag + " B=8,L=64");
  return number;
}

double real_number(const std::string& flag, const Assignment& given) {
  char* end = nullptr;
  const double number = std::strtod(given.second.c_str(), &end);
  if (given.second.empty() || *end || !std::isfinite(number))
    throw BadInput(flag + " " + given.first + "=" + given.second + ": not a number");
  return number;
}

/// The dims whose size is a choice.
std::map<Name, int> free_dims(const ir::Program& program) {
  std::map<Name, int> free;
  for (const auto& [name, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain && !info.local && !info.size) free[name];
  return free;
}

/// Sizes and consts, as a config and the flags say.
struct Sizing {
  DimSizes dims;
  std::map<Name, double> consts;

  void read(const ir::Program& program, const std::string& flag, const Assignment& given) {
    const std::map<Name, int> free = free_dims(program);
    if (free.contains(given.first)) {
      dims[given.first] = whole_number(flag, given);
    } else if (program.consts.contains(given.first)) {
      consts[given.first] = real_number(flag, given);
    } else if (program.axes.contains(given.first)) {
      throw BadInput(flag + " " + given.first + "=" + given.second + ": " + given.first +
                     " is a mesh axis: --mesh " + given.first + "=" + given.second);
    } else {
      throw BadInput(flag + " " + given.first + "=" + given.second +
                     ": the model has no dim or const " + given.first + "; it has the dims " +
                     listed(program.dims) + " and the consts " + listed(program.consts));
    }
  }
};

Sizing sizing_of(const ir::Program& program, const Options& options) {
  Sizing numbers;
  if (!options.config.empty()) {
    const auto config = program.configs.find(options.config);
    if (config == program.configs.end())
      throw BadInput("--config " + options.config + ": the model has no such config; it has " +
                     listed(program.configs));
    for (const auto& [name, number] : config->second.numbers)
      if (!program.axes.contains(name))  // the mesh is given by --mesh alone
        numbers.read(program, "config " + options.config, {name, number});
  }
  for (const Assignment& each : options.dims) numbers.read(program, "--dims", each);
  for (const Assignment& each : options.set) numbers.read(program, "--set", each);
  return numbers;
}

std::shared_ptr<const Program> load(const Options& options, const CheckOptions& how) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(options.model, ignored))
    throw BadInput(options.model + ": there is no such file; MODEL.shard is the first argument");
  auto program = std::make_shared<const Program>(Program::load(options.model, disk_reader(), how));
  if (!program->checked().readable()) throw BadInput(program->report());
  return program;
}

Mesh mesh_of(const ir::Program& program, const Options& options) {
  try {
    const Mesh mesh = Mesh::parse(options.mesh);
    for (const auto& [axis, size] : mesh.axes())
      if (!program.axes.contains(axis))
        throw BadInput("--mesh " + options.mesh + ": the model has no mesh axis " + axis +
                       "; it has " + listed(program.axes));
    if (options.ranks > 0 && options.ranks != mesh.ranks())
      throw BadInput("--ranks " + std::to_string(options.ranks) + ": the mesh " + mesh.text() +
                     " has " + std::to_string(mesh.ranks()) + " ranks");
    return mesh;
  } catch (const std::invalid_argument& error) {
    throw BadInput(std::string("--") + error.what());
  }
}

/// Dims of the step's parameters that have no size.
void require_sizes(const ir::Program& program, const ir::Function& step, const DimSizes& dims) {
  std::map<Name, int> missing;
  for (ir::ValueId id : step.params)
    for (const Split& split : step.values.at(id).type.dims)
      for (const Name& base : program.base(split.dim))
        if (const auto info = program.dims.find(base);
            info != program.dims.end() && !info->second.size && !dims.contains(base))
          missing[base];
  if (missing.empty()) return;
  std::string example;
  for (const auto& [name, unused] : missing) example += (example.empty() ? "" : ",") + name + "=..";
  throw BadInput("the sizes of " + listed(missing) + " are not known: give --dims " + example +
                 ", or --config with one of " + listed(program.configs));
}

bool has_bf16(const ir::Program& program, size_t step) {
  std::vector<size_t> functions = called_by(program, step);
  functions.push_back(step);
  for (size_t each : functions)
    for (const ir::Value& value : program.functions.at(each).values)
      if (value.type.dtype == Dtype::bf16) return true;
  return false;
}

Precision precision_of(const Options& options, const ir::Program& program, size_t step) {
  if (options.precision == Numbers::f32) return Precision::f32;
  if (options.precision == Numbers::f64) return Precision::f64;
  if (options.precision == Numbers::bf16 && !has_bf16(program, step))
    throw BadInput("--precision bf16: " + program.functions.at(step).name +
                   " has no bf16: what is computed in it is written in the model, bf16(x)");
  return Precision::as_written;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw FileError(path + ": cannot be read");
  return text.str();
}

/// The texts of the files, each a document of its own.
data::Tokens encoded(const data::Tokenizer& tokenizer, const std::vector<std::string>& files) {
  std::vector<uint32_t> tokens;
  std::string names;
  for (const std::string& file : files) {
    if (!file.ends_with(".txt"))
      throw BadInput(file +
                     ": --tokenizer encodes .txt files; tokens need no tokenizer, or one only "
                     "for --sample: give texts and tokens in runs of their own");
    if (tokenizer.document()) tokens.push_back(*tokenizer.document());
    const std::vector<uint32_t> more = tokenizer.encode(read_text(file));
    tokens.insert(tokens.end(), more.begin(), more.end());
    names += (names.empty() ? "" : " ") + file;
  }
  return data::Tokens::of_numbers(tokens, names);
}

bool has_text(const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const std::string& file) { return file.ends_with(".txt"); });
}

data::Tokens read_tokens(const Job& job, const std::vector<std::string>& files) {
  if (files.empty()) {
    const std::string text = data::made_up_corpus(corpus_bytes, 0);
    return job.tokenizer
               ? data::Tokens::of_numbers(job.tokenizer->encode(text), "the made-up corpus")
               : data::Tokens::of_text(text, "the made-up corpus");
  }
  if (job.tokenizer && has_text(files)) return encoded(*job.tokenizer, files);
  return data::Tokens::of_files({files.begin(), files.end()}, job.options.format);
}

std::shared_ptr<const data::Tokens> tokens_of(const Job& job,
                                              const std::vector<std::string>& files) {
  data::Tokens tokens = read_tokens(job, files);
  if (job.tokenizer && job.tokenizer->document()) tokens.set_document(*job.tokenizer->document());
  if (job.options.document) tokens.set_document(*job.options.document);
  return std::make_shared<const data::Tokens>(std::move(tokens));
}

/// The plan of the validation loss: as the user says, or what the step differentiates.
Name eval_plan(const Options& options, const Program& program, const StepRoles& roles) {
  if (!options.eval.empty()) return program.plan(options.eval).name;
  const ir::Function& loss = program.checked().program().functions.at(roles.losses.at(0));
  return loss.kind == ir::Function::Kind::plan ? loss.name : "";
}

Name sampled_plan(const Options& options, const Program& program, const StepRoles& roles) {
  if (options.sample == 0) return "";
  if (!options.logits.empty()) return program.plan(options.logits).name;
  if (auto plan = logits_plan(program, roles)) return *plan;
  throw BadInput(
      "--sample: the step's loss calls no plan from its state and ids to logits: say which, "
      "--logits PLAN");
}

/// The tokens have a sequence, and the first of them are in the vocabulary.
void require_data(const Job& job, const Program& program, const StepRoles& roles) {
  const ir::Function& step = program.checked().program().functions.at(roles.step);
  const Placement placement(program.checked().program(), job.mesh, job.dims, 0);
  const data::Loader train(job.tokens, job.train_part());
  const data::Loader validation(job.validation ? job.validation : job.tokens,
                                job.validation_part());
  for (size_t leaf : roles.data) {
    const ir::Value& value = step.values.at(step.params.at(leaf));
    train.require_knows(value.name, step.name);
    if (value.type.dims.empty()) continue;
    const int64_t length = placement.size(value.type.dims.back().dim);
    for (const data::Loader* each : {&train, &validation})
      if (each == &train || !job.eval.empty()) each->require_fits(length);
  }
}

/// Parameters of a plan beside the step are state and data.
void require_known(const Job& job, const Program& program, const StepRoles& roles,
                   const Name& plan) {
  if (plan.empty()) return;
  const data::Loader loader(job.tokens, job.train_part());
  const size_t function = program.plan(plan).function;
  for (const auto& [name, count] :
       program.checked().program().functions.at(function).param_groups) {
    const auto is_state = [&](const StateGroup& group) { return group.name == name; };
    if (std::none_of(roles.state.begin(), roles.state.end(), is_state))
      loader.require_knows(name, plan);
  }
}

/// A file that is written at the end can be written now.
void require_writable(const std::string& path) {
  if (path.empty()) return;
  if (!std::ofstream(path, std::ios::app))
    throw BadInput(path + ": cannot be written: is its folder there?");
}

}  // namespace

data::LoaderOptions Job::train_part() const {
  return {options.seed, 0, validation ? 1 : 1 - options.validation, true, vocabulary};
}

data::LoaderOptions Job::validation_part() const {
  return {options.seed, validation ? 0 : 1 - options.validation, 1, false, vocabulary};
}

std::vector<uint32_t> Job::encode(const std::string& text) const {
  if (tokenizer) return tokenizer->encode(text);
  const auto bytes = [](char each) { return static_cast<unsigned char>(each); };
  std::vector<uint32_t> tokens;
  std::transform(text.begin(), text.end(), std::back_inserter(tokens), bytes);
  return tokens;
}

std::string Job::decode(const std::vector<uint32_t>& some) const {
  std::string text;
  for (const uint32_t token : some)
    if (token == tokens->document())
      text += "\n";
    else if (tokenizer)
      text += tokenizer->decode({&token, 1});
    else
      text += token < 256 ? std::string(1, static_cast<char>(token))
                          : "<" + std::to_string(token) + ">";
  return text;
}

PlanOptions plan_options(const Job& job) {
  PlanOptions how;
  how.precision = job.trainer.precision;
  for (const Name& name : job.options.accept_unknown) how.accept_unknown |= name == job.step;
  return how;
}

Job prepare(const Options& options) {
  Job job;
  job.options = options;
  job.program = load(options, {});
  const Sizing sizing = sizing_of(job.program->checked().program(), options);
  if (!sizing.consts.empty()) {
    CheckOptions how;
    how.set = sizing.consts;
    job.program = load(options, how);
  }
  const Program& program = *job.program;
  const ir::Program& resolved = program.checked().program();
  job.mesh = mesh_of(resolved, options);
  job.dims = sizing.dims;
  const StepRoles roles = roles_of(program, options.step);
  job.step = resolved.functions.at(roles.step).name;
  require_sizes(resolved, resolved.functions.at(roles.step), job.dims);
  init_of(program, roles, options.init);
  for (const Name& name : options.accept_unknown) program.plan(name);
  job.trainer = {job.step, options.init, options.seed, precision_of(options, resolved, roles.step),
                 options.accept_unknown};
  job.eval = eval_plan(options, program, roles);
  job.logits = sampled_plan(options, program, roles);
  if (const auto vocabulary = vocabulary_of(program, roles))
    job.vocabulary = Placement(resolved, job.mesh, job.dims, 0).size(*vocabulary);
  if (!options.tokenizer.empty())
    job.tokenizer =
        std::make_shared<const data::Tokenizer>(data::Tokenizer::load(options.tokenizer));
  job.tokens = tokens_of(job, options.data);
  if (!options.validation_data.empty()) job.validation = tokens_of(job, options.validation_data);
  require_data(job, program, roles);
  require_known(job, program, roles, job.eval);
  require_known(job, program, roles, job.logits);
  require_writable(options.log);
  require_writable(options.plot);
  if (options.resume && !checkpoint::newest(options.save))
    throw BadInput("--resume: there is no whole checkpoint in " + options.save +
                   ": leave it away to start from the first step");
  return job;
}

}  // namespace shardproof::cli
