#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "spec/cli/json.h"
#include "spec/cli/sample_test.h"
#include "spec/cli/sizes.h"

namespace shardproof::cli {
namespace {

std::string text_of(const FileReport& report, bool stats = false) {
  std::ostringstream out;
  Options options;
  options.stats = stats;
  print_text(report, options, false, false, out);
  return "\n" + out.str();
}

void with_sizes(FileReport& report, cost::Sizes sizes) {
  report.sizes = std::move(sizes);
  report.sized = true;
}

TEST(Text, AProvedPlan) {
  EXPECT_EQ(text_of(sample()), R"(
proved   up_sharded implements up     for every mesh with  d | B,  t | F
         forward: 1 all_gather
         assuming  |F| >= |t|
1 proved (0.25 s)
tested, not proved: the plan compiler, kernels, and fused kernels that replace library functions
outside every proof: rounding, overflow, the order of sums, timing, communication and vendor libraries
)");
}

TEST(Text, ARefutedPlanHasItsDiagnosticsFirst) {
  FileReport report = sample();
  refute(report);
  EXPECT_EQ(text_of(report), R"(
error[E0302]: the result does not have the stated type
  --> up.shard:12:12
   |
11 |     h = einsum("B/d M, M F/t -> B/d F/t", x, w)
   |     ---------- from here
12 |     return all_gather("B/d F/t -> B/d F", h)
   |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is f32[B/d F]
   = smallest counterexample: t=2, B=1
       d=0: 1
   = fix: slice; no communication (checked)
12 +     return all_gather("B/d F/t -> B/d F", g)

refuted  up_sharded implements up
1 refuted (0.25 s)
)");
}

std::string markdown_of(FileReport report) {
  std::vector<FileReport> reports;
  reports.push_back(std::move(report));
  std::ostringstream out;
  print_markdown(reports, out);
  return "\n" + out.str();
}

TEST(Markdown, ATableAndFoldedFindings) {
  EXPECT_EQ(markdown_of(sample()), R"(
| verdict | plan | model | file | for every mesh with |
|---|---|---|---|---|
| ✅ proved | up_sharded | up | up.shard | d \| B, t \| F; assuming \|F\| >= \|t\| |
)");
  FileReport report = sample();
  refute(report);
  const std::string refuted = markdown_of(std::move(report));
  EXPECT_NE(refuted.find("| ❌ refuted | up_sharded | up | up.shard |  |\n"), std::string::npos)
      << refuted;
  EXPECT_NE(
      refuted.find("<details><summary>E0302 the result does not have the stated type</summary>"),
      std::string::npos)
      << refuted;
  EXPECT_NE(refuted.find("```text\nerror[E0302]"), std::string::npos) << refuted;
}

TEST(Text, TrustModelsAndImports) {
  FileReport report = sample();
  auto& plans = reports_of(report);
  plans.push_back(plans[0]);
  plans[0].trusting = {"fused"};
  plans[1].name = "free";
  plans[1].claim = "same on every mesh, no model stated";
  plans[1].assumptions.clear();
  plans.push_back(plans[1]);
  plans[2].name = "elsewhere";
  plans[2].imported = true;  // and proved: not listed
  plans.push_back(plans[2]);
  plans[3].name = "left";
  plans[3].verdict = Verdict::unknown;
  report.verdict = Verdict::unknown;
  EXPECT_EQ(text_of(report), R"(
proved, trusting fused up_sharded implements up                      for every mesh with  d | B,  t | F
                       forward: 1 all_gather
                       assuming  |F| >= |t|
same                   free: same on every mesh, no model stated     for every mesh with  d | B,  t | F
                       forward: 1 all_gather
unknown                left: same on every mesh, no model stated (imported)
2 proved, 1 unknown (0.25 s)
tested, not proved: the plan compiler, kernels, and fused kernels that replace library functions
outside every proof: rounding, overflow, the order of sums, timing, communication and vendor libraries
)");
}

TEST(Text, NothingToProve) {
  FileReport report = sample();
  reports_of(report).clear();
  EXPECT_EQ(text_of(report), "\nnothing to prove: no plan in the file (0.25 s)\n");
}

TEST(Text, StatsSymbolicAndWithSizes) {
  FileReport report = sample();
  const std::string symbolic = text_of(report, true);
  EXPECT_NE(symbolic.find(R"(
up_sharded
  per device
  all_gather  1  4*|B|*|F|/|d| * (|t|-1)/|t| bytes
  einsums        2*|B|*|F|*|M|/|d|/|t| FLOPs
  state          0 bytes
  inputs         4*|B|*|M|/|d| + 4*|F|*|M|/|t| bytes
  saved          0 bytes
)"),
            std::string::npos)
      << symbolic;
  with_sizes(report, {{"B", 1 << 20}, {"M", 4096}, {"F", 3 << 10}, {"d", 4}, {"t", 2}});
  const std::string numeric = text_of(report, true);
  EXPECT_NE(numeric.find("  all_gather  1     1.50 GiB  4*|B|*|F|/|d| * (|t|-1)/|t|\n"),
            std::string::npos)
      << numeric;
  EXPECT_NE(numeric.find("sizes: d=4 t=2, 8 devices: every dim splits evenly\n"),
            std::string::npos);
}

TEST(Annotate, IsIdempotent) {
  FileReport report = sample();
  std::ostringstream out;
  print_annotated(report, out);
  const std::string line = "\n    h = einsum(\"B/d M, M F/t -> B/d F/t\", x, w)  #: f32[B/d F/t]\n";
  EXPECT_NE(out.str().find(line), std::string::npos) << out.str();
  // All else is the text itself.
  FileReport again = sample();
  again.sources = std::make_unique<Sources>();
  again.sources->add(again.path, out.str());
  std::ostringstream twice;
  print_annotated(again, twice);
  EXPECT_EQ(out.str(), twice.str());
}

TEST(Latex, IsTheSeedsNotation) {
  std::ostringstream out;
  print_latex(sample(), out);
  EXPECT_EQ("\n" + out.str(), R"(
**mesh** $d,\ t$

**dim** $B,\ M,\ F$

**dim** $G\text{ of }2 \cdot |M|$

**const** $eps = 1\times 10^{-6}$

**require** $|F| \ge |t|$

**fn up**: $x\colon \text{f32}[B,M],\ w\colon \text{f32}[M,F] \mapsto \text{f32}[B,F]$

- return $\left[\sum_{M} x[B,M]\,w[M,F]\right]_{[B,F]}$

**plan up_sharded** implements up (proved): $x\colon \text{f32}[B_d,M],\ w\colon \text{f32}[M,F_t] \mapsto \text{f32}[B_d,F]$

- $h[B_d,F_t] = \sum_{M} x[B_d,M]\,w[M,F_t]$
- return $\text{AllGather}_{[B_d,F_t] \to [B_d,F]}(h)$

)");
}

// --- sizes ---

Options with(std::vector<Assignment> mesh, std::vector<Assignment> set = {},
             std::string config = "") {
  Options options;
  options.mesh = std::move(mesh);
  options.set = std::move(set);
  options.config = std::move(config);
  return options;
}

TEST(Sizes, FromAConfigOverriddenByTheCommandLine) {
  const FileReport report = sample();
  const Given given =
      given_sizes(report.checked->program(), with({{"d", "4"}}, {{"M", "16"}}, "small"));
  EXPECT_TRUE(given.diagnostics.empty());
  EXPECT_EQ(given.sizes, (cost::Sizes{{"B", 8}, {"M", 16}, {"F", 6}, {"d", 4}, {"t", 3}}));
}

TEST(Sizes, MistakesAreDiagnostics) {
  FileReport report = sample();
  ir::Program program = report.checked->program();
  program.axes["t"].size = 3;
  struct Row {
    Options options;
    const char* code;
    const char* message;
    const char* detail;
  };
  const std::vector<Row> rows = {
      {with({{"D", "2"}}), "E0101", "--mesh D=2: unknown mesh axis D", "did you mean d?"},
      {with({{"M", "2"}}), "E0101", "--mesh M=2: M is a dim, not a mesh axis",
       "its size is given by --set"},
      {with({}, {{"epss", "2"}}), "E0101", "--set epss=2: unknown name epss", "did you mean eps?"},
      {with({{"d", "0"}}), "E0106", "--mesh d=0: a mesh axis has at least one device", ""},
      {with({{"d", "-8"}}), "E0106", "--mesh d=-8: a mesh axis has at least one device", ""},
      {with({{"d", "99999999999999999999"}}), "E0106",
       "--mesh d=99999999999999999999: the size does not fit into 64 bits", ""},
      {with({{"d", "9223372036854775807"}}), "E0106",
       "the mesh has more devices than fit into 64 bits", "|d|*|t| overflows"},
      {with({{"d", "2.5"}}), "E0003", "--mesh d=2.5: a size is a whole number", ""},
      {with({{"d", ""}}), "E0003", "--mesh d=: expected NAME=NUMBER", "for example --mesh d=8"},
      {with({}, {{"eps", "x"}}), "E0003", "--set eps=x: not a number that fits into 64 bits", ""},
      {with({}, {{"eps", "1e-400"}}), "E0003",
       "--set eps=1e-400: not a number that fits into 64 bits", ""},
      {with({{"t", "4"}}), "E0106", "--mesh t=4: the file says t=3",
       "a size that the file gives is part of what is proved; leave it open there to choose it "
       "here"},
      {with({}, {}, "smal"), "E0101", "--config smal: unknown config", "did you mean small?"},
  };
  for (const Row& row : rows) {
    const Given given = given_sizes(program, row.options);
    ASSERT_EQ(given.diagnostics.size(), 1u) << row.message;
    EXPECT_EQ(given.diagnostics[0].code, row.code);
    EXPECT_EQ(given.diagnostics[0].message, row.message);
    const auto& details = given.diagnostics[0].details;
    EXPECT_EQ(details.empty() ? "" : details[0], row.detail);
  }
}

TEST(Sizes, AConstWithAnotherValueIsANewClaim) {
  const FileReport report = sample();
  const auto& program = report.checked->program();
  EXPECT_EQ(given_sizes(program, with({}, {{"eps", "1e-5"}})).consts.at("eps"), 1e-5);
  EXPECT_TRUE(given_sizes(program, with({}, {{"eps", "1e-6"}})).consts.empty());
}

TEST(Sizes, WhatDoesNotDivideAndTheNearestThatDoes) {
  FileReport report = sample();
  reports_of(report)[0].conditions = {divides({"d", "t"}, "M"), divides({"t"}, "M"),
                                      divides({"d", "t"}, "G")};
  const auto found = misfits(*report.checked, {{"B", 8}, {"M", 100}, {"F", 8}, {"d", 8}, {"t", 3}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].code, "E0501");
  EXPECT_EQ(found[0].message, "|d|*|t| = 24 does not divide |M| = 100");
  EXPECT_EQ(found[0].label, "up_sharded needs d*t | M");
  EXPECT_EQ(found[0].details[0], "the nearest sizes that divide: M=96, M=120");
  EXPECT_EQ(found[2].message, "|d|*|t| = 24 does not divide |G| = 200");
  EXPECT_EQ(found[2].details[0], "the nearest sizes that divide: M=96, M=108");
}

TEST(Sizes, RequirementsAreEvaluated) {
  const FileReport report = sample();
  const auto found = misfits(*report.checked, {{"B", 2}, {"M", 2}, {"F", 2}, {"d", 2}, {"t", 4}});
  ASSERT_EQ(found.size(), 2u);  // and t does not divide F
  EXPECT_EQ(found[1].code, "E0106");
  EXPECT_EQ(found[1].label, "|F| >= |t| is false");
  EXPECT_EQ(found[1].details[0], "sizes: F=2, t=4");
}

CheckedProgram checked_text(const std::string& text) {
  Sources sources;
  return check(sources, "f.shard", [&](const std::string&) { return std::optional(text); });
}

TEST(Sizes, WhatIsAssumedOfIndicesIsTriedAtAllOfThem) {
  const std::string text =
      "mesh d\ndim B N\nfn f(x: f32[B N]) -> f32[B N] { return x }\n"
      "plan p implements f(x: f32[B/d N]) -> f32[B/d N] {\n"
      "    k = f32(expand(\"N -> B/d N\", iota(\"N\") - 7))\n    return x * k / k\n}\n";
  const CheckedProgram checked = checked_text(text);
  EXPECT_TRUE(misfits(checked, {{"d", 2}, {"B", 2}, {"N", 7}}).empty());
  const auto found = misfits(checked, {{"d", 2}, {"B", 2}, {"N", 8}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "E0106");
  EXPECT_EQ(found[0].label, "-7 + iota[N] != 0 is false at one of the indices");
}

TEST(Sizes, ADimMadeOfOthersHasASize) {
  const std::string text =
      "mesh t\ndim B D\ndim h = |D| / 2\ndim k = |h| - 1\n"
      "fn f(x: f32[B h], y: f32[k]) -> f32[B h] { return x }\n"
      "plan p implements f(x: f32[B/t h], y: f32[k]) -> f32[B/t h] { return x }\n";
  const CheckedProgram checked = checked_text(text);
  EXPECT_TRUE(misfits(checked, {{"t", 2}, {"B", 2}, {"D", 4}}).empty());
  EXPECT_TRUE(misfits(checked, {{"t", 2}, {"B", 2}}).empty());
  const auto fraction = misfits(checked, {{"t", 2}, {"B", 2}, {"D", 5}});
  ASSERT_EQ(fraction.size(), 2u);
  EXPECT_EQ(fraction[0].code, "E0106");
  EXPECT_EQ(fraction[0].label, "|D| / 2 is 2.5");
  EXPECT_EQ(fraction[1].label, "|h| - 1 is 1.5");
  EXPECT_EQ(fraction[1].details[1], "sizes: D=5");
  const auto zero = misfits(checked, {{"t", 2}, {"B", 2}, {"D", 2}});
  ASSERT_EQ(zero.size(), 1u);
  EXPECT_EQ(zero[0].label, "|h| - 1 is 0");
}

TEST(Sizes, TheDimsOfALibrarysBodyHaveSizes) {
  const std::string text =
      "mesh t\ndim B S D\n"
      "plan p(x: f32[B/t S D]) -> f32[B/t S D] {\n"
      "    return rope(\"B/t S D; S D\", x, iota(\"S\"))\n}\n";
  const CheckedProgram checked = checked_text(text);
  EXPECT_TRUE(misfits(checked, {{"t", 2}, {"B", 2}, {"S", 2}, {"D", 4}}).empty());
  const auto found = misfits(checked, {{"t", 2}, {"B", 2}, {"S", 2}, {"D", 3}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "|h| is not a size here");
}

TEST(Sizes, RequirementsOfGroupsAndAliasesAreEvaluated) {
  const std::string text = "dim B C J\ndim G = (C J)\ndim Y = B\nrequire |Y| < |G|\n";
  const CheckedProgram checked = checked_text(text);
  EXPECT_TRUE(misfits(checked, {{"B", 3}, {"C", 2}, {"J", 2}}).empty());
  const auto found = misfits(checked, {{"B", 4}, {"C", 2}, {"J", 2}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].label, "|Y| < |G| is false");
  EXPECT_EQ(found[0].details[0], "sizes: B=4, C=2, J=2");
}

TEST(Sizes, WhatIsNotGivenIsSaid) {
  const FileReport report = sample();
  const auto found = misfits(*report.checked, {{"d", 2}, {"B", 4}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::note);
  EXPECT_EQ(found[0].details[0], "|t|");
}

// --- JSON ---

/// The subset of JSON Schema that report.schema.json uses. Returns the first breach, or "".
std::string breach(const Json& schema, const Json& root, const Json& value, const std::string& at) {
  static const std::vector<std::string> known = {
      "$schema",    "$defs", "$ref", "title", "type", "required", "additionalProperties",
      "properties", "items", "enum"};
  for (const auto& [key, unused] : schema.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return "the validator does not know " + key;
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(8);  // #/$defs/
    return breach(root["$defs"].at(name), root, value, at);
  }
  auto is = [&](const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  };
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(), [&](const Json& t) { return is(t); }))
      return at + " is a " + value.type_name();
  }
  if (schema.contains("enum")) {
    const Json& values = schema["enum"];
    if (std::find(values.begin(), values.end(), value) == values.end())
      return at + " is " + value.dump();
  }
  if (value.is_object()) {
    for (const Json& name : schema.value("required", Json::array()))
      if (!value.contains(name)) return at + " lacks " + name.dump();
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, each] : value.items()) {
      if (!properties.contains(name)) return at + " has " + name;
      if (auto bad = breach(properties[name], root, each, at + "." + name); !bad.empty())
        return bad;
    }
  }
  if (value.is_array() && schema.contains("items"))
    for (const Json& each : value)
      if (auto bad = breach(schema["items"], root, each, at + "[]"); !bad.empty()) return bad;
  return "";
}

Json schema() {
  std::ifstream file(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/cli/report.schema.json");
  return Json::parse(file);
}

TEST(Json, EveryReportIsOfTheSchema) {
  FileReport proved = sample(), refuted = sample(), unread;
  with_sizes(proved, {{"B", 8}, {"M", 4}, {"F", 6}, {"d", 2}, {"t", 3}});
  proved.memory["up_sharded"] = {MemoryBytes{3, 0, 4}, 8, ""};
  refute(refuted);
  unread.path = "caf\xc3\xa9 \xff.shard";
  unread.diagnostics.push_back({});
  unread.diagnostics[0].code = "E0001";
  const Json root = schema();
  for (const FileReport* report : {&proved, &refuted, &unread})
    EXPECT_EQ(breach(root, root, Json::parse(json_of(*report).dump()), "report"), "");
  const Json json = json_of(proved);
  EXPECT_EQ(json["plans"][0]["model"], "up");
  EXPECT_EQ(json["plans"][0]["conditions"], (Json{"d | B", "t | F"}));
  EXPECT_EQ(json["plans"][0]["stats"]["collectives"][0]["bytes"]["value"], 4 * 4 * 6 * 2 / 3);
  EXPECT_EQ(json["plans"][0]["memory"]["bytes"], 7);
  EXPECT_EQ(json["plans"][0]["memory"]["bytes_with_overlap"], 8);
  const Json diagnostic = json_of(refuted)["plans"][0]["diagnostics"][0];
  EXPECT_EQ(diagnostic["range"]["begin"]["line"], 12);
  EXPECT_EQ(diagnostic["fixes"][0]["edits"][0]["text"], "g)");
  const Json value = diagnostic["counterexample"]["values"][0];
  EXPECT_EQ(value["held"][0]["where"], "t=0");
  EXPECT_EQ(value["held"][0]["numbers"].dump(), "[1.0,null]");
  EXPECT_EQ(value["held"][0]["expected"], (Json{1, 3}));
  EXPECT_EQ(value["held"][1]["expected"], nullptr);
}

TEST(Json, TheValidatorFindsBreaches) {
  const Json root = schema();
  Json report = json_of(sample());
  report["plans"][0]["verdict"] = "maybe";
  EXPECT_EQ(breach(root, root, report, "report"), "report.plans[].verdict is \"maybe\"");
  report = json_of(sample());
  report.erase("file");
  EXPECT_EQ(breach(root, root, report, "report"), "report lacks \"file\"");
  report["file"] = 7;
  EXPECT_EQ(breach(root, root, report, "report"), "report.file is a number");
  report["file"] = "x";
  report["more"] = 1;
  EXPECT_EQ(breach(root, root, report, "report"), "report has more");
}

TEST(Json, AnArrayForSeveralFiles) {
  std::vector<FileReport> reports;
  reports.push_back(sample());
  std::ostringstream one, two;
  print_json(reports, one);
  EXPECT_TRUE(Json::parse(one.str()).is_object());
  reports.push_back(sample());
  print_json(reports, two);
  EXPECT_EQ(Json::parse(two.str()).size(), 2u);
}

TEST(Sarif, HasRulesRegionsAndFixes) {
  std::vector<FileReport> reports(2);
  reports[0] = sample();
  refute(reports[0]);
  reports[1].path = "no such.shard";
  reports[1].diagnostics.push_back({});
  reports[1].diagnostics[0].code = "E0001";
  reports[1].diagnostics[0].message = "no such.shard does not exist";
  std::ostringstream out;
  print_sarif(reports, out);
  const Json sarif = Json::parse(out.str());
  EXPECT_EQ(sarif["version"], "2.1.0");
  const Json& run = sarif["runs"][0];
  const Json& rules = run["tool"]["driver"]["rules"];
  EXPECT_EQ(rules.size(), shardproof::all_diagnostics().size());
  ASSERT_EQ(run["results"].size(), 2u);
  const Json& result = run["results"][0];
  EXPECT_EQ(rules[result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
  EXPECT_EQ(result["relatedLocations"][0]["message"]["text"], "from here");
  const Json& change = result["fixes"][0]["artifactChanges"][0];
  EXPECT_EQ(change["replacements"][0]["insertedContent"]["text"], "g)");
  EXPECT_EQ(change["replacements"][0]["deletedRegion"]["startLine"], 12);
  EXPECT_EQ(run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"], 1)
      << "code scanning takes no result without a line";
  EXPECT_EQ(run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "no%20such.shard");
}

}  // namespace
}  // namespace shardproof::cli
