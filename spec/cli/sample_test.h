#pragma once
// A small checked program made by hand, so that tests of the output do not need the checker.
#include "spec/cli/report.h"

namespace shardproof::cli {

inline const char sample_text[] =
    "mesh d t\n"
    "dim B M F\n"
    "dim G = 2*|M|\n"
    "const eps = 1e-6\n"
    "require |F| >= |t|\n"
    "config small { B=8 M=4 F=6 d=2 t=3 }\n"
    "fn up(x: f32[B M], w: f32[M F]) -> f32[B F] {\n"
    "    return einsum(\"B M, M F -> B F\", x, w)\n"
    "}\n"
    "plan up_sharded implements up(x: f32[B/d M], w: f32[M F/t]) -> f32[B/d F] {\n"
    "    h = einsum(\"B/d M, M F/t -> B/d F/t\", x, w)\n"
    "    return all_gather(\"B/d F/t -> B/d F\", h)\n"
    "}\n";

/// The program of sample_text, its one plan proved. Tests change what they need.
FileReport sample();
ir::Function& plan_of(FileReport& report);
std::vector<PlanReport>& reports_of(FileReport& report);
/// Adds a diagnostic with everything in it to the plan, which is then refuted.
void refute(FileReport& report);
void set_verdict(FileReport& report, Verdict verdict);
Divisibility divides(std::vector<Axis> axes, Name dim);

}  // namespace shardproof::cli
