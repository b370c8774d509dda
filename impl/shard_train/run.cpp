#include "impl/shard_train/run.h"

#include <charconv>
#include <chrono>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "impl/checkpoint/agree.h"
#include "impl/comm/gather_texts.h"
#include "impl/data/made_up.h"
#include "impl/interchange/interchange.h"
#include "impl/shard_train/plot.h"
#include "impl/shard_train/progress.h"
#include "impl/shard_train/report.h"
#include "impl/shard_train/stop.h"
#include "impl/shard_train/timeline.h"
#include "impl/tensor/listed.h"
#include "impl/trainer/cache.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/threads.h"
#include "spec/diag/visible.h"
#include "spec/shell/writable.h"

namespace shardproof::shard_train {
namespace {

class Run {
 public:
  Run(const Job& job, Communicator& communicator, const Screen& screen)
      : job_(job),
        options_(job.options),
        trainer_(*job.program, job.mesh, job.dims, communicator, job.trainer),
        train_(job.tokens, job.train_part()),
        validation_(job.validation ? job.validation : job.tokens, job.validation_part()),
        batches_(train_, job.made_up, job.options.seed),
        validation_batches_(validation_, job.made_up, job.options.seed),
        first_(communicator.rank() == 0),
        progress_(screen.out, screen.terminal, screen.colour) {
    if (!options_.save.empty()) saver_.emplace(options_.save, options_.keep);
  }

  /// Returns the signal that ended the run early, or 0.
  int go() {
    try {
      const int signal = run();
      if (report_) report_->end(signal ? stopped_by(signal) : "done");
      return signal;
    } catch (const std::exception& error) {
      fail(error.what());
      throw;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  int run() {
    if (saver_) claim();
    if (first_ && !options_.log.empty()) log_ = Log(options_.log, options_.resume);
    begin();
    if (first_ && !options_.report.empty()) open_report();
    if (!options_.plot_schedule.empty()) {
      if (!trainer_.step_plan().stage_axis())
        throw BadInput("--plot-schedule: " + job_.step + " has no pipeline");
      trainer_.measure_step(true);
    }
    trainer_.on_step([this](const StepReport& report) { tell(report); });
    begun_ = Clock::now();
    before_ = trainer_.steps();
    catch_stops();
    int signal = 0;
    while (trainer_.steps() < options_.rate.steps && !(signal = stopped())) step();
    if (signal) return stop(signal);
    if (validates_at_the_end()) validate();
    if ((signal = stopped())) return stop(signal);
    if (saver_) finish_saving();
    forget_stops();  // nothing is left to save
    if ((signal = stopped())) return signal;
    if (!options_.export_to.empty()) write_weights();
    if (!options_.plot_schedule.empty()) plot_schedule();
    if (options_.sample > 0) show_sample();
    if (first_) end();
    return 0;
  }

  void open_report() {
    report_.emplace(options_.report, job_, trainer_.steps(), options_.resume);
    if (!job_.trainer.device || job_.trainer.device->is_host()) trainer_.measure_step(true);
  }

  /// Writes the reason to the page; an error in that does not replace the original one.
  void fail(const std::string& why) {
    if (!report_) return;
    try {
      report_->end("failed: " + why);
    } catch (const FileError&) {
    }
  }

  /// Locks the folder. Throws if another run has written to it since it was checked.
  void claim() {
    saver_->claim(trainer_.communicator());
    std::string other;
    if (const auto newest = checkpoint::newest(options_.save); newest && !options_.resume)
      other = newest->string() + " is of another run: add --resume to continue it";
    checkpoint::agree(trainer_.communicator(), first_ ? other : "", "reading --save");
  }

  /// A signal to any rank stops all ranks after the same step.
  int stopped() {
    const int own = stop_signal();
    const std::vector<std::string> all = gather_texts(
        trainer_.communicator(), own ? std::to_string(own) : "", "looking for a signal");
    for (const std::string& each : all)
      if (!each.empty()) return std::stoi(each);
    return 0;
  }

  static std::string stopped_by(int signal) {
    return "stopped by signal " + std::to_string(meaning_of(signal));
  }

  int stop(int signal) {
    say(stopped_by(signal) + " after step " + std::to_string(trainer_.steps()));
    if (saver_) finish_saving();
    if (first_)
      log_.write(Log::Line("end").add("step", trainer_.steps()).add("seconds", since_begin()));
    return signal;
  }

  void say(const std::string& text) {
    if (first_) progress_.say(visible(text));
  }
  void write(const Log::Line& line) {
    if (first_) log_.write(line);
  }

  void begin() {
    if (options_.resume)
      resume();
    else
      start();
    Log::Line line("start");
    line.add("model", options_.model)
        .add("step_plan", job_.step)
        .add("mesh", job_.mesh.text())
        .add("cpu", cpu::name_of(cpu::isa()))
        .add("threads", static_cast<int64_t>(cpu::threads()))
        .add("seed", static_cast<int64_t>(options_.seed))
        .add("from_step", trainer_.steps());
    const std::string unproved =
        options_.accept_unknown.empty() ? "" : listed(options_.accept_unknown);
    if (!unproved.empty()) line.add("accepted_unproved", unproved);
    write(line);
    say(options_.model + ": " + job_.step + " on " + job_.mesh.text() + ", " + memory(bytes()) +
        " a rank");
    if (!unproved.empty()) say("not proved, run because of --accept-unknown: " + unproved);
  }

  /// Draws or imports the initial state; imported weights start with zero moments.
  void start() {
    if (job_.draws) trainer_.init();
    if (options_.import_from.empty()) return;
    interchange::load(*job_.mapping, options_.import_from, trainer_.communicator(), job_.mesh,
                      job_.dims, job_.weights(trainer_));
    say("weights of " + options_.import_from);
    for (const std::string& note : job_.import_notes) say("note: " + note);
  }

  void write_weights() {
    interchange::save(*job_.mapping, options_.export_to, trainer_.communicator(), job_.mesh,
                      job_.numbers(), job_.weights(trainer_));
    say("wrote the weights to " + options_.export_to);
  }

  /// Loads the last undamaged checkpoint; the ranks agree on it.
  std::pair<std::filesystem::path, checkpoint::Position> load_last() {
    std::string damage = options_.save + ": the checkpoint is gone";
    for (const auto& [path, wrong] : checkpoint::found(options_.save)) {
      if (!wrong.empty()) {
        damage = wrong;
        say("skipped " + wrong);
        continue;
      }
      try {
        return {path, trainer_.load(path)};
      } catch (const FileError& error) {
        damage = error.what();
        say("skipped " + damage);
      }
    }
    throw FileError(damage);
  }

  void resume() {
    const auto last = load_last();
    const std::filesystem::path& from = last.first;
    const checkpoint::Position& position = last.second;
    const auto value = [&](const char* name) {
      const auto found = position.values.find(name);
      if (found == position.values.end())
        throw BadInput(from.string() + " has no \"" + name +
                       "\" entry; was it written by shard-train?");
      return found->second;
    };
    if (value("seed") != std::to_string(options_.seed))
      throw BadInput(from.string() + " is of a run with --seed " + value("seed"));
    train_.seek(sequence(from, value("data")));
    saved_ = position.step;
    say("resumed from " + from.string() + ", step " + std::to_string(position.step));
    if (position.step >= options_.rate.steps && options_.rate.steps > 0)
      say("all steps are done: --steps " + std::to_string(options_.rate.steps) +
          " counts from step 1");
  }

  static int64_t sequence(const std::filesystem::path& from, const std::string& text) {
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end || number < 0 || number > int64_t{1} << 60)
      throw BadInput(from.string() + ": \"data\" is \"" + text + "\", not a place in the data");
    return number;
  }

  void step() {
    try {
      trainer_.step(batches_, options_.rate.at(trainer_.steps() + 1));
    } catch (const TrainError&) {  // about a metric, so all ranks throw it
      if (saver_) saver_->wait(trainer_.communicator());
      throw;
    }
    const auto due = [&](int64_t every) { return every > 0 && trainer_.steps() % every == 0; };
    if (saver_) saver_->poll(trainer_.communicator());
    if (saver_ && due(options_.save_every)) save();
    if (due(options_.eval_every)) validate();
  }

  void save() {
    trainer_.save(*saver_, {{"seed", std::to_string(options_.seed)},
                            {"data", std::to_string(train_.position())},
                            {"model", options_.model},
                            {"step_plan", job_.step}});
    saved_ = trainer_.steps();
  }

  void finish_saving() {
    if (saved_ != trainer_.steps()) save();
    saver_->wait(trainer_.communicator());
    say("saved step " + std::to_string(saved_) + " in " + options_.save);
  }

  double since_begin() const {
    return std::chrono::duration<double>(Clock::now() - begun_).count();
  }

  /// The planned memory of this rank, with its share of the process's own; or that of its device.
  size_t bytes() const {
    const bool on_host = !job_.trainer.device || job_.trainer.device->is_host();
    const auto sharing =
        static_cast<size_t>(options_.transport == Transport::threads ? job_.mesh.ranks() : 1);
    return trainer_.bytes() + (on_host ? job_.process_bytes / sharing : 0);
  }

  void tell(const StepReport& report) {
    if (!first_) return;
    const auto done = static_cast<double>(report.step - before_);
    const auto left = static_cast<double>(options_.rate.steps - report.step);
    Told told{report, options_.rate.steps,
              static_cast<double>(train_.batch_tokens()) / report.seconds,
              since_begin() / done * left, bytes()};
    progress_.step(told);
    Log::Line line("step");
    line.add("step", report.step);
    for (const Metric& metric : report.metrics) line.add(metric.name, metric.value);
    log_.write(line.add("lr", report.learning_rate)
                   .add("seconds", report.seconds)
                   .add("tokens_per_second", told.tokens_per_second)
                   .add("bytes_per_rank", static_cast<int64_t>(told.bytes)));
    if (report_) report_->step(told, trainer_.step_plan().times());
    if (!report.metrics.empty())
      losses_.emplace_back(static_cast<double>(report.step), report.metrics[0].value);
  }

  /// Without a step, a validation at the last one did not run; the default data say nothing then.
  bool validates_at_the_end() const {
    if (options_.rate.steps == 0)
      return !options_.data.empty() || !options_.validation_data.empty();
    return options_.eval_every == 0 || options_.rate.steps % options_.eval_every != 0;
  }

  void validate() {
    if (job_.eval.empty()) return;
    validation_.seek(0);
    double sum = 0;
    for (int64_t i = 0; i < options_.eval_batches; ++i) {
      if (stopped()) return;
      sum += trainer_.value(trainer_.run(job_.eval, validation_batches_).at(0));
      validation_.next();
    }
    const double loss = sum / static_cast<double>(options_.eval_batches);
    say("validation loss " + std::to_string(loss) + " after step " +
        std::to_string(trainer_.steps()));
    write(Log::Line("validation").add("step", trainer_.steps()).add("loss", loss));
    if (report_) report_->validation(trainer_.steps(), loss);
    validations_.emplace_back(static_cast<double>(trainer_.steps()), loss);
  }

  void show_sample() {
    SampleOptions how;
    how.count = options_.sample;
    how.temperature = options_.temperature;
    how.seed = options_.seed;
    how.document = job_.tokens->document();
    how.prompt = {how.document};
    for (const uint32_t token : job_.encode(options_.prompt)) how.prompt.push_back(token);
    const Sample drawn = job_.cached ? sample_with_cache(trainer_, *job_.cached, how)
                                     : sample(trainer_, job_.logits, how);
    const std::string text = options_.prompt + job_.decode(drawn.tokens);
    say("sample: " + printable(text));
    if (drawn.tokens_per_second() > 0)
      say("sample: " + rate(drawn.tokens_per_second()) + " tokens/s " +
          (job_.cached ? "with a key-value cache" : "without a cache"));
    write(Log::Line("sample")
              .add("step", trainer_.steps())
              .add("text", text)
              .add("tokens_per_second", drawn.tokens_per_second()));
  }

  void plot_schedule() {
    const auto measured = measured_stages(trainer_.step_plan(), job_.mesh, trainer_.communicator());
    if (!measured) return;
    const auto rounded = [](double x) {
      std::ostringstream text;
      text << std::fixed << std::setprecision(1) << x;
      return text.str();
    };
    const auto ms = [&](int64_t time) { return rounded(static_cast<double>(time) / 1000) + " ms"; };
    const schedule::Durations& mean = measured->mean;
    write_file(options_.plot_schedule, schedule::svg(measured->run, measured->chunks, true),
               "stages wait " + rounded(100 * measured->run.idle()) + " % of their time, " +
                   rounded(100 * measured->model) + " % by the model of F " + ms(mean.f) + ", B " +
                   ms(mean.b) + (measured->run.has_w ? ", W " + ms(mean.w) : ""));
  }

  void write_file(const std::string& path, const std::string& text, const std::string& about) {
    if (const std::string why = shell::replace_file(path, text); !why.empty())
      throw FileError(path + ": cannot be written: " + why);
    say("wrote " + path + (about.empty() ? "" : ": " + about));
  }

  void end() {
    log_.write(Log::Line("end").add("step", trainer_.steps()).add("seconds", since_begin()));
    if (!options_.plot.empty()) {
      std::vector<Curve> curves{{"loss", losses_}};
      if (!validations_.empty()) curves.push_back({"validation", validations_});
      write_file(options_.plot, svg_of(options_.model + " on " + job_.mesh.text(), curves), "");
    }
  }

  const Job& job_;
  const Options& options_;
  Trainer trainer_;
  data::Loader train_, validation_;
  data::MadeUp batches_, validation_batches_;  ///< with what is not tokens
  bool first_;
  Progress progress_;
  Log log_;
  std::optional<Report> report_;
  std::optional<checkpoint::Saver> saver_;
  int64_t saved_ = -1, before_ = 0;
  Clock::time_point begun_;
  std::vector<std::pair<double, double>> losses_, validations_;
};

}  // namespace

int run_job(const Job& job, Communicator& communicator, const Screen& screen) {
  return Run(job, communicator, screen).go();
}

}  // namespace shardproof::shard_train
