#include "impl/program.h"

#include <mutex>

#include "impl/tensor/listed.h"
#include "impl/tensor/placement.h"
#include "spec/diag/render.h"

namespace shardproof {

struct Program::State {
  std::string path;
  FileReader reader;
  std::shared_ptr<Sources> sources = std::make_shared<Sources>();
  CheckOptions options;
  CheckedProgram checked;
  std::mutex mutex;
  CheckedBackwards backwards;  ///< those of check(), and of unproved plans

  State(const std::string& at, const FileReader& read, const CheckOptions& how)
      : path(at),
        reader(read),
        options(how),
        checked(check(*sources, at, read, how)),
        backwards(checked.backwards()) {}
  State(CheckedProgram known, std::shared_ptr<Sources> texts, const std::string& at,
        const FileReader& read, const CheckOptions& how)
      : path(at),
        reader(read),
        sources(std::move(texts)),
        options(how),
        checked(std::move(known)),
        backwards(checked.backwards()) {}
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

Program Program::load(const std::string& path, const FileReader& reader,
                      const CheckOptions& options) {
  return Program(std::make_unique<State>(path, reader, options));
}

Program Program::of(CheckedProgram checked, std::shared_ptr<Sources> sources,
                    const std::string& path, const FileReader& reader,
                    const CheckOptions& options) {
  return Program(
      std::make_unique<State>(std::move(checked), std::move(sources), path, reader, options));
}

Program Program::from_text(const std::string& text, const std::string& path) {
  const FileReader disk = disk_reader();
  return load(path, [=](const std::string& wanted) -> std::optional<std::string> {
    return wanted == path ? std::optional(text) : disk(wanted);
  });
}

const CheckedProgram& Program::checked() const { return state_->checked; }
const Sources& Program::sources() const { return *state_->sources; }

std::string Program::report() const {
  std::string text;
  for (const Diagnostic& each : checked().diagnostics()) text += render(each, sources()) + "\n";
  for (const PlanReport& plan : checked().plans())
    for (const Diagnostic& each : plan.diagnostics) text += render(each, sources()) + "\n";
  return text;
}

std::string not_run(const PlanReport& report) {
  return report.name + " is " + to_string(report.verdict) + "; only proved plans run";
}

const PlanReport& Program::plan(const Name& name) const {
  const auto instance_of = [&](const PlanReport& plan) {
    return checked().program().functions.at(plan.function).instance_of;
  };
  std::vector<Name> names;
  for (const bool imported : {false, true})
    for (const PlanReport& plan : checked().plans())
      if (plan.imported == imported && (plan.name == name || instance_of(plan) == name))
        return plan;
  for (const PlanReport& plan : checked().plans()) names.push_back(plan.name);
  throw PlanError(state_->path + " has no plan " + name + "; it has " + listed(names));
}

const CheckedBackward& Program::backward(size_t plan, const std::vector<size_t>& wrt) const {
  const std::lock_guard lock(state_->mutex);
  std::shared_ptr<const CheckedBackward>& known = state_->backwards[{plan, wrt}];
  if (!known)
    known = std::make_shared<const CheckedBackward>(
        check_backward(sources(), state_->path, {checked().program(), checked().types()}, plan, wrt,
                       state_->reader, state_->options));
  const CheckedBackward& backward = *known;
  if (!backward.checked || !backward.report())
    throw PlanError("there is no derived backward of " +
                    checked().program().functions.at(plan).name +
                    (backward.refused ? ": " + backward.refused->message : ""));
  return backward;
}

}  // namespace shardproof
