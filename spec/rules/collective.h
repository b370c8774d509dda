#pragma once
// Collectives: the left and right sides of the pattern state a change of layout; checks that the op
// makes this change. One rule per file.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// The axes at the end of each dim's list that differ between the two sides.
struct Moved {
  std::vector<Axis> added, removed;
  std::vector<size_t> growing, shrinking;  ///< positions of the dims that gain or lose axes
};

/// Compares the lists. E0206 if neither is a prefix of the other.
Moved moved(const Application& app);

/// Requires that left and right agree on all axes but `acted`: E0214 if a U or Max disappears, else
/// E0302.
void need_bystanders(const Application& app, const std::vector<Axis>& acted);

/// Refuses an op that changes nothing (E0206), unless axes of size 1 were left out.
void need_action(const Application& app, const std::vector<Axis>& acted, const char* does);

/// E0206: reports what the op does.
[[noreturn]] void not_its_work(const Application& app, const std::vector<Axis>& axes,
                               const std::string& does);

State before(const Application& app, const Axis& axis);  ///< on the left side
State after(const Application& app, const Axis& axis);   ///< as written on the right

/// E0205: the operand is not a sum over `axis`.
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
