#include "impl/shard_train/job.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "impl/data/made_up.h"
#include "impl/shard_train/gpus.h"
#include "impl/shard_train/resident.h"
#include "impl/trainer/same_model.h"
#include "impl/trainer/sample.h"
#include "spec/resolve/project.h"
#include "spec/shell/writable.h"

namespace shardproof::shard_train {
namespace {

std::shared_ptr<const Program> load(const std::string& path, const Options& options,
                                    const CheckOptions& how) {
  try {
    auto program = std::make_shared<const Program>(
        Program::load(path, project_reader(path, options.allow_import), how));
    if (!program->checked().readable()) throw BadInput(program->report());
    return program;
  } catch (const Unreadable& error) {
    throw BadInput(path + ": " + error.what());
  }
}

std::shared_ptr<const Program> load(const Options& options, const CheckOptions& how) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.model, ignored))
    throw BadInput(options.model + ": there is no such file; MODEL.shard is the first argument");
  return load(options.model, options, how);
}

/// The file with the plan that extends a cache: from the options, or NAME_decode.shard next to the
/// file that defines the plan of the logits. A file that it imports may be of another model.
std::string decode_file(const Options& options, const Program& program, const StepRoles& roles) {
  if (options.sample == 0 || !options.logits.empty() || options.decode == "none") return "";
  if (!options.decode.empty()) return options.decode;
  const auto plan = logits_plan(program, roles);
  if (!plan) return "";
  const ir::Function& logits =
      program.checked().program().functions.at(program.plan(*plan).function);
  const std::filesystem::path path = program.sources().file(logits.name_range.file).path;
  const auto beside = path.parent_path() / (path.stem().string() + "_decode.shard");
  std::error_code ignored;
  return std::filesystem::is_regular_file(beside, ignored) ? beside.string() : "";
}

/// The weights' names in the other format: from the options, or NAME.hf.json next to the model, or
/// next to the only imported file that has one.
interchange::Mapping mapping_of(const Options& options, const Program& program) {
  if (!options.mapping.empty()) return interchange::Mapping::read(options.mapping);
  std::vector<std::string> found;
  const auto look_beside = [&](std::filesystem::path path) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path.replace_extension(".hf.json"), ignored))
      found.push_back(path.string());
  };
  look_beside(options.model);
  if (found.size() == 1) return interchange::Mapping::read(found[0]);
  for (size_t i = 0; i < program.sources().size(); ++i)
    look_beside(program.sources().file(static_cast<int32_t>(i)).path);
  if (found.size() == 1) return interchange::Mapping::read(found[0]);
  const std::string option = options.import_from.empty() ? "--export" : "--import";
  throw BadInput(option + ": " +
                 (found.empty() ? "no file of the model has a NAME.hf.json beside it"
                                : found[0] + " and " + found[1] + " are both beside the model") +
                 ": name the file with --mapping FILE");
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

/// The plan of the validation loss: from the options, or the function that the step differentiates;
/// none if no tokens are held out, or if it takes the state in another type, or a key.
Name eval_plan(const Options& options, const Program& program, const StepRoles& roles) {
  const bool none_held_out = options.validation == 0 && options.validation_data.empty();
  if (none_held_out && !options.eval.empty())
    throw BadInput("--validation 0 holds out no tokens for --eval " + options.eval +
                   ": hold some out, --validation 0.05, or name others, --validation-data FILE");
  if (none_held_out) return "";
  if (!options.eval.empty()) return program.plan(options.eval).name;
  const ir::Function& loss = program.checked().program().functions.at(roles.losses.at(0));
  const ir::Function& step = program.checked().program().functions.at(roles.step);
  const bool draws = std::any_of(loss.params.begin(), loss.params.end(), [&](ir::ValueId param) {
    return loss.values.at(param).type.dtype == Dtype::key;
  });
  const bool runs =
      loss.kind == ir::Function::Kind::plan && !draws && takes_state(loss, step, roles);
  return runs ? loss.name : "";
}

/// The first line of a plan that --sample can use: "plan logits_p implements logits(w: Shards, ids:
/// i32[B/d L]) -> f32[B/d L V]".
std::string logits_plan_to_write(const Program& program, const StepRoles& roles) {
  const ir::Function& step = program.checked().program().functions.at(roles.step);
  const auto type = [&](size_t leaf) { return step.values.at(step.params.at(leaf)).type; };
  size_t group = 0;
  while (step.param_groups.at(group).first != roles.state.at(0).name) ++group;
  const Name& record = step.param_types.at(group).name;
  Type ids, logits;
  for (const size_t leaf : roles.data)
    if (step.values.at(step.params.at(leaf)).name == "ids") logits = ids = type(leaf);
  logits.dtype = Dtype::f32;
  if (const auto entries = vocabulary_of(program, roles)) logits.dims.push_back({*entries, {}});
  return "plan logits_p implements logits(" + roles.state[0].name + ": " +
         (record.empty() ? to_string(type(roles.state[0].param)) : record) +
         ", ids: " + to_string(ids) + ") -> " + to_string(logits);
}

Name sampled_plan(const Options& options, const Program& program, const StepRoles& roles) {
  if (options.sample == 0 || !decode_file(options, program, roles).empty()) return "";
  if (!options.logits.empty()) return program.plan(options.logits).name;
  if (auto plan = logits_plan(program, roles)) return *plan;
  throw BadInput(
      "--sample: which plan gives the logits? The step's loss calls none, and the file has not "
      "exactly one. Write it, `" +
      logits_plan_to_write(program, roles) + "`, or name one: --logits PLAN");
}

/// The data of the step that are not tokens.
std::map<Name, int64_t> made_up(const Job& job, const Program& program, const StepRoles& roles) {
  const ir::Program& resolved = program.checked().program();
  const std::vector<Name> tokens = data::Loader({}, {}).names();
  const ir::Function& step = resolved.functions.at(roles.step);
  std::map<Name, int64_t> found;
  for (const size_t leaf : roles.data) {
    const Name& name = step.values.at(step.params.at(leaf)).name;
    if (std::find(tokens.begin(), tokens.end(), name) != tokens.end()) continue;
    const auto range = range_of_data(program, roles, name);
    found[name] = range ? Placement(resolved, job.mesh, job.dims, 0).size(*range) : 2;
  }
  return found;
}

/// Requires at least one sequence of tokens, and that the first ones are in the vocabulary.
void require_data(const Job& job, const Program& program, const StepRoles& roles) {
  const ir::Function& step = program.checked().program().functions.at(roles.step);
  const Placement placement(program.checked().program(), job.mesh, job.dims, 0);
  data::Loader train(job.tokens, job.train_part());
  const data::MadeUp all(train, job.made_up, 0);
  data::Loader validation(job.validation ? job.validation : job.tokens, job.validation_part());
  for (size_t leaf : roles.data) {
    const ir::Value& value = step.values.at(step.params.at(leaf));
    all.require_knows(value.name, step.name);
    if (value.type.dims.empty() || job.made_up.contains(value.name)) continue;
    const int64_t length = placement.size(value.type.dims.back().dim);
    for (data::Loader* each : {&train, &validation})
      if (each == &train || !job.eval.empty()) each->require_fits(length);
  }
}

/// Requires that the parameters of plans other than the step are state or data.
void require_known(const Job& job, const Program& program, const StepRoles& roles,
                   const Name& plan) {
  if (plan.empty()) return;
  data::Loader tokens(job.tokens, job.train_part());
  const data::MadeUp loader(tokens, job.made_up, 0);
  const ir::Function& function =
      program.checked().program().functions.at(program.plan(plan).function);
  size_t leaf = 0;
  for (const auto& [name, count] : function.param_groups) {
    const auto is_state = [&param = name](const StateGroup& group) { return group.name == param; };
    const bool state = std::any_of(roles.state.begin(), roles.state.end(), is_state);
    for (size_t i = 0; i < count; ++i, ++leaf)
      if (!state) loader.require_knows(function.values.at(function.params.at(leaf)).name, plan);
  }
}

/// Requires the checkpoints that --resume needs, and none that a new run would overwrite.
void require_checkpoints(const Options& options) {
  if (options.save.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(options.save, failed);
  if (failed || access(options.save.c_str(), W_OK) != 0)
    throw BadInput("--save " + options.save +
                   ": cannot be written: " + (failed ? failed.message() : std::strerror(errno)));
  const auto newest = checkpoint::newest(options.save);
  std::string damaged;
  for (const checkpoint::Found& each : checkpoint::found(options.save))
    if (!each.damage.empty()) damaged += "\n  " + each.damage;
  if (options.resume && !newest)
    throw BadInput("--resume: there is no complete checkpoint in " + options.save +
                   ": omit --resume to start from step 1" + damaged);
  if (!options.resume && newest)
    throw BadInput("--save " + options.save + ": there is " + newest->filename().string() +
                   " of another run: add --resume to continue it, or name another folder");
}

/// Checks early that a file that is written at the end is writable.
void require_writable(const std::string& path) {
  if (path.empty()) return;
  if (const std::string why = shell::why_not_writable(path); !why.empty())
    throw BadInput(path + ": cannot be written: " + why);
}

}  // namespace

data::LoaderOptions Job::train_part() const {
  return {options.seed, 0, validation ? 1 : 1 - options.validation, true, vocabulary};
}

data::LoaderOptions Job::validation_part() const {
  return {options.seed, validation ? 0 : 1 - options.validation, 1, false, vocabulary};
}

std::vector<checkpoint::Leaf> Job::weights(Trainer& trainer) const {
  const StateGroup& first = trainer.roles().state.at(0);
  std::vector<checkpoint::Leaf> weights;
  for (checkpoint::Leaf& leaf : trainer.state()) {
    if (weights.size() >= first.count && !(mapping && mapping->has(leaf.name))) continue;
    if (weights.size() < first.count && leaf.name != first.name)
      leaf.name = leaf.name.substr(first.name.size() + 1);
    weights.push_back(leaf);
  }
  return weights;
}

interchange::Numbers Job::numbers() const { return {dims, program->checked().program().consts}; }

PlanOptions plan_options(const Job& job) {
  PlanOptions how;
  how.precision = job.trainer.precision;
  how.overlap = job.trainer.overlap;
  how.device = job.trainer.device;
  for (const Name& name : job.options.accept_unknown) how.accept_unknown |= name == job.step;
  return how;
}

Job prepare(const Options& options) {
  Job job;
  job.options = options;
  job.program = load(options, {});
  if (!options.import_from.empty() || !options.export_to.empty())
    job.mapping = mapping_of(options, *job.program);
  const interchange::Numbers numbers =
      numbers_of(job.program->checked().program(), options, job.mapping);
  if (!numbers.consts.empty()) {
    CheckOptions how;
    how.set = numbers.consts;
    job.program = load(options, how);
  }
  const Program& program = *job.program;
  const ir::Program& resolved = program.checked().program();
  job.mesh = mesh_of(resolved, options);
  job.dims = numbers.sizes;
  job.import_notes = numbers.notes;
  const StepRoles roles = roles_of(program, options.step);
  job.step = resolved.functions.at(roles.step).name;
  size_padded(resolved, resolved.functions.at(roles.step), job.mesh, job.dims);
  if (job.mapping) job.mapping = job.mapping->for_padded(pads_of(resolved));
  require_sizes(resolved, resolved.functions.at(roles.step), job.dims);
  job.draws = find_init(program, roles, options.init).has_value();
  if (!job.draws && (options.import_from.empty() || !options.init.empty()))
    init_of(program, roles, options.init);  // throws, with the candidates
  for (const Name& name : options.accept_unknown) program.plan(name);
  job.trainer = {job.step, options.init, options.seed, precision_of(options, resolved, roles.step),
                 options.accept_unknown};
  job.trainer.overlap = options.overlap;
  if (options.transport != Transport::nccl) job.trainer.device = device_of(options);
  job.eval = eval_plan(options, program, roles);
  job.logits = sampled_plan(options, program, roles);
  if (const std::string file = decode_file(options, program, roles); !file.empty()) {
    CheckOptions how;
    how.set = numbers.consts;
    job.cached = load(file, options, how);
    try {
      require_same_model(program, roles, logits_plan(program, roles), *job.cached, job.dims);
    } catch (const PlanError& error) {
      throw BadInput(file + ": " + error.what());
    }
  }
  if (const auto vocabulary = vocabulary_of(program, roles))
    job.vocabulary = Placement(resolved, job.mesh, job.dims, 0).size(*vocabulary);
  if (!options.tokenizer.empty())
    job.tokenizer =
        std::make_shared<const data::Tokenizer>(data::Tokenizer::load(options.tokenizer));
  job.tokens = job.tokens_of(options.data);
  if (!options.validation_data.empty()) job.validation = job.tokens_of(options.validation_data);
  if (options.data.empty()) job.made_up = made_up(job, program, roles);
  require_data(job, program, roles);
  require_known(job, program, roles, job.eval);
  require_known(job, program, roles, job.logits);
  require_writable(options.log);
  require_writable(options.plot);
  require_writable(options.plot_schedule);
  require_writable(options.report);
  require_checkpoints(options);
  if (!options.export_to.empty() && std::filesystem::exists(options.export_to))
    throw BadInput("--export " + options.export_to + " already exists: name a new folder");
  release_freed_memory();  // the checker's
  job.process_bytes = resident_bytes();
  return job;
}

}  // namespace shardproof::shard_train
