#include "spec/cli/options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "spec/shell/shell.h"
#include "spec/shell/version.h"

namespace shardproof::cli {

namespace {

const char footer[] = R"(
Examples
  check-sharding ffn.shard                       does every plan equal its model, on every mesh?
  check-sharding llama3.shard --config llama3_8b   and do the sizes of this run divide?
  check-sharding ffn.shard --mesh d=8,t=4 --set M=4096,F=14336 --stats
                                                 what each device communicates, computes and stores
  check-sharding config.json --mesh d=8,t=4 --set B=16,L=8192
                                                 a Hugging Face configuration: the proof of its
                                                 family, sizes that divide, memory, bytes moved
  check-sharding ffn.shard --annotate            the program, annotated with the type of each value
  check-sharding ffn.shard --latex               the program as equations
  check-sharding ffn.shard --backward            the derived backward, proved, and what it communicates
  check-sharding ffn.shard --to jax              the proved plans as JAX shard_map programs
  check-sharding ffn.shard --test --cases 100    its plans on random meshes, compared with an evaluator
  check-sharding --explain E0207                 what a code means, with a wrong and a right plan
  check-sharding *.shard --format sarif          for code review; json for programs, markdown for pages

Exit codes
  0  proved, for every mesh that the report names
  1  refuted: a plan does not compute its model; the report has the place and a counterexample
     (with --test also: a run differs)
  2  unknown: not decided; this is never a pass (also with --strict: proved, but trusting a plan;
     with --test: a plan that was not run)
  3  invalid: the text cannot be read as a program, or the sizes do not divide
  With several files the worst one counts: 3, then 1, then 2, then 0.)";

const char description[] =
    "check-sharding proves that a sharded program computes the same as its unsharded model.\n"
    "A file declares functions (fn, mathematics on whole tensors) and plans (plan P implements f,\n"
    "what every device does). Each plan is proved for all meshes and all sizes at once.";

std::vector<Assignment> assignments(const std::vector<std::string>& texts) {
  std::vector<Assignment> result;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos)
      result.emplace_back(text, "");
    else
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

/// The options as CLI11 stores them; some need further parsing.
struct Written {
  CLI::App app{description, "check-sharding"};
  std::vector<std::string> mesh, set, kernel, hf;
  std::string backward;
  bool no_colour = false;
  std::optional<std::string> for_a_shell;

  template <class Target>
  CLI::Option* text(const char* flag, Target& target, const char* help, const char* type) {
    return app.add_option(flag, target, help)->type_name(type);
  }
};

void add_inputs(Written& w, Options& o) {
  w.text("files", o.files, "Files to check, or a Hugging Face config.json; - reads standard input",
         "FILE");
  w.text("--explain", o.explain, "Explain an error code, e.g. E0207", "CODE");
  w.text("--mesh", w.mesh, "Sizes of mesh axes, e.g. d=8,t=4", "AXIS=N")
      ->delimiter(',')
      ->allow_extra_args(false);
  w.text("--set", w.set, "Sizes of dims, or consts, e.g. M=4096,eps=1e-5", "NAME=N")
      ->delimiter(',')
      ->allow_extra_args(false);
  w.text("--config", o.config, "Use the sizes of a `config` in the file", "NAME");
  w.text("--hf", w.hf, "A Hugging Face folder; the same as DIR/config.json", "DIR")
      ->allow_extra_args(false);
}

void add_reports(Written& w, Options& o) {
  const std::map<std::string, Format> formats = {{"text", Format::text},
                                                 {"json", Format::json},
                                                 {"sarif", Format::sarif},
                                                 {"markdown", Format::markdown}};
  w.text("--format", o.format, "text, json, sarif or markdown", "FORMAT")
      ->transform(shell::one_of(formats));
  w.app.add_flag("--annotate", o.annotate, "Print the program with the type of each value");
  w.app.add_flag("--latex", o.latex, "Print the program as equations");
  w.app.add_flag("--backward", w.backward,
                 "Print the derived backward of each plan, or of one: --backward=PLAN");
  w.app.add_flag("--stats", o.stats, "Print communication, FLOPs and memory per device");
}

void add_runs(Written& w, Options& o) {
  w.text("--run", o.run,
         "Evaluate a function on tensors instead of proving: a fn by the oracle, a plan on threads",
         "NAME");
  w.text("--inputs", o.inputs, "With --run: whole parameters, by name; sizes are theirs",
         "FILE.safetensors");
  w.text("--outputs", o.outputs, "With --run: a file for the results instead of a print",
         "FILE.safetensors");
  w.app.add_flag("--test", o.test,
                 "Also run each plan on random meshes and sizes; compare with the oracle");
  w.text("--cases", o.cases,
         "With --test: random cases per plan, however long (20, or fewer after 6 s)", "N")
      ->check(CLI::Range(1, 100000).description(""));
  w.text("--seed", o.seed, "With --test: seed of the random cases (1)", "S")
      ->check(CLI::Range(0, 1000000).description(""));
  w.text("--device", o.device, "With --test: cpu (threads), or cuda (virtual ranks of a GPU)",
         "DEVICE")
      ->check(shell::with_choices(CLI::IsMember({"cpu", "cuda"}), {"cpu", "cuda"}));
  w.text("--kernel", w.kernel, "With --test: a shared object with the kernel of a trusted plan",
         "PLAN=LIB.so")
      ->allow_extra_args(false);
}

void add_files(Written& w, Options& o) {
  w.text("--plot-schedule", o.plot_schedule,
         "Draw the schedule of the first pipeline as SVG; needs its sizes", "FILE");
  w.text("--html", o.html,
         "Write an HTML page: verdicts, types, tensors on the mesh, communication, memory", "FILE");
  w.text("--to", o.to, "jax: print the proved plans as JAX shard_map programs", "LANGUAGE")
      ->check(shell::with_choices(CLI::IsMember({"jax"}), {"jax"}));
  w.app.add_flag("--lsp", o.lsp, "Serve an editor on standard input and output (language server)");
  w.app.add_flag("--format-source", o.format_source,
                 "Format the files in place instead of proving; - writes to standard output");
  w.text("--smtlib", o.smtlib, "Write the solver's queries into a folder", "DIR");
  w.text("--allow-import", o.allow_import, "Allow imports from a folder outside the project", "DIR")
      ->check(CLI::ExistingDirectory.description(""))
      ->allow_extra_args(false);
}

void add_manners(Written& w, Options& o) {
  w.app.add_flag("--strict", o.strict, "Exit with 2 if a proof trusts a plan");
  const std::map<std::string, When> when = {
      {"auto", When::automatic}, {"always", When::always}, {"never", When::never}};
  w.text("--color", o.colour, "auto, always or never", "WHEN")->transform(shell::one_of(when));
  w.app.add_flag("--no-color", w.no_colour, "The same as --color never");
  shell::add_option(w.app, shell::version, w.for_a_shell);
}

/// Throws CLI::ParseError for options that do not go together.
void require_sense(const CLI::App& app, const Options& o) {
  if (o.files.empty() && !o.explain && !o.lsp)
    throw CLI::RequiredError("FILE: a file to check, or --explain CODE (see --help)");
  if (!o.run.empty() && o.files.size() != 1) throw CLI::RequiredError("--run NAME: one file");
  if (!o.test)
    for (const char* flag : {"--cases", "--seed", "--device", "--kernel"})
      if (app.count(flag)) throw CLI::RequiredError(std::string(flag) + ": --test");
  if (o.test && (o.format != Format::text || o.annotate || o.latex || !o.to.empty()))
    throw CLI::ExcludesError("--test", "another --format, --annotate, --latex, --to");
  if (o.lsp && !o.files.empty()) throw CLI::ExcludesError("--lsp", "FILE");
  if (!o.html.empty() && o.files.size() != 1)
    throw CLI::RequiredError("--html FILE needs one file to check");
  if (!o.to.empty() && o.files.size() != 1) throw CLI::RequiredError("--to jax needs one file");
  if (o.annotate && o.latex) throw CLI::ExcludesError("--annotate", "--latex");
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args, std::ostream& out,
                               std::ostream& err) {
  CommandLine line;
  Options& o = line.options;
  Written w;
  w.app.footer(footer);
  w.app.get_formatter()->column_width(28);
  w.app.set_version_flag("--version", std::string("check-sharding ") + shell::version);
  add_inputs(w, o);
  add_reports(w, o);
  add_runs(w, o);
  add_files(w, o);
  add_manners(w, o);
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    w.app.parse(std::move(reversed));
    shell::refuse_empty(w.app);
    for (const std::string& folder : w.hf)
      o.files.push_back(folder + (folder.ends_with('/') ? "" : "/") + "config.json");
    require_sense(w.app, o);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    w.app.exit(error, out, err);
    if (w.for_a_shell) out << *w.for_a_shell;
    line.exit = asked ? 0 : 3;
  }
  // A flag without a value reads as "true".
  if (!w.backward.empty()) o.backward = w.backward == "true" ? "" : w.backward;
  o.mesh = assignments(w.mesh);
  o.set = assignments(w.set);
  o.kernel = assignments(w.kernel);
  if (w.no_colour) o.colour = When::never;
  return line;
}

}  // namespace shardproof::cli
