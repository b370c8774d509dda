#include "impl/check_sharding/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "impl/check_sharding/evaluate.h"
#include "impl/check_sharding/family.h"
#include "impl/check_sharding/load_kernel.h"
#include "impl/check_sharding/memory.h"
#include "impl/check_sharding/test_plans.h"
#include "impl/file_error.h"
#include "spec/check/budget.h"
#include "spec/check/typing.h"
#include "spec/cli/input.h"
#include "spec/cli/options.h"
#include "spec/cli/report.h"
#include "spec/cli/sizes.h"
#include "spec/cli/suggest.h"
#include "spec/diag/explanations.h"
#include "spec/diag/render.h"
#include "spec/diag/visible.h"
#include "spec/lsp/server.h"
#include "spec/page/page.h"
#include "spec/prove/prove.h"
#include "spec/shell/writable.h"
#include "spec/syntax/format.h"
#include "spec/to_jax/to_jax.h"
#ifdef WITH_CUDA
#include "impl/device/cuda/cuda_device.h"
#endif

namespace shardproof::check_sharding {

using namespace cli;

namespace {

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

int explain(const std::string& wanted, std::ostream& out, std::ostream& err) {
  const std::string code = upper(wanted);
  std::vector<std::string> codes;
  for (const auto& [name, text] : embedded_explanations()) {
    if (name == code) {
      out << text;
      return 0;
    }
    codes.push_back(name);
  }
  err << "error: --explain: no code " << visible(wanted);
  if (auto name = nearest(code, codes)) err << "; did you mean " << *name << "?";
  err << "\n";
  for (const DiagnosticInfo& row : shardproof::all_diagnostics())
    err << "  " << row.code << "  " << row.title << "\n";
  return 3;
}

/// Formats each file in place; `-` goes to standard output.
int format_sources(const Options& options, const Environment& environment, std::istream& in,
                   std::ostream& out, std::ostream& err) {
  int code = 0;
  for (const std::string& path : options.files) {
    const Input input = read_input(path, in, environment.in_descriptor);
    const auto text = input.text ? syntax::formatted(*input.text) : std::nullopt;
    std::string why = input.text ? "has a syntax error and is left as it is" : input.why;
    if (text && path == "-") {
      out << *text;
      continue;
    }
    if (text && *text == *input.text) continue;
    if (text) {
      why = shell::replace_file(path, *text);
      if (why.empty()) {
        out << visible(path) << "\n";
        continue;
      }
      why = "cannot be written: " + why;
    }
    err << "error: " << visible(path) << " " << why << "\n";
    code = 3;
  }
  return code;
}

/// A status line on a terminal's stderr while work is in progress.
class Progress {
 public:
  Progress(std::ostream& err, bool on) : err_(err), on_(on) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const char* doing, const std::string& what, size_t i, size_t count) const {
    const std::string text =
        doing + (" " + what) + " (" + std::to_string(i + 1) + " of " + std::to_string(count) + ")";
    if (on_) err_ << "\r\033[K" << visible(text).substr(0, 78) << std::flush;
  }
  void clear() const {
    if (on_) err_ << "\r\033[K" << std::flush;
  }

 private:
  std::ostream& err_;
  bool on_;
};

/// The exit code; an error code if the report could not be written.
int written(std::ostream& out, std::ostream& err, int code) {
  if (out.flush()) return code;
  out.clear();
  errno = 0;
  out << '\n' << std::flush;  // sets errno again, for the message
  err << "error: the report cannot be written: " << std::strerror(errno ? errno : EIO) << std::endl;
  return 3;
}

/// The device for --test: null for CPU threads. Throws if it does not exist.
std::shared_ptr<Device> device_of(const Options& options, const Environment& environment) {
  if (environment.device || options.device == "cpu") return environment.device;
#ifdef WITH_CUDA
  std::string why = "it finds no GPU";
  if (cuda_device_count(&why) == 0)
    throw std::runtime_error("--device cuda: there is no GPU (CUDA: " + why + ")");
  return cuda_device(0);
#else
  throw std::runtime_error(
      "--device cuda: check-sharding was built without CUDA: configure with SHARDPROOF_CUDA=ON");
#endif
}

/// Kernels by plan name. Throws if one cannot be loaded.
std::map<Name, beside::Kernel> kernels_of(const Options& options) {
  std::map<Name, beside::Kernel> kernels;
  for (const auto& [name, path] : options.kernel) try {
      if (path.empty()) throw std::runtime_error("write the kernel's shared object, PLAN=LIB.so");
      kernels[name] = load_kernel(name, path);
    } catch (const std::exception& error) {
      throw std::runtime_error("--kernel " + name + (path.empty() ? "" : "=" + path) + ": " +
                               error.what());
    }
  return kernels;
}

/// The inputs of --test, other than the file.
struct Equipment {
  std::shared_ptr<Device> device;
  std::map<Name, beside::Kernel> kernels;
};

class Run {
 public:
  Run(const Options& options, const Environment& environment, Equipment equipment, std::istream& in,
      std::ostream& out, std::ostream& err)
      : options_(options),
        environment_(environment),
        equipment_(std::move(equipment)),
        in_(in),
        out_(out),
        err_(err) {}

  int files() {
    std::vector<FileReport> reports;
    {
      const Progress progress(err_, environment_.err_is_terminal);
      progress_ = &progress;
      for (size_t i = 0; i < options_.files.size(); ++i) {
        progress.show("checking", options_.files[i], i, options_.files.size());
        reports.push_back(file(options_.files[i]));
      }
      progress_ = nullptr;
    }
    for (const auto& [name, kernel] : equipment_.kernels) refuse_without_plan(name, reports);
    print(reports);
    Verdict worst = Verdict::proved;
    for (const FileReport& report : reports) worst = worse(report.verdict, worst);
    return exit_code(worst);
  }

  /// Evaluates the function of --run; proves nothing.
  int function() {
    const std::string& path = options_.files.front();
    const Input input = read_input(path, in_, environment_.in_descriptor);
    if (!input.text) {
      err_ << "error: " << visible(path) << " " << input.why << "\n";
      return 3;
    }
    const FileReader reader = reader_with(path, *input.text, options_.allow_import);
    const Program program = Program::load(path, reader);
    const Given given = given_sizes(program.checked().program(), options_);
    if (!can_be_run(program.checked()) || !given.diagnostics.empty()) {
      err_ << visible(program.report());
      for (const Diagnostic& each : given.diagnostics)
        err_ << visible(render(each, program.sources()));
      return 3;
    }
    try {
      evaluate_function(program, options_.run, given.sizes, options_.inputs, options_.outputs,
                        out_);
      return 0;
    } catch (const std::exception& error) {
      err_ << visible("error: --run " + options_.run + ": " + error.what()) << "\n";
      return 3;
    }
  }

 private:
  /// Whether the file and the selected plan are free of errors.
  bool can_be_run(const CheckedProgram& checked) const {
    const auto& found = checked.diagnostics();
    const bool error = std::any_of(found.begin(), found.end(), [](const Diagnostic& each) {
      return each.severity == Severity::error;
    });
    const auto& plans = checked.plans();
    return checked.readable() && !error &&
           std::none_of(plans.begin(), plans.end(), [&](const PlanReport& plan) {
             return plan.name == options_.run && plan.verdict == Verdict::invalid;
           });
  }

  double processor_seconds() const {
    return environment_.processor_seconds ? environment_.processor_seconds()
                                          : static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  }

  /// For what follows the proof: less for a file whose proof took long.
  double seconds_left() const {
    constexpr double of_file = 9, least = 1, most = 6;
    return std::clamp(of_file - (processor_seconds() - start_of_file_), least, most);
  }

  double now() const { return environment_.seconds ? environment_.seconds() : steady_seconds(); }

  FileReport file(const std::string& path) {
    FileReport report;
    report.path = path;
    const double start = now();
    start_of_file_ = processor_seconds();
    test_seconds_ = 0;
    const Input input = read_input(path, in_, environment_.in_descriptor);
    if (input.text && is_configuration(path, *input.text))
      configuration(report, *input.text);
    else if (input.text)
      checked(report, reader_with(path, *input.text, options_.allow_import), options_);
    else
      report.diagnostics.push_back(unreadable(path, input));
    report.seconds = now() - start - test_seconds_;
    if (!options_.html.empty()) page(report);
    return report;
  }

  /// Checks the program of a configuration's family at its sizes.
  void configuration(FileReport& report, const std::string& config) {
    const std::string path = report.path;
    try {
      const Family family = family_of(path, config);
      report.path = family.path;
      report.origin = origin_of(path, family, family.path);
      Options sized = options_;
      for (const auto& [name, size] : family.sizes)
        sized.set.emplace_back(name, std::to_string(size));
      for (const auto& [name, value] : family.consts) {
        std::ostringstream text;
        text << std::setprecision(17) << value;
        sized.set.emplace_back(name, text.str());
      }
      sized.stats = true;
      checked(report, family.reader, sized, family.plan);
      if (const size_t wrong = misfits_of(report); wrong > 0 && !family.padded_path.empty()) {
        FileReport padded;
        padded.path = family.padded_path;
        padded.origin = origin_of(path, family, family.padded_path);
        checked(padded, family.reader, sized, family.padded_plan);
        padded.origin += padding_of(padded);
        if (misfits_of(padded) < wrong) report = std::move(padded);
      }
    } catch (const FileError& error) {
      Diagnostic d;
      d.code = "E0001";
      d.message = error.what();
      report.diagnostics.push_back(std::move(d));
    }
  }

  /// A kernel stands for a trusted plan of a file that can be read.
  static void refuse_without_plan(const Name& kernel, std::vector<FileReport>& reports) {
    std::string known;
    for (const FileReport& report : reports) {
      if (!report.checked || !report.checked->readable()) return;
      for (const ir::Function& each : report.checked->program().functions) {
        if (!each.trusted) continue;
        if (each.name == kernel) return;
        known += (known.empty() ? "" : ", ") + each.name;
      }
    }
    Diagnostic d;
    d.code = "E0101";
    d.message = "--kernel " + kernel + ": no trusted plan has this name";
    d.details = {known.empty() ? "no plan is trusted" : "trusted are " + known};
    reports.back().diagnostics.push_back(std::move(d));
    reports.back().verdict = Verdict::invalid;
  }

  static size_t misfits_of(const FileReport& report) {
    return static_cast<size_t>(std::count_if(
        report.diagnostics.begin(), report.diagnostics.end(), [](const Diagnostic& each) {
          return each.code == "E0501" && each.severity == Severity::error;
        }));
  }

  static std::string padding_of(const FileReport& report) {
    std::string text;
    for (const auto& [name, info] : report.checked->program().dims)
      if (const auto size = report.sizes.find(name); info.pads && size != report.sizes.end())
        text += "\nnote: " + *info.pads + " does not divide, and is stored with " + name + "=" +
                std::to_string(size->second);
    return text;
  }

  static std::string origin_of(const std::string& path, const Family& family,
                               const std::string& program) {
    std::string text = path + ": " + family.name;
    for (const auto& [name, size] : family.sizes) text += " " + name + "=" + std::to_string(size);
    text += "; proved in spec/models/" + program.substr(program.find('/') + 1);
    for (const std::string& note : family.notes) text += "\nnote: " + note;
    return text;
  }

  /// `only`: report on this plan of the file; empty: on all.
  void checked(FileReport& report, const FileReader& reader, const Options& sized,
               const Name& only = {}) {
    CheckOptions check_options;
    check_options.only = only;
    report.checked = check(*report.sources, report.path, reader, check_options);
    Given given = given_sizes(report.checked->program(), sized);
    if (report.checked->readable()) {
      if (!given.consts.empty()) claim_anew(report, reader, given, only);
      report.diagnostics = given.diagnostics;
      report.sizes = with_padding(*report.checked, given.sizes);
      report.sized = given.any;
    }
    prove(*report.checked);
    if (report.sized && given.diagnostics.empty()) {
      auto more = misfits(*report.checked, report.sizes);
      report.diagnostics.insert(report.diagnostics.end(), more.begin(), more.end());
    }
    if ((sized.stats || !options_.html.empty()) && report.sized && given.diagnostics.empty())
      report.memory = memory_of(report, reader);
    if (options_.backward) backwards(report, reader, given);
    report.verdict = verdict(report);
    if (options_.test && report.checked->readable() && given.diagnostics.empty())
      test(report, reader, given);
    if (!options_.smtlib.empty()) smtlib(report);
    if (!options_.plot_schedule.empty()) plot_schedule(report);
  }

  /// Sizes that the user gives are fixed. Others are drawn, also those that the file fixes if
  /// nothing reads them as numbers.
  void test(FileReport& report, const FileReader& reader, const Given& given) {
    const ir::Program& program = report.checked->program();
    beside::CaseOptions options{.seed = options_.seed, .device = equipment_.device};
    if (options_.cases)
      options.cases = *options_.cases;
    else
      options.time = {.clock = [this] { return processor_seconds(); },
                      .of_all = processor_seconds() + seconds_left()};
    for (const auto& [name, size] : given.sizes) {
      const auto axis = program.axes.find(name);
      const auto dim = program.dims.find(name);
      const bool open =
          axis != program.axes.end()
              ? !axis->second.size
              : dim != program.dims.end() && dim->second.kind == ir::DimInfo::Kind::plain;
      if (open) options.given[name] = size;
    }
    const double start = now();
    const auto whole =
        shardproof::Program::of(*report.checked, report.sources, report.path, reader);
    const auto show = [&](const Name& plan, size_t i, size_t count) {
      progress_->show("testing", plan, i, count);
    };
    const std::vector<TestedPlan> tested = test_plans(whole, options, equipment_.kernels, show);
    std::ostringstream text;
    test_seconds_ = now() - start;
    print_tested(tested, options, test_seconds_, text);
    tested_[report.path] = text.str();
    report.verdict = worse(report.verdict, verdict_of(tested));
  }

  void page(FileReport& report) {
    std::ostringstream text;
    page::print_html(report, text);
    written(report, "--html ", options_.html, text.str());
  }

  void written(FileReport& report, const std::string& option, const std::string& path,
               const std::string& text) {
    if (const std::string why = shell::replace_file(path, text); !why.empty())
      not_written(report, option + path, "the file cannot be written: " + why);
  }

  void backwards(FileReport& report, const FileReader& reader, const Given& given) {
    const CheckedProgram& checked = *report.checked;
    std::vector<std::vector<Type>> types;
    for (size_t f = 0; f < checked.program().functions.size(); ++f)
      types.push_back(checked.types(f));
    CheckOptions options;
    options.set = given.consts;
    const std::vector<bool> steps = find_steps(checked.program());
    bool found = options_.backward->empty();
    const double end = processor_seconds() + seconds_left();
    KeptBackwards kept;
    for (const PlanReport& plan : checked.plans()) {
      const ir::Function& function = checked.program().functions.at(plan.function);
      const bool named =
          plan.name == *options_.backward || function.instance_of == *options_.backward;
      found = found || named;
      const bool wanted = options_.backward->empty() ? !plan.imported : named;
      const bool typed = plan.verdict == Verdict::proved || plan.verdict == Verdict::unknown;
      if (!wanted || !plan.read_whole || !typed || steps[plan.function] || function.trusted ||
          !has_floats(function))
        continue;
      BackwardReport backward{plan.function, plan.name, {}, Verdict::unknown};
      options.patience = std::max((end - processor_seconds()) / FileBudget::seconds, 0.0);
      if (options.patience == 0 || kept.full())
        backward.backward.refused = not_derived(plan.name, function);
      else
        backward.backward = check_backward(*report.sources, report.path, {checked.program(), types},
                                           plan.function, {}, reader, options);
      kept.add(backward.backward);
      backward.verdict = backward.backward.verdict();
      if (plan.verdict != Verdict::proved) backward.verdict = Verdict::unknown;
      report.backwards.push_back(std::move(backward));
    }
    if (found) return;
    Diagnostic d;
    d.code = "E0101";
    d.message = "--backward=" + *options_.backward + ": the file has no such plan";
    report.diagnostics.push_back(std::move(d));
  }

  /// The backwards of a file share one budget of time and memory.
  static Diagnostic not_derived(const Name& plan, const ir::Function& function) {
    Diagnostic diagnostic;
    diagnostic.code = "U0003";
    diagnostic.range = function.name_range;
    diagnostic.message =
        "not derived: the backwards of the plans above used up the time or the memory "
        "for this file; --backward=" +
        plan + " derives this one alone";
    return diagnostic;
  }

  static bool has_floats(const ir::Function& plan) {
    return std::any_of(plan.params.begin(), plan.params.end(),
                       [&](ir::ValueId v) { return is_float(plan.values.at(v).type.dtype); });
  }

  /// Another value of a const is another claim: checks the file again.
  void claim_anew(FileReport& report, const FileReader& reader, const Given& given,
                  const Name& only) {
    for (const auto& [name, value] : given.consts) {
      std::ostringstream text;
      text << name << " = " << std::setprecision(12) << value << " instead of the file's "
           << report.checked->program().consts.at(name);
      report.claims.push_back(text.str());
    }
    CheckOptions again;
    again.set = given.consts;
    again.only = only;
    report.sources = std::make_unique<Sources>();
    report.checked = check(*report.sources, report.path, reader, again);
    // If the checker kept the file's value, it proved a different claim.
    const auto& consts = report.checked->program().consts;
    for (const auto& [name, value] : given.consts)
      if (auto found = consts.find(name); found == consts.end() || found->second != value) {
        report.claims.push_back(name + ": not decided, the verdicts are for the file's value");
        report.undecided_claim = true;
      }
  }

  Verdict verdict(const FileReport& report) const {
    for (const Diagnostic& each : report.diagnostics)
      if (each.severity == Severity::error) return Verdict::invalid;
    Verdict verdict = report.checked->verdict();
    for (const BackwardReport& each : report.backwards) verdict = worse(verdict, each.verdict);
    const auto& plans = report.checked->plans();
    const bool trusts = std::any_of(plans.begin(), plans.end(), [](const PlanReport& plan) {
      return !plan.imported && !plan.trusting.empty();
    });
    const bool weaker = (trusts && options_.strict) || report.undecided_claim;
    return verdict == Verdict::proved && weaker ? Verdict::unknown : verdict;
  }

  void smtlib(FileReport& report) {
    std::string why;
    try {
      std::filesystem::create_directories(options_.smtlib);
      write_smtlib(*report.checked, options_.smtlib);
      return;
    } catch (const std::exception& error) {
      why = error.what();
    }
    not_written(report, "--smtlib " + options_.smtlib, why);
  }

  static void not_written(FileReport& report, const std::string& option, const std::string& why) {
    Diagnostic d;
    d.code = "E0001";
    d.message = option + ": nothing could be written";
    d.details = {why};
    report.diagnostics.push_back(std::move(d));
    report.verdict = Verdict::invalid;
  }

  /// Plots the first pipeline of the file's plans.
  void plot_schedule(FileReport& report) {
    const std::string option = "--plot-schedule " + options_.plot_schedule;
    for (const PlanReport& plan : report.checked->plans())
      for (const PipelineRun& each : pipeline_runs(report, plan)) {
        written(report, "--plot-schedule ", options_.plot_schedule,
                schedule::svg(each.run, each.sizes.C));
        return;
      }
    not_written(report, option,
                "no plan has a pipeline whose sizes are all given: give them by --mesh and --set");
  }

  /// Whether this is a configuration with known memory: then all of its sizes were given.
  static bool has_numbers(const FileReport& report) {
    return !report.origin.empty() &&
           std::any_of(report.memory.begin(), report.memory.end(),
                       [](const auto& each) { return each.second.bytes.has_value(); });
  }

  bool colour(bool terminal) const {
    if (options_.colour != When::automatic) return options_.colour == When::always;
    return terminal && !std::getenv("NO_COLOR");
  }

  void print(const std::vector<FileReport>& reports) const {
    if (options_.format == Format::json) return print_json(reports, out_);
    if (options_.format == Format::sarif) return print_sarif(reports, out_);
    if (options_.format == Format::markdown) return print_markdown(reports, out_);
    const bool colours = colour(environment_.out_is_terminal);
    std::ostringstream text;
    for (const FileReport& report : reports) {
      if (options_.annotate || options_.latex || !options_.to.empty()) {
        if (options_.annotate) print_annotated(report, text);
        if (options_.latex) print_latex(report, text);
        if (options_.latex) print_backwards(report, true, text);
        std::vector<Diagnostic> missing;
        if (!options_.to.empty()) missing = to_jax::print_jax(report, text);
        RenderOptions render_options;
        render_options.colour = colour(environment_.err_is_terminal);
        for (const Diagnostic* each : cli::all_diagnostics(report))
          err_ << visible(render(*each, *report.sources, render_options), render_options.colour)
               << "\n";
        for (const Diagnostic& each : missing)
          err_ << visible(render(each, *report.sources, render_options), render_options.colour)
               << "\n";
        continue;
      }
      if (&report != &reports.front()) text << "\n";
      Options shown = options_;
      shown.stats = shown.stats || has_numbers(report);
      print_text(report, shown, colours, reports.size() > 1, text);
      if (const auto tested = tested_.find(report.path); tested != tested_.end())
        text << tested->second;
    }
    out_ << visible(text.str(), colours);
  }

  const Options& options_;
  const Environment& environment_;
  const Equipment equipment_;
  std::istream& in_;
  std::ostream& out_;
  std::ostream& err_;
  double start_of_file_ = 0;                   ///< in processor seconds
  const Progress* progress_ = nullptr;         ///< while files are checked
  double test_seconds_ = 0;                    ///< for the last file
  std::map<std::string, std::string> tested_;  ///< by path: the output of --test
};

}  // namespace

int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
        std::ostream& err, const Environment& environment) {
  std::ostringstream said, complained;
  const CommandLine line = parse_command_line(args, said, complained);
  out << said.str();
  err << visible(complained.str());
  if (line.exit) return written(out, err, *line.exit);
  if (line.options.explain) return written(out, err, explain(*line.options.explain, out, err));
  if (line.options.lsp) return lsp::serve(STDIN_FILENO, STDOUT_FILENO);
  if (line.options.format_source)
    return written(out, err, format_sources(line.options, environment, in, out, err));
  Equipment equipment;
  try {
    equipment = {device_of(line.options, environment), kernels_of(line.options)};
  } catch (const std::runtime_error& error) {
    err << visible(std::string("error: ") + error.what()) << "\n";
    return 3;
  }
  try {
    Run now(line.options, environment, std::move(equipment), in, out, err);
    return line.options.run.empty() ? written(out, err, now.files()) : now.function();
  } catch (const std::exception& error) {
    err << "internal error: " << error.what()
        << "\nThis is a bug in check-sharding, not in the file. There is no verdict.\n";
    return 3;
  }
}

}  // namespace shardproof::check_sharding
