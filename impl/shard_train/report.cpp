#include "impl/shard_train/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "impl/shard_train/report_parts.h"
#include "impl/shard_train/resident.h"
#include "spec/html/html.h"
#include "spec/shell/writable.h"

namespace shardproof::shard_train {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds between_writes{2};
constexpr size_t most_points = 4000;  ///< per curve; more are thinned out

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

Json verdict_of(const PlanReport& plan, bool accepted) {
  Json conditions = Json::array();
  for (const Divisibility& each : plan.conditions) conditions.push_back(to_string(each));
  return {
      {"name", plan.name},        {"verdict", to_string(plan.verdict)}, {"claim", plan.claim},
      {"conditions", conditions}, {"assumptions", plan.assumptions},    {"trusting", plan.trusting},
      {"accepted", accepted}};
}

/// The plans that the run compiles, and their callees.
std::set<size_t> functions_of(const Job& job) {
  const StepRoles roles = roles_of(*job.program, job.options.step);
  std::vector<size_t> roots{roles.step, init_of(*job.program, roles, job.options.init).plan};
  for (const Name& name : {job.eval, job.logits})
    if (!name.empty()) roots.push_back(job.program->plan(name).function);
  std::set<size_t> all;
  for (const size_t root : roots) {
    all.insert(root);
    for (const size_t called : called_by(job.program->checked().program(), root))
      all.insert(called);
  }
  return all;
}

Json verdicts_of(const Job& job) {
  const std::set<size_t> used = functions_of(job);
  const std::vector<Name>& accepted = job.options.accept_unknown;
  Json all = Json::array();
  for (const PlanReport& plan : job.program->checked().plans())
    if (used.count(plan.function))
      all.push_back(verdict_of(
          plan, plan.verdict == Verdict::unknown &&
                    std::find(accepted.begin(), accepted.end(), plan.name) != accepted.end()));
  return all;
}

const char* text_of(Transport transport) {
  switch (transport) {
    case Transport::threads:
      return "threads";
    case Transport::mpi:
      return "MPI processes";
    case Transport::nccl:
      return "NCCL";
  }
  return "";
}

Json header_of(const Job& job) {
  Json mesh = Json::array(), sizes = Json::array();
  for (const auto& [axis, size] : job.mesh.axes()) mesh.push_back(Json::array({axis, size}));
  for (const auto& [dim, size] : job.dims) sizes.push_back(Json::array({dim, size}));
  const Json run =
      Json::array({Json::array({"step plan", job.step}), Json::array({"ranks", job.mesh.ranks()}),
                   Json::array({"transport", text_of(job.options.transport)}),
                   Json::array({"device", job.options.device}),
                   Json::array({"seed", std::to_string(job.options.seed)})});
  return {{"model", job.options.model},
          {"total", job.options.rate.steps},
          {"mesh", mesh},
          {"sizes", sizes},
          {"run", run},
          {"verdicts", verdicts_of(job)}};
}

/// The data of an existing page at `path`; null if there is none.
Json earlier(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  Json data = Json::parse(html::data_of(text.str()), nullptr, false);
  const auto is_list = [&](const char* name) {
    return data.contains(name) && data[name].is_array();
  };
  if (!data.is_object() || !is_list("steps") || !is_list("validations") || !is_list("restarts"))
    return nullptr;
  return data;
}

/// The rows [step, ..] up to `last`.
Json until(const Json& rows, int64_t last) {
  Json kept = Json::array();
  for (const Json& row : rows)
    if (row.is_array() && !row.empty() && row[0].is_number_integer() && row[0] <= last)
      kept.push_back(row);
  return kept;
}

}  // namespace

struct Report::State {
  std::string path;
  bool on_host = true;
  Json data;
  Clock::time_point written;
  std::map<std::string, OpTime> times;
  size_t planned = 0;

  void keep(Json row);
  void complete();
  void write(const std::string& state);
};

/// Adds a row; if there are too many, drops every second one.
void Report::State::keep(Json row) {
  Json& steps = data["steps"];
  if (steps.size() >= most_points) {
    Json fewer = Json::array();
    for (size_t i = 0; i < steps.size(); i += 2) fewer.push_back(std::move(steps[i]));
    steps = std::move(fewer);
  }
  steps.push_back(std::move(row));
}

void Report::State::complete() {
  Json rows = Json::array();
  for (const auto& [op, time] : times) rows.push_back(Json::array({op, time.calls, time.seconds}));
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a[2].get<double>() > b[2].get<double>();
  });
  data["times"] = std::move(rows);
  data["memory"] =
      Json::array({Json::array({"planned, each rank", planned}),
                   Json::array({"measured, the most of this process", peak_resident_bytes()})});
  data["written"] = now();
}

void Report::State::write(const std::string& state) {
  data["state"] = state;
  complete();
  const html::Parts& parts = embedded_report();
  const std::string page =
      html::document(html::part(parts, "report.html"), html::part(parts, "report.js"),
                     data.dump(-1, ' ', true, Json::error_handler_t::replace));
  if (const std::string why = shell::replace_file(path, page); !why.empty())
    throw FileError(path + ": cannot be written: " + why);
  written = Clock::now();
}

Report::Report(std::string path, const Job& job, int64_t from_step, bool went_on)
    : state_(std::make_unique<State>()) {
  State& own = *state_;
  own.path = std::move(path);
  own.on_host = !job.trainer.device || job.trainer.device->is_host();
  own.data = header_of(job);
  own.data.update({{"step", from_step},
                   {"metrics", Json::array()},
                   {"steps", Json::array()},
                   {"validations", Json::array()},
                   {"restarts", Json::array()}});
  if (!own.on_host)
    own.data["times_why"] =
        "On a GPU ops run without a wait after each, so their times are not known.";
  if (!went_on) return;
  if (const Json before = earlier(own.path); !before.is_null()) {
    own.data["steps"] = until(before["steps"], from_step);
    own.data["validations"] = until(before["validations"], from_step);
    own.data["restarts"] = before["restarts"];
    own.data["metrics"] = before.value("metrics", Json::array());
  }
  own.data["restarts"].push_back(Json::array({now(), from_step, job.options.save}));
}

Report::~Report() = default;
Report::Report(Report&&) noexcept = default;

void Report::step(const Told& told, const std::map<std::string, OpTime>& times) {
  State& own = *state_;
  Json names = Json::array();
  Json row = Json::array(
      {told.report.step, number(told.report.learning_rate), number(told.tokens_per_second)});
  for (const Metric& metric : told.report.metrics) {
    names.push_back(metric.name);
    row.push_back(number(metric.value));
  }
  own.data["step"] = told.report.step;
  own.data["metrics"] = std::move(names);
  own.keep(std::move(row));
  own.times = times;
  own.planned = told.bytes;
  if (Clock::now() - own.written < between_writes) return;
  try {
    own.write("running");
  } catch (const FileError&) {  // the next write may succeed; the last one reports the error
    own.written = Clock::now();
  }
}

void Report::validation(int64_t step, double loss) {
  state_->data["validations"].push_back(Json::array({step, number(loss)}));
}

void Report::end(const std::string& state) { state_->write(state); }

}  // namespace shardproof::shard_train
