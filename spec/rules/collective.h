#pragma once
// Collectives: what the difference between left and right side asks for, and whether it is what the
// op does. One rule per file.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// The ends of the dims' lists that differ.
struct Moved {
  std::vector<Axis> added, removed;
  std::vector<size_t> growing, shrinking;  ///< positions of the dims
};

/// Compares the lists; E0206 where neither is the beginning of the other.
Moved moved(const Application& app);

/// On all axes but `acted`, left and right are in the same state: else E0214 for a U or Max that
/// vanishes, E0302 otherwise.
void need_bystanders(const Application& app, const std::vector<Axis>& acted);

/// E0206: the op does nothing here (allowed where axes of size 1 were left out).
void need_action(const Application& app, const std::vector<Axis>& acted, const std::string& does);

/// E0206 with what the op does.
[[noreturn]] void not_its_work(const Application& app, const std::vector<Axis>& axes,
                               const std::string& does);

State before(const Application& app, const Axis& axis);  ///< on the left side
State after(const Application& app, const Axis& axis);   ///< as written on the right

/// E0205: over `axis` there is no sum to take.
[[noreturn]] void no_sum(const Application& app, const Axis& axis);

void all_gather(Application& app);
void all_reduce(Application& app, ir::Applied applied);
void psum_scatter(Application& app);
void all_to_all(Application& app);
void slice(Application& app);
void fan_out(Application& app);
void zero_nonroot(Application& app);
void zero_pad(Application& app);

}  // namespace shardproof::rules
