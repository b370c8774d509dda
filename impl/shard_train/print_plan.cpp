#include "impl/shard_train/print_plan.h"

#include <algorithm>

#include "impl/tensor/listed.h"
#include "impl/train_step/on_gpu.h"
#include "impl/train_step/state_in_place.h"

namespace shardproof::shard_train {

void print_plan(const Job& job, std::ostream& out) {
  const std::string &asked = job.options.print_plan, after = "after:";
  const bool at_stage = asked.starts_with(after);
  const std::string wanted = at_stage ? asked.substr(after.size()) : "";
  const std::vector<std::string> stages = plan_stages();
  const bool is_stage = std::find(stages.begin(), stages.end(), wanted) != stages.end();
  if (at_stage ? !is_stage : asked != "final" && asked != "queues")
    throw BadInput("--print-plan=" + asked + ": write --print-plan, --print-plan=queues, or " +
                   "--print-plan=after:PASS, where PASS is one of " + listed(stages));
  PlanOptions how = plan_options(job);
  const StepRoles roles = roles_of(*job.program, job.step);
  const bool on_host = !how.device || how.device->is_host();
  how = on_host ? state_in_place(how, roles) : on_gpu(how, &roles);
  if (at_stage)
    how.watch = [&](const std::string& stage, const std::string& text) {
      if (stage == wanted) out << text;
    };
  const Plan plan = compile_plan(*job.program, job.step, job.mesh, job.dims, 0, how);
  if (!at_stage) out << (asked == "queues" ? plan.commands_text() : plan.text());
}

}  // namespace shardproof::shard_train
